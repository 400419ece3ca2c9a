"""Tables 2 and 3: both readings of dropout, both scalings, and the Literature rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphfilter_research.paper import accuracy_table
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.published import Accuracy
from graphfilter_research.paper.tables import compare_accuracy
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_table_columns_hold_both_dropouts_and_both_scalings(tmp_path: Path) -> None:
    TARGETS["table2"].collect(tmp_path, QUICK, None)
    chosen, first, second, literature = TARGETS["table2"].render(tmp_path, QUICK).blocks
    assert "by validation accuracy" in chosen.heading
    assert [row.label for row in first.rows][-2:] == ["SGF", "SGF (dropout everywhere)"]
    assert "the paper's setting" in first.heading
    assert "as they are" in second.heading
    assert literature.rows[0].label == "GCN"
    records = read_target_records(tmp_path, "table2-quick")
    for block, scaling in ((first, "row"), (second, "none")):
        for row, model in ((-2, "sgf"), (-1, "sgf-every-layer")):
            mine = [r for r in records if (r.model, r.scaling) == (model, scaling)]
            assert len(mine) == 2
            assert block.rows[row].cells == (compare_accuracy(mine),)
            assert [r.stopped for r in mine] == ["max_epochs"] * 2


def test_literature_is_run_on_the_geom_gcn_splits_when_asked() -> None:
    """With stand-ins: the layers of PyTorch Geometric have tests of their own."""
    titles = {"sgc": "GCN", "mlp": "GAT"}
    literature = {name: {"texas": Accuracy(50.0)} for name in titles}
    small = replace(
        accuracy_table.TABLE_OF_LOW, fixed=("texas",), literature=literature, systems=("mlp",),
        ours=("mlp",), others=tuple(titles), variants=(),
    )  # fmt: skip
    pairs = small.pairs(["texas"], replace(QUICK, literature=True, variants=True))
    assert [(p.model, p.split_rule, p.scaling) for p in pairs] == [
        ("mlp", "stratified", "row"), ("mlp", "fixed", "row"),
        ("mlp", "stratified", "none"), ("mlp", "fixed", "none"),
        ("sgc", "fixed", "row"), ("mlp", "fixed", "row"),
    ]  # fmt: skip

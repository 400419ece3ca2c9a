"""Figure 3: systems on rewired graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter_research.paper import figure3
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_noise_takes_both_readings_of_dropout_where_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(figure3, "BOTH_READINGS", ("karate",))
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.model for r in records} == {*figure3.SYSTEMS, "sgf-every-layer"}
    rendered = TARGETS["fig-noise"].render(tmp_path, QUICK)
    assert [row.label for row in rendered.blocks[0].rows][-1] == "SGF (dropout everywhere)"
    assert rendered.figure is not None
    lines = rendered.figure.axes[0].get_lines()
    assert {(line.get_label(), line.get_linestyle()) for line in lines} >= {
        ("SGF", "-"),
        ("SGF (dropout everywhere)", "--"),
    }


def test_noise_runs_on_rewired_graphs_under_their_own_names(tmp_path: Path) -> None:
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.dataset for r in records} == {"karate~0", "karate~0.9"}
    assert len({r.data_checksum for r in records}) == 2
    scores = {(r.dataset, r.model, r.seed): r.scores["test"]["log_loss"] for r in records}
    for seed in (0, 1):
        # What does not see the graph does not see the noise.
        assert scores["karate~0", "mlp", seed] == scores["karate~0.9", "mlp", seed]
        assert scores["karate~0", "sgc", seed] != scores["karate~0.9", "sgc", seed]

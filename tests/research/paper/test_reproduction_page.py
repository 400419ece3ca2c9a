"""The page of the paper's targets, and what is said of its figures and tables, from the records."""

from __future__ import annotations

import csv
import math
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.research.paper.reproduction import RESULTS, records

from graphfilter.systems import get_system
from graphfilter_research.paper.accuracy_table import CODE
from graphfilter_research.paper.published import SAME_ROW, Accuracy
from graphfilter_research.paper.reproduction_page import (
    first_comparisons,
    headline,
    own_system,
    panels,
    render_reproduction,
)
from graphfilter_research.paper.tables import Block, ComparedAccuracy, Rendered, Row, compare_runs

PRINTED = {name: Accuracy(mean, 1.0) for name, mean in (("a", 80.0), ("b", 70.0))}


def ours(mean: float, name: str) -> ComparedAccuracy:
    return ComparedAccuracy(mean, 1.0, 10, published=PRINTED[name])


def make_rendered(*rows: Row, columns: tuple[str, ...] = ("A", "B")) -> Rendered:
    return Rendered("T", (Block("the paper's setting", columns, rows),))


def test_headline_counts_every_printed_number_once_where_it_comes_first() -> None:
    first = make_rendered(Row("SGF", (ours(80.1, "a"), ours(60.0, "b"))))
    again = make_rendered(Row("SGF", (ours(90.0, "a"), ours(90.0, "b"))))
    assert headline([first, again]).startswith(
        "Of 2 printed accuracies measured again, 1 came out within noise of the paper, 0 above it "
        "and 1 below"
    )
    assert headline([again, first]).endswith("0 came out within noise of the paper, 2 above it "
                                             "and 0 below.")  # fmt: skip
    assert own_system([first]) == ("SGF, the paper's own system, is within noise on A; below on B.")
    assert own_system([make_rendered(Row("MLP", (ours(80, "a"), "")))]) == ""


def test_headline_claims_nothing_where_nothing_was_compared() -> None:
    alone = ComparedAccuracy(80.0, 0.0, 1, published=PRINTED["a"])
    assert first_comparisons([make_rendered(Row("SGF", (alone, "text")))]) == []
    assert "Nothing" in headline(
        [make_rendered(Row("SGF", (alone, ComparedAccuracy(1.0, 1.0, 9))))]
    )


def test_panels_show_ours_with_its_interval_beside_the_printed() -> None:
    (block,) = make_rendered(
        Row("SGF", (ours(81.0, "a"), ComparedAccuracy(50.0, 1.0, 10))),
        Row("MLP", (ComparedAccuracy(math.nan, 0, 0), "")),
    ).blocks
    ((column, axis, (dot,)),) = panels(block)
    assert (column, dot.title, dot.paper) == ("A", "SGF", 80.0)
    # Half of it: t with 9 degrees of freedom, 2.262, times the standard error 1/3.
    assert dot.high - dot.cell.mean == pytest.approx(2.2622 / 3, rel=1e-4)
    assert axis.holds(dot.low)
    assert axis.holds(dot.high)
    assert axis.holds(dot.paper)


def test_panels_claim_no_interval_of_runs_that_do_not_differ() -> None:
    alike = ComparedAccuracy(100.0, 0.0, 10, published=PRINTED["a"])
    wild = ComparedAccuracy(50.0, 40.0, 2, published=PRINTED["b"])
    (block,) = make_rendered(Row("SGF", (alike, wild))).blocks
    (_, _, (first,)), (_, _, (second,)) = panels(block)
    assert math.isnan(first.low)
    assert math.isnan(first.high)
    assert (second.low, second.high) == (0.0, 100.0)


def test_page_of_the_committed_records_counts_as_their_tables_do(tmp_path: Path) -> None:
    for table in ("table2", "table3"):
        shutil.copy(RESULTS / f"{table}.jsonl.gz", tmp_path)
    page = render_reproduction(tmp_path)
    same = {**CODE, **SAME_ROW}
    printed_as = {get_system(a).title: get_system(b).title for a, b in same.items()}
    verdicts: dict[tuple[str, str], str] = {}
    for table in ("table2", "table3"):
        with (RESULTS / f"{table}.csv").open(newline="") as file:
            for line in csv.DictReader(file):
                system = printed_as.get(line["row"], line["row"])
                # One number is printed for all bipartite graphs.
                column = line["column"].partition(" (the authors'")[0]
                if line["verdict"]:
                    verdicts.setdefault((system, column), line["verdict"])
    n = Counter(verdicts.values())
    said = (
        f"Of {len(verdicts)} printed accuracies measured again, {n['within noise']} came out "
        f"within noise of the paper, {n['above']} above it and {n['below']} below."
    )
    assert said in page


def test_page_says_what_it_could_not_draw_and_shows_the_rest(tmp_path: Path) -> None:
    shutil.copy(RESULTS / "table1.json", tmp_path)
    (tmp_path / "table2-quick.jsonl").write_text('{"no": "record"}\n')
    found = render_reproduction(tmp_path)
    assert "Table 1: the datasets" in found
    assert "table2-quick.jsonl, line 1: must be a benchmark record" in found
    assert str(tmp_path.parent) not in found.replace(str(tmp_path), "")


def test_page_of_quick_runs_alone_warns_instead_of_counting(tmp_path: Path) -> None:
    shutil.copy(RESULTS / "table2.jsonl.gz", tmp_path / "table2-quick.jsonl.gz")
    found = render_reproduction(tmp_path)
    assert "A quick look" in found
    assert "printed accuracies measured again" not in found
    assert "--quick" in found


def mean(name: str, dataset: str, model: str) -> float:
    cell = compare_runs(records(name), dataset, model)
    assert cell.n == 10
    return cell.mean

"""The page of the paper's targets, and what is said of its figures and tables, from the records."""

from __future__ import annotations

import csv
import math
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.research.paper.reproduction import RESULTS, page, records

from graphfilter.systems import get_system
from graphfilter_research.paper.accuracy_table import CHOSEN, CODE
from graphfilter_research.paper.collect import read_json_lines
from graphfilter_research.paper.published import LOW, MIDDLE_AND_HIGH, SAME_ROW, Accuracy
from graphfilter_research.paper.reproduction_page import (
    first_comparisons,
    headline,
    own_system,
    panels,
    render_reproduction,
)
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_chosen,
    compare_runs,
)

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


SHARES = [f"{share / 10:g}" for share in range(10)]
WEB = ("wisconsin", "cornell_geomgcn", "texas")


def mean(name: str, dataset: str, model: str) -> float:
    cell = compare_runs(records(name), dataset, model)
    assert cell.n == 10
    return cell.mean


def test_text_says_what_a_start_from_the_laplacian_gives() -> None:
    cora = [mean("fig-filters", "cora", name) for name in ("sgf-laplacian", "sgf")]
    assert "better, {:.1f} against {:.1f})".format(*cora) in page()
    wisconsin = [mean("fig-filters", "wisconsin", name) for name in ("sgf-laplacian", "sgf")]
    assert "{:.1f} %, where a start from Ã has {:.1f}".format(*wisconsin) in page()
    lost = [mean("table3", d, "sgf") - mean("table3", d, "sgf-laplacian") for d in WEB[1:]]
    assert "costs {:.0f} points on Cornell and {:.0f} on Texas".format(*lost) in page()


def test_text_says_whose_the_lead_on_the_web_graphs_is() -> None:
    leads = [mean("table3", d, "sgf") - mean("table3", d, "mlp") for d in WEB]
    assert min(leads) == pytest.approx(5.5, abs=0.1)
    assert max(leads) == pytest.approx(12.6, abs=0.1)
    assert "SGF is 5 to 13 points above the MLP there" in page()
    sgf, mlp = (
        compare_chosen(records("table3"), "cornell", name, scalings=CHOSEN).mean
        for name in ("sgf", "mlp")
    )
    assert mlp > sgf
    assert "on the corrected Cornell the MLP is ahead" in page()


def test_text_says_what_structural_noise_does() -> None:
    def curve(dataset: str, model: str) -> list[float]:
        return [mean("fig-noise", f"{dataset}~{share}", model) for share in SHARES]

    for dataset in ("cora", "citeseer"):
        every, gcnii, mlp = (curve(dataset, s) for s in ("sgf-every-layer", "gcnii", "mlp"))
        gaps = [abs(a - b) for a, b in zip(every, gcnii, strict=True)]
        assert max(gaps) < 2
        assert sum(gap < 1 for gap in gaps) > len(gaps) / 2
        assert all(a > b for a, b in zip(every, mlp, strict=True))
    below = [m - s for s, m in zip(curve("citeseer", "sgf"), curve("citeseer", "mlp"), strict=True)]
    assert min(below[2:8]) > 3
    assert round(max(below)) == 10
    others = [curve("photo_lcc", s) for s in ("mlp", "gcnii", "appnp-0.2", "appnp-0.8", "sgc")]
    best = [max(values) for values in zip(*others, strict=True)]
    assert all(a > b for a, b in list(zip(curve("photo_lcc", "sgf"), best, strict=True))[1:])
    every = ("cora", "citeseer", "pubmed", "photo_lcc")
    assert all(curve(d, "appnp-0.2")[-1] < curve(d, "mlp")[-1] for d in every)
    lost = [curve(d, "appnp-0.8")[0] - curve(d, "appnp-0.8")[-1] for d in every]
    assert f"APPNP (0.8) loses {min(lost):.0f} to {max(lost):.0f} points" in page()


def test_text_says_how_random_runs_end() -> None:
    ends = {
        line["dataset"]: 100 * line["accuracy"]
        for line in read_json_lines(RESULTS, "fig-random-dynamics")
    }
    assert f"{ends['cora']:.1f} % on Cora and {ends['wisconsin']:.1f} on Wisconsin" in page()


def test_text_says_what_a_random_start_costs() -> None:
    every = (*LOW, *MIDDLE_AND_HIGH)
    gains = [mean("table5", d, "sgf-random") - mean("table5", d, "sgf") for d in every]
    assert min(gains) == pytest.approx(-2.0, abs=0.01)
    assert 0.5 < max(gains) < 1
    assert "costs at most two points and gains up to one elsewhere" in page()


def test_text_says_where_horizontal_stacking_is_better() -> None:
    depths = ("", "-32", "-64")
    above = [
        mean("table4", d, f"sgf-horizontal{depth}") - mean("table4", d, f"sgf{depth}")
        for d in ("cora", "pubmed")
        for depth in depths
    ]
    assert f"*above* SGF at every depth, by {min(above):.1f} to {max(above):.1f} points" in page()
    pubmed = {f"{mean('table4', 'pubmed', f'sgf{depth}'):.1f}" for depth in depths}
    assert pubmed == {"87.2"}
    assert "on Pubmed all three are at 87.2" in page()

"""Records become tables, rankings and sentences."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

from graphfilter.metrics import corrected_t_test
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.ranking import headline, rank_systems
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.summary import CellSummary, Summary, summarise
from graphfilter_research.bench.tables import make_table, title
from graphfilter_research.tables import (
    Block,
    Cell,
    Legend,
    Numbers,
    Row,
    Table,
    text_rows,
    to_csv,
    to_latex,
    to_markdown,
)

N_TEST, N_TRAIN = 20, 60


def make_records(dataset: str, model: str, values, **changes) -> list[Record]:
    """Make a record a value; None is a failed run."""
    records = []
    for seed, value in enumerate(values):
        scores = {
            "train": {"n_vertices": N_TRAIN},
            "test": {"n_vertices": N_TEST, "accuracy": value, "log_loss": value},
        }
        options = {
            "split_rule": "stratified",
            "split_index": seed,
            "scaling": "auto",
            "config": {"max_epochs": 1500},
            "network": {"dropout_on": "linear"},
            "status": "failed" if value is None else "ok",
            "scores": {} if value is None else scores,
        }
        options |= changes
        records.append(Record(dataset=dataset, model=model, seed=seed, device="cpu", **options))
    return records


GOOD = [0.80, 0.84, 0.79, 0.86, 0.81]
CLOSE = [0.79, 0.85, 0.78, 0.84, 0.82]
BAD = [0.60, 0.63, 0.58, 0.66, 0.62]


def test_summary_equals_numpy_and_scipy() -> None:
    records = [
        *make_records("cora", "a", GOOD),
        *make_records("cora", "b", CLOSE),
        *make_records("cora", "c", BAD),
    ]
    (summary,) = summarise(records)
    cells = {model: summary.cells["cora", model] for model in "abc"}
    assert cells["a"].mean == pytest.approx(np.mean(GOOD))
    assert cells["a"].deviation == pytest.approx(np.std(GOOD))
    assert cells["a"].n == 5
    expected = []
    for other in (CLOSE, BAD):
        d = np.subtract(GOOD, other)
        t = d.mean() / np.sqrt((1 / 5 + N_TEST / N_TRAIN) * d.var(ddof=1))
        expected.append(2 * stats.t.sf(t, 4))
    # The smaller of the two is doubled, and smaller still: Holm leaves the larger alone.
    assert cells["b"].p_value == pytest.approx(expected[0])
    assert cells["c"].p_value == pytest.approx(2 * expected[1])
    assert [cells[m].mark for m in "abc"] == ["best", "tied", ""]
    assert cells["a"].p_value is None


def test_summary_of_log_loss_takes_the_lowest_for_the_best() -> None:
    records = make_records("cora", "a", GOOD) + make_records("cora", "c", BAD)
    (summary,) = summarise(records, "log_loss")
    assert summary.cells["cora", "c"].mark == "best"
    p_value = summary.cells["cora", "a"].p_value
    assert p_value is not None
    assert p_value < 0.05


def test_summary_of_one_split_uses_the_plain_test() -> None:
    records = [
        *make_records("cora", "a", GOOD, split_index=0, split_rule="public"),
        *make_records("cora", "b", CLOSE, split_index=0, split_rule="public"),
    ]
    (summary,) = summarise(records)
    expected = stats.ttest_rel(GOOD, CLOSE).pvalue
    assert summary.cells["cora", "b"].p_value == pytest.approx(expected)


def test_summary_pairs_the_runs_that_both_have() -> None:
    whole = [0.5, *GOOD, 0.5]
    records = make_records("cora", "a", whole) + make_records("cora", "b", [None, *CLOSE, None])
    (summary,) = summarise(records)
    cell = summary.cells["cora", "b"]
    assert (cell.n, cell.n_failed) == (5, 2)
    # Higher on average only for the splits that it lacks.
    assert cell.mean > summary.cells["cora", "a"].mean
    assert (summary.cells["cora", "a"].mark, cell.mark) == ("best", "tied")
    assert cell.p_value == pytest.approx(
        corrected_t_test(np.subtract(GOOD, CLOSE), N_TEST / N_TRAIN)
    )


@pytest.mark.parametrize("n_runs", [1, 2, 4])
def test_summary_tests_nothing_with_few_runs(n_runs: int) -> None:
    """Not even differences that are all equal, which a t-test would be certain of."""
    records = make_records("cora", "a", [0.9] * n_runs) + make_records("cora", "b", [0.8] * n_runs)
    (summary,) = summarise(records)
    assert summary.cells["cora", "a"].mark == "best"
    assert summary.cells["cora", "b"].mark == ""
    assert summary.cells["cora", "b"].p_value is None


def test_summary_counts_a_failure_until_the_run_goes_well() -> None:
    failed = make_records("cora", "a", [None, None], network={}, data_checksum="")
    well = make_records("cora", "a", [0.5], data_checksum="1234")
    (summary,) = summarise(failed)
    assert (summary.cells["cora", "a"].n, summary.cells["cora", "a"].n_failed) == (0, 2)
    for order in ([*failed, *well], [*well, *failed]):
        (summary,) = summarise(order)
        assert list(summary.cells) == [("cora", "a")]
        assert (summary.cells["cora", "a"].n, summary.cells["cora", "a"].n_failed) == (1, 1)


def test_summary_takes_the_last_record_of_a_run() -> None:
    (summary,) = summarise(make_records("cora", "a", [0.1]) + make_records("cora", "a", [0.9]))
    assert summary.cells["cora", "a"].mean == 0.9


def test_summary_never_mixes_split_rules_or_scalings() -> None:
    records = [
        *make_records("cora", "a", GOOD),
        *make_records("cora", "a", BAD, split_rule="per_class"),
        *make_records("cora", "a", CLOSE, scaling="row"),
    ]
    tables = {(s.split_rule, s.scaling): s.cells["cora", "a"].mean for s in summarise(records)}
    assert tables == {
        ("stratified", "auto"): pytest.approx(np.mean(GOOD)),
        ("per_class", "auto"): pytest.approx(np.mean(BAD)),
        ("stratified", "row"): pytest.approx(np.mean(CLOSE)),
    }


def test_summary_never_mixes_settings_or_versions_of_the_data() -> None:
    (summary,) = summarise([
        *make_records("cora", "a", GOOD),
        *make_records("cora", "a", BAD, network={"dropout_on": "every_layer"}),
        *make_records("texas", "a", GOOD, data_checksum="1111111199"),
        *make_records("texas", "a", CLOSE, data_checksum="2222222299"),
    ])  # fmt: skip
    assert summary.models == ("a (dropout_on=linear)", "a (dropout_on=every_layer)")
    assert summary.datasets == ("cora", "texas (data=11111111)", "texas (data=22222222)")
    assert summary.cells["cora", summary.models[1]].mean == pytest.approx(np.mean(BAD))


def test_summary_allows_a_setting_of_its_own_for_each_dataset() -> None:
    (summary,) = summarise(
        make_records("cora", "a", GOOD) + make_records("texas", "a", GOOD, config={"max_epochs": 9})
    )
    assert summary.models == ("a",)


def test_summary_of_nothing_and_of_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(ConfigError, match="at least one record"):
        summarise([])
    with pytest.raises(ConfigError, match="did you mean 'accuracy'"):
        summarise(make_records("cora", "a", GOOD), "acuracy")


NASTY = r"a_b & 50% #1 {x} ~^\ $ | *y*"


@pytest.fixture
def summary() -> Summary:
    return Summary(
        "stratified",
        "row",
        "accuracy",
        ("cora", NASTY),
        ("sgf", "mlp", "gat"),
        {
            ("cora", "sgf"): CellSummary(0.8888, 0.0121, 10, 0, mark="best"),
            ("cora", "mlp"): CellSummary(0.7, 0.02, 8, 2, p_value=0.001),
            (NASTY, "sgf"): CellSummary(0.5, 0.1, 10, 0, p_value=0.6, mark="tied"),
            (NASTY, "mlp"): CellSummary(0.51, 0.1, 10, 0, mark="best"),
            (NASTY, "gat"): CellSummary(float("nan"), float("nan"), 0, 10),
        },
    )


def test_text_table_shows_runs_failures_and_marks(summary: Summary) -> None:
    heads, rows = text_rows(make_table(summary).blocks[0])
    assert heads == ["model", "cora", NASTY]
    assert rows == [
        ["sgf", "88.88 ± 1.21 * (10)", "50.00 ± 10.00 ≈ (10)"],
        ["mlp", "70.00 ± 2.00   (8, 2 failed)", "51.00 ± 10.00 * (10)"],
        ["gat", "", "(10 failed)"],
    ]


def test_title_names_the_protocol(summary: Summary) -> None:
    assert "splits stratified, features row" in title(summary)
    assert "population" in title(summary)


def test_markdown_table_keeps_its_columns_whatever_the_names(summary: Summary) -> None:
    lines = [line for line in to_markdown(make_table(summary)).splitlines() if line.startswith("|")]
    assert lines[0] == (
        r"| model | cora | a\_b & 50% #1 {x} ~^\\ $ \| \*y\* |"
    )  # fmt: skip
    unescaped = [line.replace(r"\|", "").count("|") for line in lines]
    assert unescaped == [4] * 5
    assert lines[2] == "| sgf | **88.88 ± 1.21** (10) | _50.00 ± 10.00_ (10) |"


def test_latex_table_escapes_names(summary: Summary) -> None:
    lines = to_latex(make_table(summary)).splitlines()
    heads = lines[lines.index(r"\toprule") + 1]
    assert heads == (
        r"model & cora & a\_b \& 50\% \#1 \{x\} "
        r"\textasciitilde{}\textasciicircum{}\textbackslash{} \$ | *y* \\"
    )
    assert r"sgf & \textbf{88.88 $\pm$ 1.21} (10) & \underline{50.00 $\pm$ 10.00} (10) \\" in lines
    assert all(line.startswith("%") for line in lines[: lines.index(r"\begin{tabular}{lrr}")])


def test_csv_table_holds_every_number_in_full(summary: Summary) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([make_table(summary)]))))
    assert len(rows) == 5
    assert rows[2]["dataset"] == NASTY
    assert float(rows[0]["mean"]) == 0.8888
    assert (rows[1]["runs"], rows[1]["failed"], rows[1]["p_value"]) == ("8", "2", "0.001")
    assert (rows[4]["mean"], rows[4]["failed"], rows[4]["mark"]) == ("", "10", "")


def test_log_loss_is_no_percentage() -> None:
    summary = Summary(
        "fixed", "auto", "log_loss", ("d",), ("m",), {("d", "m"): CellSummary(0.51234, 0.01, 3, 0)}
    )
    assert text_rows(make_table(summary).blocks[0])[1] == [["m", "0.512 ± 0.010"]]


ROWS = (
    Row("a_1", (Cell("1 ± 2", "best", sign="*"), Cell("3"))),
    Row("b", (Cell("", note="(2 failed)"), Cell("4", "tied", note="(9)")), latex="$b$"),
)


def make_headed() -> Table:
    first = Block("One_1", ("x", "y_z"), ROWS)
    second = Block("Two", ("x", "y_z"), ROWS[:1], verbatim_columns=True)
    return Table("T", (first, second), ("a note",), Legend("t", "m"))


def test_plain_text_shows_signs_notes_and_differences() -> None:
    cell = Cell("5", "best", sign="*", published="6", difference="-1.00 ")
    heads, rows = text_rows(Block("", ("x",), (Row("r", (cell,)), Row("s", (Cell(""),))), "first"))
    assert heads == ["first", "x"]
    assert rows == [["r", "5 * (-1.00)"], ["s", ""]]


def test_markdown_of_headed_blocks_is_a_document() -> None:
    assert to_markdown(make_headed()) == (
        "# T\n\n"
        "**One\\_1**\n\n| Methods | x | y\\_z |\n| :-- | --: | --: |\n"
        "| a\\_1 | **1 ± 2** | 3 |\n| b | (2 failed) | _4_ (9) |\n\n"
        "**Two**\n\n| Methods | x | y_z |\n| :-- | --: | --: |\n| a\\_1 | **1 ± 2** | 3 |\n\n"
        "a note\n\nm\n"
    )


def test_markdown_of_a_block_without_heading_is_titled_by_its_table() -> None:
    table = Table("T", (Block("", ("x",), (Row("r", (Cell("1"),)),)),))
    assert to_markdown(table) == "**T**\n\n| Methods | x |\n| :-- | --: |\n| r | 1 |\n"


def test_markdown_shows_the_published_value_and_the_difference_below() -> None:
    cells = (Cell("5", published="6 ± 1", difference="-1.00 ▼"), Cell("", published="7"))
    table = Table("T", (Block("H", ("x", "y"), (Row("r", cells),)),))
    assert "| r | 5<br>paper 6 ± 1<br>-1.00 ▼ | <br>paper 7 |" in to_markdown(table)


def test_latex_repeats_the_columns_only_where_they_change() -> None:
    latex = to_latex(make_headed())
    assert latex.count(r" & x & y\_z \\") == 1
    assert [line for line in latex.splitlines() if "multicolumn" in line] == [
        r"\multicolumn{3}{l}{One\_1} \\", r"\multicolumn{3}{l}{Two} \\",
    ]  # fmt: skip
    assert r"a\_1 & \textbf{1 $\pm$ 2} & 3 \\" in latex
    assert r"$b$ & (2 failed) & \underline{4} (9) \\" in latex


def test_latex_without_headings_names_the_first_column() -> None:
    table = Table("T", (Block("", ("x",), (Row("r", (Cell("1"),)),), "model"),), legend=Legend())
    assert to_latex(table).splitlines() == [
        "% T", r"\begin{tabular}{lr}", r"\toprule", r"model & x \\", r"\midrule", r"r & 1 \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


@pytest.mark.parametrize("n_tables", [1, 2])
def test_csv_holds_the_numbers_of_all_tables_under_one_head(n_tables: int) -> None:
    table = Table("T", (), numbers=Numbers(("name", "value"), (("a, b", 0.1), ("c", None))))
    rows = list(csv.reader(io.StringIO(to_csv([table] * n_tables))))
    assert rows == [["name", "value"], *[["a, b", "0.1"], ["c", ""]] * n_tables]


def make_record(model: str, run: int, accuracy: float, dataset: str = "karate") -> Record:
    scores = {
        "train": {"n_vertices": 60, "accuracy": 1.0},
        "test": {"n_vertices": 20, "accuracy": accuracy, "log_loss": 1 - accuracy},
    }
    return Record(
        dataset, model, "stratified", run, run, "none", {"operator": "adjacency"}, "cpu",
        scores=scores,
    )  # fmt: skip


def make_scored(means: dict[str, float], n: int = 10, dataset: str = "karate") -> list[Record]:
    """Runs of each model around its mean, with the same luck on the same split."""
    luck = np.random.default_rng(0).normal(0, 0.01, n)
    own = np.random.default_rng(1)
    return [
        make_record(model, run, mean + luck[run] + own.normal(0, 0.002), dataset)
        for model, mean in means.items()
        for run in range(n)
    ]


def stand(records: list[Record], metric: str = "accuracy"):
    (summary,) = summarise(records, metric)
    return rank_systems(summary, records)


def test_intervals_stay_among_accuracies() -> None:
    (found,) = stand(make_scored({"sgf": 0.97, "mlp": 0.999}))
    assert [e.high for e in found.entries] == [1.0, pytest.approx(0.98, abs=0.02)]
    (loss,) = stand(make_scored({"sgf": 0.999}), "log_loss")
    assert loss.entries[0].low == 0.0


def test_ranking_orders_systems_and_says_who_is_behind() -> None:
    (found,) = stand(make_scored({"mlp": 0.6, "sgf": 0.9, "sgc": 0.8995}))
    assert [e.title for e in found.entries] == ["SGF", "SGC", "MLP"]
    assert [e.verdict for e in found.entries] == ["best", "not clearly worse", "clearly worse"]
    assert found.sentence.startswith("SGF has the highest accuracy, ")
    assert "; SGC is not clearly worse; MLP is clearly worse." in found.sentence


def test_ranking_of_a_loss_has_the_lowest_first() -> None:
    (found,) = stand(make_scored({"mlp": 0.6, "sgf": 0.9}), "log_loss")
    assert [e.title for e in found.entries] == ["SGF", "MLP"]
    assert "the lowest log loss, 0.099 (95 % interval" in found.sentence


def test_headline_names_those_that_hold_everywhere() -> None:
    one = make_scored({"sgf": 0.9, "mlp": 0.6, "sgc": 0.9})
    two = make_scored({"sgf": 0.8, "mlp": 0.8, "sgc": 0.5}, dataset="csbm")
    said = headline(stand([*one, *two]))
    assert said == (
        "SGF is best, or not clearly worse than the best, on both datasets; no other system is."
    )
    without = headline(stand([r for r in [*one, *two] if r.model != "sgf"]))
    assert without.startswith("No system is best everywhere: ")
    assert "on 1 of 2 datasets" in without


def test_headline_claims_nothing_of_few_runs_or_one_system() -> None:
    few = headline(stand(make_scored({"sgf": 0.9, "mlp": 0.5}, n=4)))
    assert "may be chance" in few
    assert "nothing to compare" in headline(stand(make_scored({"sgf": 0.9})))
    assert headline(stand(make_scored({"sgf": 0.9, "mlp": 0.5}))).startswith("On karate, SGF has")


def test_systems_with_the_same_mean_share_the_first_place() -> None:
    records = [
        make_record(model, run, accuracy)
        for model, accuracy in (("sgf", 1.0), ("gcn", 1.0), ("mlp", 0.5))
        for run in range(5)
    ]
    (found,) = stand(records)
    assert found.sentence.replace("\xa0", " ").startswith(
        "SGF and GCN share the highest accuracy, 100.0 % in every run"
    )
    assert "not clearly worse" not in found.sentence

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from graphfilter.metrics import corrected_t_test
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.summary import summarise

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

"""Ours beside the published, and the test of noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from graphfilter_research.bench.record import Record
from graphfilter_research.paper.published import Accuracy
from graphfilter_research.paper.tables import ComparedAccuracy, compare_accuracy, compare_chosen

RNG = np.random.default_rng(0)
OURS = RNG.normal(87, 1.5, 7)
THEIRS = RNG.normal(88, 0.5, 10)


def make_record(seed: int, accuracy: float | None) -> Record:
    scores = {} if accuracy is None else {"test": {"accuracy": accuracy}}
    status = "failed" if accuracy is None else "ok"
    return Record(
        "cora", "sgf", "stratified", seed, seed, "row", {}, "cpu", status=status, scores=scores
    )


def test_p_value_is_that_of_welchs_test_on_the_runs_themselves():
    printed = Accuracy(THEIRS.mean(), THEIRS.std())
    ours = ComparedAccuracy(OURS.mean(), OURS.std(), len(OURS), published=printed)
    expected = ttest_ind(OURS, THEIRS, equal_var=False).pvalue
    assert ours.p_value == pytest.approx(expected, rel=1e-9)


def test_p_value_takes_a_published_mean_without_deviation_as_exact():
    ours = ComparedAccuracy(OURS.mean(), OURS.std(), len(OURS), published=Accuracy(86.0))
    assert ours.p_value == pytest.approx(ttest_1samp(OURS, 86.0).pvalue, rel=1e-9)


def test_marks_say_above_below_and_within_noise():
    near, far = Accuracy(87.0, 1.0), Accuracy(70.0, 1.0)
    assert ComparedAccuracy(87.2, 1.0, 10, published=near).mark == "≈"
    assert ComparedAccuracy(87.2, 1.0, 10, published=far).mark == "▲"
    assert ComparedAccuracy(60.0, 1.0, 10, published=far).mark == "▼"
    assert ComparedAccuracy(100.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "≈"
    assert ComparedAccuracy(99.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "▼"
    assert ComparedAccuracy(87.2, 1.0, 1, published=near).mark == ""
    assert ComparedAccuracy(87.2, 1.0, 10).difference is None


def test_compared_accuracy_counts_failures_only_where_they_never_went_well():
    records = [make_record(0, None), make_record(0, 0.5), make_record(1, 0.7), make_record(2, None)]
    got = compare_accuracy(records)
    assert (got.mean, got.deviation) == pytest.approx((60, 10))
    assert (got.n, got.n_failed) == (2, 1)
    assert str(got) == "60.00 ± 10.00 (1 failed)"
    assert str(compare_accuracy([make_record(0, None)])) == "1 failed"


def test_compared_accuracy_counts_runs_that_were_cut():
    records = [replace(make_record(i, 0.5), stopped="max_epochs") for i in range(2)]
    got = compare_accuracy([*records, replace(make_record(2, 0.5), stopped="patience")])
    assert got.n_cut == 2
    assert str(got) == "50.00 ± 0.00 (2 cut)"


def test_nothing_is_claimed_across_rules_of_splitting():
    """Texas is printed of the Geom-GCN splits: on others the difference is shown, not judged."""
    runs = [replace(make_record(i, 0.8 + i / 1000), dataset="texas") for i in range(10)]
    other = compare_accuracy(runs, Accuracy(80.56, 5.63))
    assert (other.mark, other.p_value) == ("", None)
    assert other.difference is not None
    same = compare_accuracy([replace(r, split_rule="fixed") for r in runs], other.published)
    assert (same.mark, same.mean) == ("≈", other.mean)


def test_scaling_is_chosen_by_validation_and_not_by_test():
    """Raw features are better on test vertices here, and must not win by that."""
    scores = {"row": (0.9, 0.5), "none": (0.8, 0.7)}
    records = [
        replace(
            make_record(0, test), scaling=scaling,
            scores={"val": {"accuracy": val}, "test": {"accuracy": test}},
        )
        for scaling, (val, test) in scores.items()
    ]  # fmt: skip
    got = compare_chosen(records, "cora", "sgf", scalings={"row": "row", "none": "raw"})
    assert str(got) == "50.00 ± 0.00 (row)"

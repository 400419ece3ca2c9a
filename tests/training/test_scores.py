"""Scores, their intervals and tests, and the decisions that scores are of."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import lognorm, norm
from sklearn import metrics as reference
from sklearn.metrics import average_precision_score
from torch.nn.functional import cross_entropy

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.metrics import (
    METRICS,
    calibration_by_chance,
    calibration_error,
    corrected_t_test,
    holm,
    mcnemar_test,
    mean_interval,
    score,
    score_parts,
    welch_t_test,
    wilson_interval,
)
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.runs.answers import (
    BinaryCurve,
    Costs,
    Decision,
    chance_of_coverage,
    choose_threshold,
    describe_decision,
    score_budgets,
    score_decision,
)
from graphfilter.runs.comparing import (
    average_precision_of,
    draw_scores,
    drawn_interval,
    drawn_p_value,
)
from graphfilter.splits import Split, stratified
from graphfilter.training import SCALES, TargetScale, TrainConfig, tasks, train
from graphfilter.training.scores import LABEL_METRICS, NUMBER_METRICS, score_labels, score_numbers
from graphfilter.training.tasks import allowed_range, choose_scale, log_likelihood
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import Noun

GRAPH = make_csbm(n_vertices=90, mean_degree=4, n_features=5)


def make_network() -> FilterNetwork:
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(5, 2, StackedFilter(3), hidden_size=6, generator=generator)


@pytest.mark.parametrize("class_weight", [None, torch.tensor([1.0, 3.0])])
def test_epoch_scores_follow_their_definitions(class_weight: torch.Tensor | None) -> None:
    """After one epoch: the weights kept are the ones that were scored."""
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0, (0.3, 0.5, 0.2))
    network = make_network()
    (result,) = train(
        [network], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[0],
        class_weight=class_weight,
    )  # fmt: skip
    network.load_state_dict(result.state)
    with torch.no_grad():
        logits = network.eval()(operator, x).double()
    own = torch.ones(90) if class_weight is None else class_weight[labels]

    def accuracy(part: np.ndarray) -> float:
        index = torch.from_numpy(part.copy())
        right = (logits.argmax(1) == labels)[index] * own[index]
        return float(right.sum() / own[index].sum())

    val = torch.from_numpy(split.val.copy())
    weight = None if class_weight is None else class_weight.double()
    loss = cross_entropy(logits[val], labels[val], weight=weight)
    got = {name: values[0] for name, values in result.history.items()}
    assert got["train_accuracy"] == pytest.approx(accuracy(split.train))
    assert got["val_accuracy"] == pytest.approx(accuracy(split.val))
    assert got["val_loss"] == pytest.approx(float(loss), rel=1e-5)
    # What tells the parts apart here: no two of them score the same.
    assert accuracy(split.train) != accuracy(split.val)


def test_training_loss_is_that_of_the_training_vertices_with_dropout() -> None:
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0)
    (result,) = train(
        [make_network()], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[7]
    )
    logits = make_network().train()(operator, x, torch.Generator().manual_seed(7))
    index = torch.from_numpy(split.train.copy())
    expected = cross_entropy(logits[index], labels[index])
    assert result.history["loss"][0] == pytest.approx(expected.item(), rel=1e-5)


def test_score_of_certain_and_right_answers_is_perfect() -> None:
    probabilities = np.eye(3)[[0, 1, 2, 0]]
    got = score(probabilities, np.array([0, 1, 2, 0]))
    assert (got["n_vertices"], got["accuracy"], got["macro_f1"]) == (4, 1.0, 1.0)
    assert got["log_loss"] == pytest.approx(0.0, abs=1e-9)
    assert got["calibration_error"] == 0.0


def test_macro_f1_averages_the_classes_that_are_present() -> None:
    """Class 0: precision 2/3, recall 1; class 1: precision 1, recall 1/2; class 2 is absent."""
    probabilities = np.eye(3)[[0, 0, 0, 1]]
    got = score(probabilities, np.array([0, 0, 1, 1]))
    assert got["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)


def test_macro_f1_gives_a_small_class_the_weight_of_a_large_one() -> None:
    """Class 0, three vertices: F1 6/7; class 1, one vertex that is missed: F1 0."""
    got = score(np.eye(2)[[0, 0, 0, 0]], np.array([0, 0, 0, 1]))
    assert got["macro_f1"] == pytest.approx((6 / 7 + 0) / 2)


def test_calibration_gaps_of_different_confidences_do_not_cancel() -> None:
    """Right at 55 %, a gap of 0.45 one way; wrong at 85 %, a gap of 0.85 the other way."""
    probabilities = np.array([[0.55, 0.45], [0.85, 0.15]])
    assert calibration_error(probabilities, np.array([0, 1])) == pytest.approx((0.45 + 0.85) / 2)


def test_calibration_gaps_of_neighbouring_bins_do_not_cancel() -> None:
    """Each of the ten bins is apart, the highest two too: 0.05 below 1 and 0.85 above 0."""
    for low in np.arange(0.55, 0.9, 0.1):
        probabilities = np.array([[low, 1 - low], [low + 0.1, 0.9 - low]])
        wanted = ((1 - low) + (low + 0.1)) / 2
        assert calibration_error(probabilities, np.array([0, 1])) == pytest.approx(wanted)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    probabilities = np.tile([0.75, 0.25], (4, 1))
    assert calibration_error(probabilities, np.array([0, 0, 0, 1])) == pytest.approx(0.0)
    assert calibration_error(probabilities, np.array([0, 0, 0, 0])) == pytest.approx(0.25)


def test_calibration_by_chance_is_the_mean_error_of_labels_drawn_from_the_probabilities() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([2.0, 1.0, 1.0], 300)
    draws = np.cumsum(probabilities, axis=1)
    errors = [
        calibration_error(probabilities, (rng.random((300, 1)) > draws).sum(axis=1))
        for _ in range(400)
    ]
    spread = np.std(errors) / np.sqrt(len(errors))
    expected = calibration_by_chance(probabilities)
    # The normal approximation itself is off by a few per cent where a bin has few vertices.
    assert np.mean(errors) == pytest.approx(expected, abs=4 * spread + 0.03 * expected)


def test_certain_answers_have_no_calibration_error_by_chance() -> None:
    assert calibration_by_chance(np.eye(2)[[0, 1, 0]]) == 0.0


def test_parts_are_scored_apart_without_their_unlabelled_vertices() -> None:
    split = Split(np.array([0, 1]), np.array([2]), np.array([3, 4]))
    labels = np.array([0, 1, -1, 1, -1])
    got = score_parts(np.eye(2)[[0, 0, 0, 1, 1]], labels, split)
    assert {part: (s["n_vertices"], s["accuracy"]) for part, s in got.items()} == {
        "train": (2, 0.5),
        "test": (1, 1.0),
    }


def test_two_classes_are_scored_as_scikit_learn_does() -> None:

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50)
    rare = rng.integers(1, 5, 50) / 5
    got = score(np.stack([1 - rare, rare], axis=1), labels, positive=1)
    assert set(got) == {"n_vertices", "calibration_by_chance", *METRICS}
    answer = (rare > 0.5).astype(int)
    assert got["balanced_accuracy"] == reference.balanced_accuracy_score(labels, answer)
    assert got["roc_auc"] == reference.roc_auc_score(labels, rare)
    assert got["average_precision"] == reference.average_precision_score(labels, rare)


def test_average_precision_is_of_the_class_that_is_rarer_in_training() -> None:

    rng = np.random.default_rng(0)
    # Fraud comes before ok in the alphabet: it is class 0.
    fraud = rng.random(200) < 0.1
    said = np.clip(0.2 * fraud + rng.random(200) * 0.6, 0, 1)
    probabilities, labels = np.stack([said, 1 - said], axis=1), np.where(fraud, 0, 1)
    split = Split(np.arange(100), [], np.arange(100, 200))
    got = score_parts(probabilities, labels, split)["test"]["average_precision"]
    assert got == average_precision_score(fraud[100:], said[100:])
    other = score_parts(probabilities, labels, split, positive=1)["test"]["average_precision"]
    assert other == average_precision_score(~fraud[100:], 1 - said[100:]) > 0.9 > got


def test_scores_of_a_decision_are_of_what_is_answered() -> None:
    probabilities = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
    labels, answered = np.array([0, 1, 1]), np.array([0, 1, 1])
    assert score(probabilities, labels)["accuracy"] == pytest.approx(2 / 3)
    assert score(probabilities, labels, predicted=answered)["accuracy"] == 1.0


@pytest.mark.parametrize(("n_classes", "labels"), [(3, [0, 1, 2]), (2, [1, 1, 1])])
def test_rankings_are_left_out_where_they_are_not_defined(n_classes: int, labels: list) -> None:
    got = score(np.eye(n_classes)[labels], np.array(labels))
    assert set(METRICS) - set(got) == {"roc_auc", "average_precision"}
    assert got["balanced_accuracy"] == 1.0


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_values", [4, 1000], ids=["ties", "few-ties"])
def test_average_precision_of_a_drawing_is_that_of_scikit_learn(n_values: int) -> None:
    truth = RNG.random(80) < 0.2
    scores = (RNG.integers(0, n_values, 80) + truth) / n_values
    drawn = RNG.multinomial(80, np.full(80, 1 / 80), size=5).astype(float)
    drawn[:, truth.argmax()] += 1
    expected = [average_precision_score(truth, scores, sample_weight=row) for row in drawn]
    np.testing.assert_allclose(average_precision_of(scores, truth)(drawn), expected)


def test_strata_keep_their_sizes() -> None:
    truth = np.arange(50) < 3
    found = draw_scores([lambda d: d[:, truth].sum(axis=1)], 50, strata=truth.astype(int))
    assert set(found[0].tolist()) == {3.0}


def test_interval_of_a_share_is_near_that_of_the_formula() -> None:
    right = np.arange(400) < 300
    low, high = drawn_interval(draw_scores([lambda d: d @ right / 400], 400)[0])
    expected = wilson_interval(300, 400)
    assert (low, high) == pytest.approx(expected, abs=0.01)


def test_p_value_holds_its_level() -> None:
    """Of two models that are equally good, about one in twenty pairs differs clearly."""
    clear = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        a, b = (rng.random(60) < 0.7 for _ in range(2))
        drawn = draw_scores([lambda d, x=x: d @ x / 60 for x in (a, b)], 60, n_drawn=400)
        clear += drawn_p_value(*drawn) <= 0.05
    assert 2 <= clear <= 22


Z = float(stats.norm.ppf(0.975))
GOOD = [0.80, 0.84, 0.79, 0.86, 0.81]
CLOSE = [0.79, 0.85, 0.78, 0.84, 0.82]


def test_corrected_t_test_is_the_paired_one_on_a_single_split() -> None:
    expected = stats.ttest_rel(GOOD, CLOSE).pvalue
    assert corrected_t_test(np.subtract(GOOD, CLOSE), 0.0) == pytest.approx(expected, rel=1e-12)


def test_corrected_t_test_equals_its_formula() -> None:
    """Differences 1, 2, 3: mean 2, variance 1, so t = 2 / sqrt(1/3 + 1/3) = sqrt(6)."""
    t = np.sqrt(6)
    # Student's distribution with two degrees of freedom has a closed form.
    expected = 1 - t / np.sqrt(2 + t**2)
    assert corrected_t_test([1.0, 2.0, 3.0], 1 / 3) == pytest.approx(expected, rel=1e-12)


def test_corrected_t_test_keeps_its_level_where_the_plain_one_does_not() -> None:
    """Differences that share a part, as overlapping splits make them: no true difference."""
    rng = np.random.default_rng(0)
    n_runs, ratio, n_tries = 10, 1 / 3, 2000
    # Nadeau & Bengio's model: runs correlate by n_test / (n_test + n_train).
    rho = ratio / (1 + ratio)
    shared = np.sqrt(rho) * rng.standard_normal((n_tries, 1))
    own = np.sqrt(1 - rho) * rng.standard_normal((n_tries, n_runs))
    differences = shared + own
    plain = np.mean([corrected_t_test(d, 0.0) < 0.05 for d in differences])
    corrected = np.mean([corrected_t_test(d, ratio) < 0.05 for d in differences])
    assert plain > 0.25
    assert 0.03 < corrected < 0.07


@pytest.mark.parametrize(("difference", "p"), [(0.0, 1.0), (0.1, 0.0)])
def test_corrected_t_test_of_constant_differences(difference: float, p: float) -> None:
    assert corrected_t_test([difference] * 5, 0.3) == p


def test_holm_equals_a_worked_example() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1; the last is raised to the third."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_is_at_most_one_and_leaves_a_single_test_alone() -> None:
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]
    assert holm([0.2]).tolist() == [0.2]
    assert holm([]).tolist() == []


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 10), (35, 35), (480, 539)])
def test_wilson_interval_inverts_the_score_test(right: int, n: int) -> None:
    """Its ends are the shares p with |share - p| = z sqrt(p (1 - p) / n), where inside (0, 1)."""
    share = right / n
    for end in wilson_interval(right, n):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


def test_wilson_interval_of_all_right_has_its_closed_form() -> None:
    low, high = wilson_interval(20, 20)
    assert low == pytest.approx(20 / (20 + Z**2))
    assert high == 1.0


def test_mcnemar_test_is_that_of_a_coin() -> None:
    ours = np.array([True] * 5 + [False] + [True] * 50)
    theirs = np.array([False] * 5 + [True] + [True] * 50)
    tail = (math.comb(6, 5) + math.comb(6, 6)) / 2**6
    assert mcnemar_test(ours, theirs) == pytest.approx(2 * tail)
    assert mcnemar_test(theirs, ours) == pytest.approx(2 * tail)
    assert mcnemar_test(ours, ours) == 1.0


@pytest.mark.parametrize("n", [2, 7, 30])
def test_welch_t_test_is_that_of_the_values_themselves(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(87, 1.5, n), rng.normal(88, 0.5, 10)
    got = welch_t_test(a.mean(), a.std(), n, b.mean(), b.std(), 10)
    assert got == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
    ours = (a.mean(), a.std(ddof=1), n)
    theirs = (b.mean(), b.std(ddof=1), 10)
    from_stats = stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)
    assert got == pytest.approx(from_stats.pvalue, rel=1e-9)


def test_welch_t_test_takes_a_mean_without_deviation_as_exact() -> None:
    expected = stats.ttest_1samp(GOOD, 0.8).pvalue
    got = welch_t_test(float(np.mean(GOOD)), float(np.std(GOOD)), 5, 0.8, 0.0, 10)
    assert got == pytest.approx(expected, rel=1e-9)
    assert welch_t_test(1.0, 0.0, 5, 1.0, 0.0, 5) == 1.0
    assert welch_t_test(1.0, 0.0, 5, 1.1, 0.0, 5) == 0.0


def test_mean_interval_of_independent_runs_is_that_of_student() -> None:
    values = np.array([0.81, 0.84, 0.79, 0.86])
    plain = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert mean_interval(values.mean(), values.std(), 4) == pytest.approx(plain)


def test_mean_interval_widens_by_the_overlap_of_splits() -> None:
    narrow, wide = (mean_interval(0.5, 0.01, 10, ratio) for ratio in (0.0, 1 / 3))
    grown = (wide[1] - wide[0]) / (narrow[1] - narrow[0])
    assert grown == pytest.approx(math.sqrt((1 / 10 + 1 / 3) * 10))


def test_mean_interval_needs_runs_that_differ() -> None:
    assert all(math.isnan(end) for end in mean_interval(0.9, 0.0, 1, 0.3))
    assert all(math.isnan(end) for end in mean_interval(1.0, 0.0, 9, 0.3))


def test_scores_of_numbers_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.normal(size=(2, 40))
    got = score_numbers(predicted, truth)
    assert got["r2"] == pytest.approx(reference.r2_score(truth, predicted))
    assert got["rmse"] == pytest.approx(reference.root_mean_squared_error(truth, predicted))
    assert got["mae"] == pytest.approx(reference.mean_absolute_error(truth, predicted))
    assert set(got) == {"n_vertices", *NUMBER_METRICS}


def test_score_of_equal_numbers_has_no_r2() -> None:
    assert score_numbers(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == {
        "n_vertices": 2, "rmse": 1.0, "mae": 1.0, "median_error": 1.0,
    }  # fmt: skip


def test_scores_of_labels_are_those_of_scikit_learn() -> None:
    """The last label is nobody's: it counts for micro F1 and log loss alone."""
    rng = np.random.default_rng(1)
    truth = (rng.random((50, 4)) < [0.2, 0.5, 0.7, 0.0]).astype(float)
    probabilities = np.clip(0.3 * truth + rng.random((50, 4)) * 0.7, 0, 1)
    got, said = score_labels(probabilities, truth), probabilities > 0.5
    assert set(got) == {"n_vertices", *LABEL_METRICS}
    assert got["micro_f1"] == pytest.approx(reference.f1_score(truth, said, average="micro"))
    expected = reference.f1_score(truth[:, :3], said[:, :3], average="macro")
    assert got["macro_f1"] == pytest.approx(expected)
    expected = reference.average_precision_score(truth[:, :3], probabilities[:, :3])
    assert got["average_precision"] == pytest.approx(expected)
    assert got["all_right"] == pytest.approx(reference.accuracy_score(truth, said))
    pairs = zip(truth.T, probabilities.T, strict=True)
    losses = [reference.log_loss(t, p, labels=[0.0, 1.0]) for t, p in pairs]
    assert got["log_loss"] == pytest.approx(np.mean(losses))


def test_score_of_labels_that_nobody_has_is_zero() -> None:
    got = score_labels(np.full((3, 2), 0.1), np.zeros((3, 2)))
    assert (got["micro_f1"], got["all_right"]) == (0.0, 1.0)
    assert "macro_f1" not in got


REFERENCES = {
    "f1": reference.f1_score,
    "accuracy": reference.accuracy_score,
    "balanced_accuracy": reference.balanced_accuracy_score,
    "mcc": reference.matthews_corrcoef,
}


@pytest.fixture(params=["smooth", "tied"])
def drawn(request) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.2
    scores = np.clip(0.3 * truth + 0.6 * rng.random(200), 0, 1)
    return (np.round(scores, 1) if request.param == "tied" else scores), truth


def test_curve_equals_scikit_learns(drawn) -> None:
    scores, truth = drawn
    curve = BinaryCurve.of(scores, truth)
    precision, recall, _ = reference.precision_recall_curve(truth, scores)
    np.testing.assert_allclose(curve.precision, precision[::-1])
    np.testing.assert_allclose(curve.recall, recall[::-1])
    alarms, found, _ = reference.roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_alarm_rate, alarms)
    np.testing.assert_allclose(curve.recall, found)
    assert curve.average_precision == pytest.approx(
        reference.average_precision_score(truth, scores)
    )
    assert curve.roc_area == pytest.approx(reference.roc_auc_score(truth, scores))


@pytest.mark.parametrize("metric", REFERENCES)
def test_values_are_those_of_the_predictions_at_each_threshold(drawn, metric: str) -> None:
    scores, truth = drawn
    curve = BinaryCurve.of(scores, truth)
    expected = [REFERENCES[metric](truth, scores >= t) for t in curve.thresholds]
    np.testing.assert_allclose(curve.values(metric), expected, atol=1e-12)


@pytest.mark.parametrize("metric", REFERENCES)
def test_chosen_threshold_is_as_good_as_any(drawn, metric: str) -> None:
    scores, truth = drawn
    chosen = REFERENCES[metric](truth, scores >= choose_threshold(scores, truth, metric))
    # Between two scores all thresholds decide alike.
    tried = [REFERENCES[metric](truth, scores >= t) for t in (*np.unique(scores), np.inf)]
    assert chosen >= max(tried) - 1e-12


def test_cost_of_missing_lowers_the_threshold(drawn) -> None:
    scores, truth = drawn
    low = choose_threshold(scores, truth, "cost", Costs(missed=50))
    high = choose_threshold(scores, truth, "cost", Costs(false_alarm=50))
    assert low < high
    assert score_decision(scores, truth, low)["missed"] == 0
    assert score_decision(scores, truth, high)["false_alarms"] == 0
    for t in np.linspace(0, 1, 50):
        costs = Costs(missed=50)
        best = score_decision(scores, truth, low, costs)["cost"]
        assert best <= score_decision(scores, truth, t, costs)["cost"] + 1e-12


def test_threshold_of_calibrated_scores_is_the_one_of_the_costs() -> None:
    """Of calibrated probabilities, false_alarm / (false_alarm + missed) costs the least."""
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    truth = rng.random(200_000) < scores
    costs = Costs(missed=4, false_alarm=1)
    assert choose_threshold(scores, truth, "cost", costs) == pytest.approx(0.2, abs=0.03)


def test_score_of_no_answers_is_not_a_number_but_none() -> None:
    none = score_decision(np.array([0.1, 0.2]), np.array([False, True]), 0.9)
    assert (none["precision"], none["recall"], none["missed"]) == (None, 0, 1)
    assert score_decision(np.array([0.1]), np.array([False]), 0.9)["recall"] is None


def test_budgets_count_from_the_top_of_the_list(drawn) -> None:
    scores, truth = drawn
    none, first, *_, every = score_budgets(scores, truth, Costs(3, 2))
    top = np.argsort(-scores, kind="stable")[: first["n_vertices"]]
    assert (first["n_vertices"], first["found"]) == (10, truth[top].sum())
    assert first["cost"] == 3 * (truth.sum() - first["found"]) + 2 * first["false_alarms"]
    assert (none["found"], none["cost"]) == (0, 3 * truth.sum())
    assert (every["found"], every["false_alarms"]) == (truth.sum(), (~truth).sum())


@pytest.mark.parametrize("metric", ["default", "given", "f1", "cost"])
def test_decision_says_what_it_finds_and_costs(drawn, metric: str) -> None:
    scores, truth = drawn
    costs = Costs(3, 2) if metric == "cost" else Costs()
    measured = {
        **asdict(Decision("fraud", 0.5, metric, costs)),
        "scores": {"val": score_decision(scores, truth, 0.5, costs)},
        "budgets": {"val": score_budgets(scores, truth, costs)},
    }
    first, *others = describe_decision(measured, "val", Noun("account", "accounts"), "“x”")
    found, alarms = (truth & (scores >= 0.5)).sum(), (~truth & (scores >= 0.5)).sum()
    counted = f"validation accounts {found} of the {truth.sum()} are found, with {alarms} false"
    assert counted in first
    assert first.startswith("“x” is predicted ")
    assert ("more probable class" in first) == (metric == "default")
    assert len(others) == (metric == "cost")
    total = 3 * (truth.sum() - found) + 2 * alarms
    assert all(f"cost {total} in all" in text for text in others)


def test_decision_answers_by_its_threshold() -> None:
    probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8]])
    assert Decision("b", 0.3).decide(probabilities, ["a", "b"]).tolist() == [1, 0, 1]
    assert Decision("a", 0.95).decide(probabilities, ["a", "b"]).tolist() == [1, 1, 1]


def test_unknown_metric_is_named() -> None:
    with pytest.raises(ConfigError, match="Known: accuracy"):
        choose_threshold(np.array([0.1, 0.9]), np.array([False, True]), "f2")


def test_of_thresholds_that_are_as_good_the_one_nearest_to_one_half_is_chosen() -> None:
    """One of two positives found without a false alarm, or both with one: as accurate."""
    scores, truth = np.array([0.9, 0.45, 0.2, 0.15, 0.05]), np.array([1, 0, 1, 0, 0]) > 0
    equal = [0.675, 0.175]
    values = [((scores >= t) == truth).mean() for t in equal]
    assert values == [0.8, 0.8]
    assert choose_threshold(scores, truth, "accuracy") == pytest.approx(equal[0])
    # Mirrored, it is the last of them; that between two others is neither first nor last.
    assert choose_threshold(1 - scores[::-1], ~truth[::-1], "accuracy") == pytest.approx(0.325)
    scores, truth = np.array([0.95, 0.85, 0.65, 0.45, 0.15, 0.05]), np.array([1, 0, 1, 0, 1, 0]) > 0
    assert choose_threshold(scores, truth, "accuracy") == pytest.approx(0.55)


def test_vertex_at_the_threshold_is_answered_positive() -> None:
    found = score_decision(np.array([0.5, 0.5, 0.4]), np.array([True, False, True]), 0.5)
    assert (found["found"], found["false_alarms"], found["missed"]) == (1, 1, 1)


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_chance_of_coverage_equals_split_conformal_simulated(coverage: float) -> None:
    rng = np.random.default_rng(0)
    n_calibrated, n_vertices = 60, 80
    scores = np.sort(rng.random((20_000, n_calibrated)), axis=1)
    limit = scores[:, int(np.ceil(coverage * (n_calibrated + 1))) - 1]
    shares = (rng.random((20_000, n_vertices)) <= limit[:, None]).mean(axis=1)
    low, high = chance_of_coverage(coverage, n_calibrated, n_vertices)
    assert low == pytest.approx(np.quantile(shares, 0.025), abs=0.013)
    assert high == pytest.approx(np.quantile(shares, 0.975), abs=0.013)


def test_too_few_calibrated_vertices_hold_everything() -> None:
    assert chance_of_coverage(0.95, 10, 50) == (1.0, 1.0)


SKEWED = np.exp(RNG.normal(3, 1.2, 400))
TRAIN, VAL = np.arange(300), np.arange(300, 400)


@pytest.mark.parametrize("name", SCALES)
def test_scale_undoes_itself_inside_the_training_range(name: str) -> None:
    scale = TargetScale.fit(SKEWED, name)
    inside = np.sort(SKEWED)[1:-1]
    np.testing.assert_allclose(scale.undo(scale.transform(inside)), inside, rtol=1e-6)


@pytest.mark.parametrize("name", SCALES)
def test_scaled_training_numbers_have_mean_zero_and_deviation_one(name: str) -> None:
    t = TargetScale.fit(SKEWED, name).transform(SKEWED)
    assert t.mean() == pytest.approx(0, abs=1e-9)
    assert t.std() == pytest.approx(1)


@pytest.mark.parametrize("name", SCALES)
def test_answers_stay_within_the_range_widened_by_its_spread(name: str) -> None:
    scale = TargetScale.fit(SKEWED, name)
    answers = scale.undo(np.array([-1e3, 0.0, 1e3]))
    assert 0 < answers[0] <= SKEWED.min()
    assert SKEWED.max() * (1 - 1e-9) <= answers[2] <= SKEWED.max() + SKEWED.std()


def test_cut_answers_are_named() -> None:
    scale = TargetScale.fit(SKEWED, "identity")
    assert scale.outside(np.array([-1e3, 0.0, 1e3])).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("y", "low", "high"),
    [
        ([0.0, 4.0], 0.0, 6.0),
        ([-1.0, 1.0], -2.0, 2.0),
        ([1.0, np.e**2], np.exp(-1), np.e**2 + (np.e**2 - 1) / 2),
        ([3.0, 3.0], 3.0, 3.0),
    ],
)
def test_allowed_range_equals_its_closed_form(y: list[float], low: float, high: float) -> None:
    assert allowed_range(np.array(y)) == pytest.approx((low, high))


def test_likelihood_of_logarithms_equals_the_log_normal_density() -> None:
    scale = TargetScale.fit(SKEWED, "log")
    predicted = np.zeros(len(VAL))
    y = SKEWED[VAL]
    spread = scale.deviation * np.sqrt(np.square(scale.transform(y)).mean())
    # 1 + y is log-normal: the Jacobian is in its density.
    density = lognorm.pdf(1 + y, spread, scale=np.exp(scale.mean))
    stray = 0.01 / (scale.high - scale.low)
    expected = np.log(0.99 * density + stray).sum()
    found = log_likelihood(scale, y, predicted, width=1e-5)
    assert found == pytest.approx(expected, rel=1e-4)


def test_likelihood_far_from_the_answer_is_finite() -> None:
    scale = TargetScale.fit(SKEWED, "identity")
    assert np.isfinite(log_likelihood(scale, np.array([1.0, 1e9]), np.array([0.0, 0.0]), 1.0))


def probe(x: np.ndarray, train: np.ndarray, val: np.ndarray):
    def predict(t: np.ndarray) -> np.ndarray:
        design = np.column_stack([np.ones(len(x)), x])
        return design[val] @ np.linalg.lstsq(design[train], t, rcond=None)[0]

    return predict


@pytest.mark.parametrize("expected", SCALES)
def test_chosen_scale_is_the_one_on_which_errors_are_normal(expected: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=600)
    t = x + 0.3 * rng.normal(size=600)
    # Ranks: two heaps far apart, which neither a line nor a logarithm brings together.
    make = {"identity": t, "log": np.exp(5 + 2 * t), "rank": norm.cdf(3 * t) * 8 + np.sign(t) * 40}
    train, val = np.arange(400), np.arange(400, 600)
    y = make[expected]
    assert choose_scale(y, train, val, probe(x, train, val)).name == expected


def test_log_normal_numbers_are_answered_by_their_median_until_their_mean_is_made_right() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=40_000)
    y = np.exp(5 + x + 0.8 * rng.normal(size=len(x)))
    train, val = np.arange(20_000), np.arange(20_000, 40_000)
    predict = probe(x, train, val)
    scale = choose_scale(y, train, val, predict)
    assert scale.name == "log"
    answers = scale.undo(predict(scale.transform(y[train])))
    assert np.median(y[val] / answers) == pytest.approx(1, abs=0.03)
    # The mean of a log-normal number is exp(s²/2) times its median.
    assert np.mean(y[val] / answers) == pytest.approx(np.exp(0.8**2 / 2), rel=0.05)
    raised = scale.unbiased(y[val], answers)
    assert raised.factor == pytest.approx(np.exp(0.8**2 / 2), rel=0.05)
    assert "on the way back, for their mean to be right" in raised.words
    assert "on the way back" not in scale.words
    assert "median" not in TargetScale.fit(y).words


@pytest.mark.parametrize("likely", ["log", "rank"])
def test_a_likelier_scale_must_not_be_farther_off(
    likely: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likelihood favours ranks where numbers repeat, whether a model tells them better or not."""
    monkeypatch.setattr(tasks, "log_likelihood", lambda scale, *_: 1e3 * (scale.name == likely))
    rng = np.random.default_rng(2)
    x, train, val = rng.normal(size=600), np.arange(400), np.arange(400, 600)
    line = 20 + 4 * x + 0.1 * rng.normal(size=600)
    assert choose_scale(line, train, val, probe(x, train, val)).name == "identity"
    curve = {"log": np.exp(line / 4), "rank": norm.cdf(3 * x) * 8 + np.sign(x) * 40}[likely]
    assert choose_scale(curve, train, val, probe(x, train, val)).name == likely


def test_logarithm_is_not_offered_to_negative_numbers() -> None:
    y = np.concatenate([-np.exp(RNG.normal(3, 2, 299)), [-1.0]])
    train, val = np.arange(200), np.arange(200, 300)
    chosen = choose_scale(y, train, val, lambda t: np.full(100, t.mean()))
    assert chosen.name != "log"


def test_scale_stays_without_validation_vertices_and_of_constants() -> None:
    nobody = np.arange(0)
    assert choose_scale(SKEWED, TRAIN, nobody, lambda t: t[:0]).name == "identity"
    constant = choose_scale(np.full(400, 7.0), TRAIN, VAL, lambda t: np.zeros(100))
    assert constant.name == "identity"
    assert constant.undo(np.array([-1.0, 0.0, 1.0])).tolist() == [7.0, 7.0, 7.0]


def test_unknown_scale_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'rank'"):
        TargetScale.fit(SKEWED, "ranks")

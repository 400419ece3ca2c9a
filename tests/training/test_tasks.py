"""What outputs mean, which score chooses the epoch, and the optimiser's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics as reference
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from graphfilter import metrics
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split, stratified
from graphfilter.training import (
    CLASSIFICATION,
    MONITORS,
    MULTILABEL,
    REGRESSION,
    TASKS,
    Callback,
    FitResult,
    Run,
    TargetScale,
    Task,
    TrainConfig,
    train,
)
from graphfilter.training.epoch import Adam
from graphfilter.training.scores import OF_CLASSES as SCORES, OF_LABELS, Scored
from graphfilter.training.tasks import Lesson, choose_scale
from graphfilter.util.errors import ConfigError, GraphError

N = 90
GRAPH = make_csbm(n_vertices=N, mean_degree=4, n_features=5)
SPLIT = Split(np.arange(40), np.arange(40, 75), np.arange(75, N))
PARTS = {"train": slice(0, 40), "val": slice(40, 75)}
RNG = np.random.default_rng(0)
SIGNAL = np.asarray(GRAPH.features) @ RNG.normal(size=(5, 3))
TARGETS = {
    MULTILABEL: torch.tensor(SIGNAL > 0.3, dtype=torch.float32),
    REGRESSION: torch.tensor((SIGNAL - SIGNAL.mean(0)) / SIGNAL.std(0), dtype=torch.float32),
}


def network(seed: int = 0, **options) -> FilterNetwork:
    generator = torch.Generator().manual_seed(seed)
    return FilterNetwork(5, 3, StackedFilter(3), hidden_size=6, generator=generator, **options)


def fit(task: Task, seeds: tuple[int, ...] = (0,), monitor: str = "loss", **options) -> FitResult:
    """Return the result of the first run."""
    config = TrainConfig(max_epochs=options.pop("max_epochs", 30), monitor=monitor)  # pyright: ignore[reportArgumentType]
    return train(
        [network(seed) for seed in seeds], augmented_adjacency(GRAPH), torch.tensor(GRAPH.features),
        options.pop("targets", TARGETS.get(task)), [SPLIT] * len(seeds), config, seeds=seeds,
        task=task, **options,
    )[0]  # fmt: skip


def outputs_of(result: FitResult) -> torch.Tensor:
    model = network()
    model.load_state_dict(result.state)
    with torch.no_grad():
        return model.eval()(augmented_adjacency(GRAPH), torch.tensor(GRAPH.features))


def test_multilabel_loss_and_score_follow_their_definitions() -> None:
    result = fit(MULTILABEL, max_epochs=1)
    outputs, targets = outputs_of(result), TARGETS[MULTILABEL]
    got = {name: values[0] for name, values in result.history.items()}
    loss = binary_cross_entropy_with_logits(outputs[PARTS["val"]], targets[PARTS["val"]])
    assert got["val_loss"] == pytest.approx(loss.item(), rel=1e-5)
    for part, index in PARTS.items():
        said, true = (outputs[index] > 0).numpy(), targets[index].numpy() > 0
        expected = reference.f1_score(true, said, average="micro", zero_division=0)
        assert got[f"{part}_micro_f1"] == pytest.approx(expected)


def test_regression_loss_and_score_follow_their_definitions() -> None:
    result = fit(REGRESSION, max_epochs=1)
    outputs, targets = outputs_of(result), TARGETS[REGRESSION]
    got = {name: values[0] for name, values in result.history.items()}
    loss = mse_loss(outputs[PARTS["val"]], targets[PARTS["val"]])
    assert got["val_loss"] == pytest.approx(loss.item(), rel=1e-5)
    for part, index in PARTS.items():
        expected = reference.r2_score(targets[index].numpy(), outputs[index].numpy())
        assert got[f"{part}_r2"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n_values", [3, 1000], ids=["ties", "few-ties"])
@pytest.mark.parametrize("monitor", OF_LABELS)
def test_score_of_labels_equals_that_of_scikit_learn(monitor: str, n_values: int) -> None:
    """Two runs side by side, each on its own vertices; the last label is nobody's."""
    rng = np.random.default_rng(1)
    true = rng.random((60, 4)) < [0.1, 0.5, 0.8, 0.0]
    outputs = (rng.integers(0, n_values, (60, 2, 4)) + true[:, None]) / n_values - 0.6
    chosen = rng.random((60, 2)) < 0.7
    got = OF_LABELS[monitor](Scored(
        torch.tensor(outputs, dtype=torch.float32),
        torch.tensor(true).float(), torch.tensor(chosen), torch.ones(4), torch.ones(2).long(),
    ))  # fmt: skip
    for r in range(2):
        y, z = true[chosen[:, r], :3], outputs[chosen[:, r], r, :3]
        if monitor == "macro_f1":
            expected = reference.f1_score(y, z > 0, average="macro")
        else:
            expected = reference.average_precision_score(y, z, average="macro")
        assert got[r].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("task", TARGETS, ids=lambda task: task.name)
def test_gradient_of_the_loss_is_that_of_finite_differences(task: Task) -> None:
    outputs = torch.tensor(RNG.normal(size=(6, 2, 3)), requires_grad=True)
    aligned = task.aligned(TARGETS[task][:6].double(), 2)
    assert torch.autograd.gradcheck(lambda z: task.losses(z, aligned), outputs)


@pytest.mark.parametrize("task", TARGETS, ids=lambda task: task.name)
def test_run_beside_another_gives_what_it_gives_alone(task: Task) -> None:
    alone, beside = fit(task), fit(task, seeds=(0, 1))
    np.testing.assert_allclose(alone.history["loss"], beside.history["loss"], atol=2e-4)


@pytest.mark.parametrize("task", TARGETS, ids=lambda task: task.name)
def test_training_learns_a_linear_signal(task: Task) -> None:
    config = TrainConfig(max_epochs=200, monitor="loss", learning_rate=0.02)
    (result,) = train(
        [network(dropout=0.0)], augmented_adjacency(GRAPH), torch.tensor(GRAPH.features),
        TARGETS[task], [SPLIT], config, seeds=[0], task=task,
    )  # fmt: skip
    best = result.history[f"val_{task.score_name}"][result.best_epoch - 1]
    assert best > 0.5


def test_targets_of_no_part_may_be_unknown() -> None:
    """Those of the test part are never looked at."""
    hidden = TARGETS[REGRESSION].clone()
    hidden[75:] = torch.nan
    known, unknown = fit(REGRESSION), fit(REGRESSION, targets=hidden)
    np.testing.assert_array_equal(known.history["loss"], unknown.history["loss"])
    hidden[74, 1] = torch.nan
    with pytest.raises(GraphError, match="must be labelled"):
        fit(REGRESSION, targets=hidden)


def test_labels_may_choose_the_best_weights() -> None:
    result = fit(MULTILABEL, monitor="average_precision")
    curve = result.history["val_average_precision"]
    assert curve[result.best_epoch - 1] == curve.max()
    expected = reference.average_precision_score(
        TARGETS[MULTILABEL][PARTS["val"]], outputs_of(result)[PARTS["val"]], average="macro"
    )
    assert curve.max() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("task", TARGETS, ids=lambda task: task.name)
def test_interrupted_training_resumes_to_the_same_bits(task: Task, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(progress) -> None:
        if progress.epoch == 5:
            raise StoppedError

    path = tmp_path / "state"
    with pytest.raises(StoppedError):
        fit(task, callback=Callback(stop, checkpoint=path))
    resumed, whole = fit(task, callback=Callback(checkpoint=path, resume=True)), fit(task)
    for name, curve in whole.history.items():
        np.testing.assert_array_equal(curve, resumed.history[name])
    assert all(torch.equal(value, resumed.state[name]) for name, value in whole.state.items())


def test_patience_of_regression_starts_when_the_mean_is_beaten() -> None:
    assert REGRESSION.chance(TARGETS[REGRESSION], None) == 0.0


def test_patience_of_labels_starts_when_the_usual_answers_are_beaten() -> None:
    """Label 0 on three vertices of four, label 1 on one: answered yes and no, 3 of 4 found."""
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert MULTILABEL.chance(targets, None) == pytest.approx(2 * 3 / (4 + 4))


def test_score_of_a_constant_target_is_that_of_scikit_learn() -> None:
    constant, weights = torch.ones(4, 1, 1), torch.ones(1, 4, 1)
    assert REGRESSION.score(constant, constant, weights).item() == 1.0
    assert REGRESSION.score(constant + 1, constant, weights).item() == 0.0


@pytest.mark.parametrize("task", TARGETS, ids=lambda task: task.name)
def test_monitor_and_weights_of_classes_are_refused(task: Task) -> None:
    with pytest.raises(ConfigError, match=f"one of {task.score_name}, loss.* for {task.name}"):
        fit(task, monitor="balanced_accuracy")
    with pytest.raises(ConfigError, match="class_weight must be None"):
        fit(task, class_weight=torch.ones(3))
    assert "balanced_accuracy" in CLASSIFICATION.monitors


MONITORED = make_csbm(n_vertices=90, mean_degree=4, n_features=5)
MONITORED_SPLIT = stratified(MONITORED.labels, 0, (0.3, 0.5, 0.2))
WEIGHTS = [None, (1.0, 3.0)]


def by_scikit_learn(
    monitor: str, margin: np.ndarray, truth: np.ndarray, weight: np.ndarray, positive: int = 1
) -> float:
    if positive == 0 and monitor == "average_precision":
        margin, truth = -margin, 1 - truth
    answer = (margin > 0).astype(int)
    if monitor == "balanced_accuracy":
        return reference.balanced_accuracy_score(truth, answer, sample_weight=weight)
    if monitor == "macro_f1":
        return float(reference.f1_score(truth, answer, average="macro", sample_weight=weight))
    score = {
        "roc_auc": reference.roc_auc_score,
        "average_precision": reference.average_precision_score,
    }[monitor]
    return float(score(truth, margin, sample_weight=weight))


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("n_values", [3, 1000], ids=["ties", "few-ties"])
@pytest.mark.parametrize("monitor", SCORES)
def test_score_equals_that_of_scikit_learn(
    monitor: str, n_values: int, class_weight: tuple[float, float] | None
) -> None:
    """Three runs side by side, each on its own part of the vertices, one looks for class 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 70)
    margin = (rng.integers(0, n_values, (70, 3)) + truth[:, None]) / n_values - 0.6
    chosen = rng.random((70, 3)) < 0.7
    weights = np.array(class_weight or (1.0, 1.0))
    logits = torch.tensor(np.stack([np.zeros_like(margin), margin], axis=2), dtype=torch.float32)
    positive = [1, 0, 1]
    got = SCORES[monitor](Scored(
        logits, torch.tensor(truth), torch.tensor(chosen), torch.tensor(weights).float(),
        torch.tensor(positive),
    ))  # fmt: skip
    for r in range(3):
        of_run = chosen[:, r]
        expected = by_scikit_learn(
            monitor, margin[of_run, r], truth[of_run], weights[truth[of_run]], positive[r]
        )
        assert got[r].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("monitor", ["balanced_accuracy", "macro_f1"])
def test_score_averages_over_the_classes_present(monitor: str) -> None:
    """Four classes, of which the last is answered but has no vertex."""
    rng = np.random.default_rng(1)
    truth, logits = rng.integers(0, 3, 60), rng.normal(size=(60, 4))
    expected = metrics.score(np.exp(logits), truth)[monitor]
    got = SCORES[monitor](Scored(
        torch.tensor(logits)[:, None], torch.tensor(truth), torch.ones(60, 1).bool(), torch.ones(4),
        torch.ones(1).long(),
    ))  # fmt: skip
    assert got.item() == pytest.approx(expected, abs=1e-12)


def test_every_monitored_score_of_classes_is_a_metric() -> None:
    assert set(CLASSIFICATION.monitors) - {"loss"} <= set(metrics.METRICS)


def test_tasks_share_the_names_of_their_monitors() -> None:
    assert set(MONITORS) == {name for task in TASKS.values() for name in task.monitors}


def fit_monitored(monitor: str, **options) -> FitResult:
    network = FilterNetwork(
        5, 2, StackedFilter(3), hidden_size=6, generator=torch.Generator().manual_seed(0)
    )
    config = TrainConfig(max_epochs=options.pop("max_epochs", 12), monitor=monitor)  # pyright: ignore[reportArgumentType]
    (result,) = train(
        [network], augmented_adjacency(MONITORED), torch.tensor(MONITORED.features),
        torch.tensor(options.pop("labels", MONITORED.labels)),
        [options.pop("split", MONITORED_SPLIT)], config, seeds=[0], **options,
    )  # fmt: skip
    return result


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("monitor", SCORES)
def test_training_keeps_the_epoch_of_the_best_monitored_score(
    monitor: str, class_weight: tuple[float, float] | None
) -> None:
    weight = None if class_weight is None else torch.tensor(class_weight)
    result = fit_monitored(monitor, class_weight=weight)
    curve = result.history[f"val_{monitor}"]
    assert curve[result.best_epoch - 1] == curve.max()
    network = FilterNetwork(5, 2, StackedFilter(3), hidden_size=6)
    network.load_state_dict(result.state)
    with torch.no_grad():
        logits = network.eval()(augmented_adjacency(MONITORED), torch.tensor(MONITORED.features))
    truth = np.asarray(MONITORED.labels)[MONITORED_SPLIT.val]
    margin = (logits[:, 1] - logits[:, 0]).double().numpy()[MONITORED_SPLIT.val]
    own = np.array(class_weight or (1.0, 1.0))[truth]
    expected = by_scikit_learn(monitor, margin, truth, own)
    assert curve.max() == pytest.approx(expected, abs=1e-6)


def test_monitored_score_changes_no_other_curve() -> None:
    by_accuracy, by_auc = fit_monitored("accuracy"), fit_monitored("roc_auc")
    assert "val_accuracy" in by_accuracy.history
    assert set(by_auc.history) - set(by_accuracy.history) == {"val_roc_auc"}
    for name, curve in by_accuracy.history.items():
        np.testing.assert_array_equal(curve, by_auc.history[name])


def test_monitored_training_resumes_to_the_same_bits(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(progress) -> None:
        if progress.epoch == 5:
            raise StoppedError

    path = tmp_path / "state"
    with pytest.raises(StoppedError):
        fit_monitored("roc_auc", callback=Callback(stop, checkpoint=path))
    resumed, whole = (
        fit_monitored("roc_auc", callback=Callback(checkpoint=path, resume=True)),
        fit_monitored("roc_auc"),
    )
    for name, curve in whole.history.items():
        np.testing.assert_array_equal(curve, resumed.history[name])
    for name, value in whole.state.items():
        assert torch.equal(value, resumed.state[name])


def test_patience_of_a_ranking_starts_before_any_vertex_is_called_rare() -> None:
    """The training accuracy never beats always answering the largest class."""
    labels = torch.tensor([0, 0, 0, 1, 0, 1])
    split = Split(np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([], dtype=int))
    network = FilterNetwork(2, 2, StackedFilter(2))
    path = Graph.from_edges([[i, i + 1] for i in range(5)])
    lesson = Lesson(augmented_adjacency(path), torch.zeros(6, 2), labels, None, CLASSIFICATION)
    run = Run(network, split, lesson, TrainConfig(monitor="roc_auc", patience=3))
    for auc in (0.5, 0.5, 0.5, 0.5, 0.75, 0.6, 0.6):
        run.update(np.array([1.0, 0.75, 0.7, 0.5, auc]), np.zeros(4))
        assert run.training
    run.update(np.array([1.0, 0.75, 0.7, 0.5, 0.6]), np.zeros(4))
    assert (run.stopped, run.best_epoch) == ("patience", 5)


def test_ranking_of_more_than_two_classes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"two classes; got 3.*macro_f1"):
        fit_monitored("roc_auc", labels=np.arange(90) % 3)


def test_ranking_of_one_class_in_the_validation_part_is_refused() -> None:
    one = np.flatnonzero(MONITORED.labels == 0)
    split = Split(np.flatnonzero(MONITORED.labels == 1), one[:5], one[5:])
    with pytest.raises(GraphError, match="both classes for monitor 'average_precision'"):
        fit_monitored("average_precision", split=split)


@pytest.mark.parametrize("monitor", SCORES)
def test_training_without_validation_vertices_keeps_the_last_weights(monitor: str) -> None:
    nothing = np.array([], dtype=int)
    result = fit_monitored(monitor, split=Split(np.arange(90), nothing, nothing), max_epochs=3)
    assert result.best_epoch == 3


SMALL = make_csbm(n_vertices=40, mean_degree=4, n_features=5)
EVERYTHING = Split(np.arange(40), np.array([], dtype=int), np.array([], dtype=int))


def one_step(**settings: Any) -> tuple[FilterNetwork, FilterNetwork]:
    """Train one epoch from a head of zeros; return the network before and after.

    The gradient of the filter and of the encoder is then exactly zero, and only decay, if any,
    moves them. Adam's first step is the learning rate, whatever the size of a gradient.
    """
    networks = []
    for _ in range(2):
        network = FilterNetwork(
            5, 2, StackedFilter(4), hidden_size=6, generator=torch.Generator().manual_seed(0)
        )
        with torch.no_grad():
            network.head.weight.zero_()
        networks.append(network)
    before, after = networks
    x, labels = torch.tensor(SMALL.features), torch.tensor(SMALL.labels)
    config = TrainConfig(max_epochs=1, filter_learning_rate=0.125, learning_rate=0.25, **settings)
    train([after], augmented_adjacency(SMALL), x, labels, [EVERYTHING], config, seeds=[0])
    return before, after


@pytest.mark.parametrize("decay", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("of_filter", [True, False])
def test_decay_moves_its_own_weights_by_their_learning_rate(of_filter: bool, decay: float) -> None:
    mine, other = "filter_weight_decay", "weight_decay"
    if not of_filter:
        mine, other = other, mine
    before, after = one_step(**{mine: decay, other: 0.0})
    moved = {}
    for name, weight, rate in (
        ("filter", "filter.alpha", 0.125),
        ("encoder", "encoder.weight", 0.25),
    ):
        start = before.get_parameter(weight)
        moved[name] = (after.get_parameter(weight) - start, start, rate)
    for name, (change, weight, rate) in moved.items():
        decayed = decay > 0 and (name == "filter") == of_filter
        expected = -rate * weight.sign() if decayed else torch.zeros_like(weight)
        torch.testing.assert_close(change, expected, rtol=1e-3, atol=1e-6)


def test_weights_that_learn_move_by_their_learning_rate() -> None:
    before, after = one_step(filter_weight_decay=0.0, weight_decay=0.0)
    change = (after.head.weight - before.head.weight).abs()
    torch.testing.assert_close(change, torch.full_like(change, 0.25), rtol=1e-3, atol=1e-6)


def test_adam_takes_the_steps_of_torchs_own() -> None:
    """To the bit, from a stored state on as well."""
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    ends = []
    for kind in (torch.optim.Adam, Adam):
        weight = torch.nn.Parameter(start.clone())
        made = kind([weight], lr=0.1, weight_decay=0.01, fused=True)
        for _ in range(3):
            made.zero_grad()
            weight.square().sum().backward()
            made.step()
            again = kind([weight], lr=0.1, weight_decay=0.01, fused=True)
            again.load_state_dict(made.state_dict())
            made = again
        ends.append(weight.detach())
    assert torch.equal(*ends)


def test_answers_of_a_logarithm_have_the_mean_of_what_is_known() -> None:
    rng = np.random.default_rng(0)
    middle = rng.normal(5, 1, size=4000)
    y = np.exp(middle + 0.6 * rng.normal(size=4000)) - 1
    scale = TargetScale.fit(y, "log")
    answers = scale.undo(scale.transform(np.exp(middle) - 1))
    assert answers.mean() < 0.9 * y.mean()  # Medians, each of them right.
    raised = scale.unbiased(y, answers)
    assert raised.undo(scale.transform(np.exp(middle) - 1)).mean() == pytest.approx(
        y.mean(), rel=0.02
    )
    assert "%" in raised.words
    # Intervals are about the median, and what is learned stays what it is.
    t = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(raised.undo_bounds(t), scale.undo_bounds(t))
    np.testing.assert_array_equal(raised.transform(y), scale.transform(y))


@pytest.mark.parametrize("name", ["identity", "log", "rank"])
def test_what_chance_does_to_the_mean_is_no_bias(name: str) -> None:
    y = np.exp(np.random.default_rng(1).normal(size=400))
    scale = TargetScale.fit(y, name)
    answers = scale.undo(scale.transform(y))
    noisy = np.random.default_rng(2).permutation(y)
    assert scale.unbiased(noisy, answers).factor == 1.0
    assert scale.unbiased(y[:1], 2 * y[:1]).factor == 1.0
    gaps = np.where(np.arange(400) % 2, np.nan, 2 * y)
    assert scale.unbiased(gaps, y).factor == scale.unbiased(2 * y[::2], y[::2]).factor


def test_ranks_with_a_larger_squared_error_are_not_taken() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    # Half of the numbers are alike: ranks are nearer on the whole, and far off where it matters.
    y = np.where(rng.random(600) < 0.5, 0.0, np.exp(2 * x)) - 1
    train, val = np.arange(400), np.arange(400, 600)
    chosen = choose_scale(y, train, val, lambda t: np.full(200, np.median(t)))
    assert chosen.name == "identity"

"""Multilabel and regression: losses, scores and gradients against their definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics as reference
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split
from graphfilter.training import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    Callback,
    FitResult,
    Task,
    TrainConfig,
    train,
)
from graphfilter.training.monitors import OF_LABELS
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
    got = OF_LABELS[monitor](
        torch.tensor(outputs, dtype=torch.float32),
        torch.tensor(true).float(), torch.tensor(chosen), torch.ones(4), torch.ones(2).long(),
    )  # fmt: skip
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

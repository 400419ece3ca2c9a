"""Monitored scores against scikit-learn, with ties and class weights; and training by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics as reference

from graphfilter import metrics
from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split, stratified
from graphfilter.training import (
    CLASSIFICATION,
    MONITORS,
    TASKS,
    Callback,
    FitResult,
    Run,
    TrainConfig,
    train,
)
from graphfilter.training.monitors import OF_CLASSES as SCORES
from graphfilter.util.errors import ConfigError, GraphError

GRAPH = make_csbm(n_vertices=90, mean_degree=4, n_features=5)
SPLIT = stratified(GRAPH.labels, 0, (0.3, 0.5, 0.2))
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
    got = SCORES[monitor](
        logits, torch.tensor(truth), torch.tensor(chosen), torch.tensor(weights).float(),
        torch.tensor(positive),
    )  # fmt: skip
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
    got = SCORES[monitor](
        torch.tensor(logits)[:, None], torch.tensor(truth), torch.ones(60, 1).bool(), torch.ones(4),
        torch.ones(1).long(),
    )  # fmt: skip
    assert got.item() == pytest.approx(expected, abs=1e-12)


def test_every_monitored_score_of_classes_is_a_metric() -> None:
    assert set(CLASSIFICATION.monitors) - {"loss"} <= set(metrics.METRICS)


def test_tasks_share_the_names_of_their_monitors() -> None:
    assert set(MONITORS) == {name for task in TASKS.values() for name in task.monitors}


def fit(monitor: str, **options) -> FitResult:
    network = FilterNetwork(
        5, 2, StackedFilter(3), hidden_size=6, generator=torch.Generator().manual_seed(0)
    )
    config = TrainConfig(max_epochs=options.pop("max_epochs", 12), monitor=monitor)  # pyright: ignore[reportArgumentType]
    (result,) = train(
        [network], augmented_adjacency(GRAPH), torch.tensor(GRAPH.features),
        torch.tensor(options.pop("labels", GRAPH.labels)), [options.pop("split", SPLIT)], config,
        seeds=[0], **options,
    )  # fmt: skip
    return result


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("monitor", SCORES)
def test_training_keeps_the_epoch_of_the_best_monitored_score(
    monitor: str, class_weight: tuple[float, float] | None
) -> None:
    weight = None if class_weight is None else torch.tensor(class_weight)
    result = fit(monitor, class_weight=weight)
    curve = result.history[f"val_{monitor}"]
    assert curve[result.best_epoch - 1] == curve.max()
    network = FilterNetwork(5, 2, StackedFilter(3), hidden_size=6)
    network.load_state_dict(result.state)
    with torch.no_grad():
        logits = network.eval()(augmented_adjacency(GRAPH), torch.tensor(GRAPH.features))
    truth = np.asarray(GRAPH.labels)[SPLIT.val]
    margin = (logits[:, 1] - logits[:, 0]).double().numpy()[SPLIT.val]
    own = np.array(class_weight or (1.0, 1.0))[truth]
    expected = by_scikit_learn(monitor, margin, truth, own)
    assert curve.max() == pytest.approx(expected, abs=1e-6)


def test_monitored_score_changes_no_other_curve() -> None:
    by_accuracy, by_auc = fit("accuracy"), fit("roc_auc")
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
        fit("roc_auc", callback=Callback(stop, checkpoint=path))
    resumed, whole = fit("roc_auc", callback=Callback(checkpoint=path, resume=True)), fit("roc_auc")
    for name, curve in whole.history.items():
        np.testing.assert_array_equal(curve, resumed.history[name])
    for name, value in whole.state.items():
        assert torch.equal(value, resumed.state[name])


def test_patience_of_a_ranking_starts_before_any_vertex_is_called_rare() -> None:
    """The training accuracy never beats always answering the largest class."""
    labels = torch.tensor([0, 0, 0, 1, 0, 1])
    split = Split(np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([], dtype=int))
    run = Run(
        FilterNetwork(2, 2, StackedFilter(2)), split, labels, None, monitor="roc_auc", patience=3
    )
    for auc in (0.5, 0.5, 0.5, 0.5, 0.75, 0.6, 0.6):
        run.update(np.array([1.0, 0.75, 0.7, 0.5, auc]), np.zeros(4))
        assert run.training
    run.update(np.array([1.0, 0.75, 0.7, 0.5, 0.6]), np.zeros(4))
    assert (run.stopped, run.best_epoch) == ("patience", 5)


def test_ranking_of_more_than_two_classes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"two classes; got 3.*macro_f1"):
        fit("roc_auc", labels=np.arange(90) % 3)


def test_ranking_of_one_class_in_the_validation_part_is_refused() -> None:
    one = np.flatnonzero(GRAPH.labels == 0)
    split = Split(np.flatnonzero(GRAPH.labels == 1), one[:5], one[5:])
    with pytest.raises(GraphError, match="both classes for monitor 'average_precision'"):
        fit("average_precision", split=split)


@pytest.mark.parametrize("monitor", SCORES)
def test_training_without_validation_vertices_keeps_the_last_weights(monitor: str) -> None:
    nothing = np.array([], dtype=int)
    result = fit(monitor, split=Split(np.arange(90), nothing, nothing), max_epochs=3)
    assert result.best_epoch == 3

"""Training on batches of vertices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import HopNetworkConfig
from graphfilter.operators import augmented_adjacency, to_tensor
from graphfilter.operators.polynomial import stack_powers
from graphfilter.splits import Split, stratified
from graphfilter.training import Callback, FitResult, Progress, TrainConfig, train
from graphfilter.training.epoch import Batches
from graphfilter.util.errors import ModelFileError


def batches(n: int, pool: int, batch: int) -> Batches:
    return Batches(torch.arange(0, 3 * n, 3), pool, batch)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("n", "pool", "batch"), [(5000, 1500, 100), (10, 100, 100), (7, 3, 2)])
def test_an_epoch_sees_every_training_vertex_once(n: int, pool: int, batch: int) -> None:
    plan, seen, n_steps = batches(n, pool, batch), [], 0
    for vertices, parts in plan.draw(seeded()):
        assert len(vertices) <= pool
        assert bool((vertices.diff() > 0).all())  # in the order of the file
        assert max(len(part) for part in parts) <= batch
        assert max(len(part) for part in parts) - min(len(part) for part in parts) <= 1
        seen += [vertices[part] for part in parts]
        n_steps += len(parts)
    assert n_steps == plan.n_steps
    assert torch.equal(torch.cat(seen).sort().values, plan.vertices)


def test_pools_mix_vertices_from_everywhere() -> None:
    plan = batches(100_000, 10_000, 1000)
    spans = [float(vertices.float().std()) for vertices, _ in plan.draw(seeded())]
    assert min(spans) > 0.5 * float(plan.vertices.float().std())


def test_epochs_differ_and_seeds_repeat_them() -> None:
    plan, generator = batches(100, 40, 10), seeded()
    first, second, again = (
        torch.cat([v[p] for v, parts in plan.draw(g) for p in parts])
        for g in (generator, generator, seeded())
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


@pytest.fixture
def graph() -> Graph:
    return make_csbm(n_vertices=120, mean_degree=5, n_features=6, frequency=0.3, seed=0)


def fit(
    graph: Graph,
    config: TrainConfig,
    split: Split | None = None,
    model: HopNetworkConfig = HopNetworkConfig(batch_size=16),  # noqa: B008 - frozen
    **options: object,
) -> FitResult:
    (result,) = train(
        [model.build(graph, seeded())],
        augmented_adjacency(graph),
        options.pop("x", to_tensor(graph.features)),  # pyright: ignore[reportArgumentType]
        torch.tensor(graph.labels),
        [stratified(graph.labels, 0) if split is None else split],
        config,
        seeds=[0],
        **options,  # pyright: ignore[reportArgumentType]
    )
    return result


def test_linear_network_without_hops_becomes_a_logistic_regression(graph: Graph) -> None:
    """With the same penalty, ½ λ |w|² per vertex on average, where the minimum is one."""
    everything = Split(np.arange(120), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    model = HopNetworkConfig(dropout=0.0, n_hops=0, hidden_size=None, batch_size=120)
    config = TrainConfig(max_epochs=800, learning_rate=0.02, weight_decay=0.1)
    state = fit(graph, config, everything, model).state
    x, y = np.asarray(graph.features), graph.labels
    # The bias is decayed too: a column of ones without an intercept.
    ones = np.hstack([x, np.ones((120, 1))])
    weights = np.vstack([state["head.weight"].numpy(), state["head.bias"].numpy()[None]])
    # For two classes the penalty of ±v is 2 v², that of their difference w = 2 v is w².
    reference = LogisticRegression(C=1 / (0.05 * 120), fit_intercept=False, tol=1e-8).fit(ones, y)
    np.testing.assert_allclose(weights[:, 1] - weights[:, 0], reference.coef_[0], atol=2e-3)


def test_batches_train_and_stop_early(graph: Graph) -> None:
    result = fit(graph, TrainConfig(max_epochs=200, patience=10, learning_rate=0.01))
    assert result.stopped == "patience"
    assert result.history["loss"][-1] < result.history["loss"][0]
    assert result.history["val_accuracy"].max() > 0.8


def test_same_seed_gives_the_same_bits_from_features_and_from_hops(graph: Graph) -> None:
    config = TrainConfig(max_epochs=3)
    x = to_tensor(graph.features)
    assert isinstance(x, torch.Tensor)
    hops = stack_powers(augmented_adjacency(graph), x, 4)
    first, second = fit(graph, config), fit(graph, config, x=hops)
    assert all(torch.equal(first.state[name], second.state[name]) for name in first.state)


def test_batches_resume_to_the_bit(graph: Graph, tmp_path: Path) -> None:
    config, path = TrainConfig(max_epochs=6), tmp_path / "checkpoint.safetensors"
    whole = fit(graph, config)

    def stop(progress: Progress) -> None:
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, config, callback=Callback(stop, checkpoint=path))
    resumed = fit(graph, config, callback=Callback(checkpoint=path, resume=True))
    assert resumed.history["loss"].tolist() == whole.history["loss"].tolist()
    assert all(torch.equal(resumed.state[name], whole.state[name]) for name in whole.state)
    with pytest.raises(ModelFileError, match="another run"):
        fit(
            graph,
            config,
            model=HopNetworkConfig(batch_size=8),
            callback=Callback(checkpoint=path, resume=True),
        )


def test_class_weights_weigh_the_batches(graph: Graph) -> None:
    config = TrainConfig(max_epochs=4)
    plain, doubled = fit(graph, config), fit(graph, config, class_weight=torch.full((2,), 2.0))
    assert all(torch.equal(plain.state[name], doubled.state[name]) for name in plain.state)
    # Where one class weighs nothing, batches without the other teach nothing, and nothing breaks.
    config, weight = TrainConfig(max_epochs=20, learning_rate=0.01), torch.tensor([1.0, 0.0])
    one = fit(graph, config, model=HopNetworkConfig(batch_size=2), class_weight=weight)
    assert np.isfinite(one.history["loss"]).all()
    assert one.history["val_accuracy"][-1] == 1

"""The training loop, on whole graphs and on batches, and who is told of its epochs."""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from tests.processes import forked

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.filters import ChebyshevFilter, IdentityFilter, StackedFilter
from graphfilter.models import FilterNetwork, HopNetworkConfig, ToldHopsConfig
from graphfilter.operators import adjacency, augmented_adjacency, to_tensor
from graphfilter.operators.polynomial import stack_powers
from graphfilter.splits import Split, stratified
from graphfilter.training import (
    CLASSIFICATION,
    Callback,
    Monitor,
    Progress,
    TrainConfig,
    epoch as epoch_module,
    loop as cohorts,
    train,
)
from graphfilter.training.callbacks import SILENT, logged
from graphfilter.training.epoch import Batches, FitResult, Run, keep_best
from graphfilter.training.tasks import Lesson
from graphfilter.util.errors import ConfigError, GraphError, ModelFileError
from graphfilter.util.records import write_tensors

QUICK = TrainConfig(max_epochs=30)


class Stop(Exception):  # noqa: N818 - not an error
    pass


class Setting:
    """A small graph, and how to train networks on it."""

    def __init__(self) -> None:
        self.graph = make_csbm(n_vertices=80, frequency=0.4, mean_degree=6, n_features=10)
        self.operator = augmented_adjacency(self.graph)
        self.x = torch.tensor(self.graph.features)
        self.labels = torch.tensor(self.graph.labels)

    def networks(self, seeds, **options) -> list[FilterNetwork]:
        return [
            FilterNetwork(
                10, 2, StackedFilter(4), hidden_size=8,
                generator=torch.Generator().manual_seed(seed), **options,
            )
            for seed in seeds
        ]  # fmt: skip

    def train(self, seeds, config=QUICK, **options) -> list[FitResult]:
        splits = [stratified(self.graph.labels, seed) for seed in seeds]
        networks = options.pop("networks", None) or self.networks(seeds)
        return train(
            networks, self.operator, self.x, self.labels, splits, config, seeds=seeds, **options
        )


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting()


def same_bits(a: FitResult, b: FitResult) -> bool:
    return (
        a.best_epoch == b.best_epoch
        and a.stopped == b.stopped
        and a.state.keys() == b.state.keys()
        and all(torch.equal(a.state[k], b.state[k]) for k in a.state)
        and all(np.array_equal(a.history[k], b.history[k], equal_nan=True) for k in a.history)
    )


def test_train_gives_the_same_bits_on_one_and_on_two_threads() -> None:
    """Of a graph whose walks are worth two threads; the number changes while it is trained."""
    graph = make_csbm(n_vertices=4000, mean_degree=20, n_features=20)
    operator, x = augmented_adjacency(graph), torch.tensor(graph.features)
    split, before, made = stratified(graph.labels, 0), torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        network = FilterNetwork(20, 2, StackedFilter(8), generator=torch.Generator().manual_seed(0))
        labels, config = torch.tensor(graph.labels), TrainConfig(max_epochs=5)
        made += train([network], operator, x, labels, [split], config, seeds=[0])
    torch.set_num_threads(before)
    assert same_bits(*made)


def test_train_same_seed_gives_same_bits(setting: Setting) -> None:
    torch.manual_seed(1)
    (one,) = setting.train([3])
    torch.manual_seed(2)
    (same,) = setting.train([3])
    (other,) = setting.train([4])
    assert same_bits(one, same)
    assert not same_bits(one, other)


def test_train_leaves_global_randomness_alone(setting: Setting) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    setting.train([0])
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("dropout_on", ["linear", "every_layer"])
@pytest.mark.parametrize("in_cache", [1, 160, 4096])
def test_runs_side_by_side_equal_runs_alone(
    setting: Setting, dropout_on: str, in_cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its own seed, split and stopping: the patience is short enough to differ.

    One, two or all four of them share tensors.
    """
    monkeypatch.setattr(cohorts, "VERTICES_IN_CACHE", in_cache)
    config = TrainConfig(max_epochs=120, patience=8)
    seeds = [0, 1, 2, 3]
    networks = setting.networks(seeds, dropout_on=dropout_on)
    together = setting.train(seeds, config, networks=networks)
    assert len({result.n_epochs for result in together}) > 1
    for seed, result in zip(seeds, together, strict=True):
        (alone,) = setting.train(
            [seed], config, networks=setting.networks([seed], dropout_on=dropout_on)
        )
        assert alone.n_epochs == result.n_epochs
        assert alone.best_epoch == result.best_epoch
        for name, curve in alone.history.items():
            np.testing.assert_allclose(result.history[name], curve, atol=2e-4)
        for name, value in alone.state.items():
            torch.testing.assert_close(result.state[name], value, atol=2e-4, rtol=1e-3)


def test_filters_that_differ_in_any_argument_do_not_share_a_basis(setting: Setting) -> None:
    """They used to run side by side by their repr, which left lambda_min out."""

    def make(lambda_min: float) -> FilterNetwork:
        made = ChebyshevFilter(4, lambda_min=lambda_min)
        return FilterNetwork(10, 2, made, generator=torch.Generator().manual_seed(0))

    results = setting.train([0, 0], networks=[make(-1.0), make(0.0)])
    for lambda_min, result in zip((-1.0, 0.0), results, strict=True):
        (alone,) = setting.train([0], networks=[make(lambda_min)])
        np.testing.assert_allclose(result.history["loss"], alone.history["loss"], atol=2e-4)
    assert abs(results[0].history["loss"][-1] - results[1].history["loss"][-1]) > 1e-3


def test_networks_of_different_settings_train_as_alone(setting: Setting) -> None:
    rates = [0.9, 0.0, 0.9]
    networks = [setting.networks([seed], dropout=rate)[0] for seed, rate in enumerate(rates)]
    results = setting.train([0, 1, 2], networks=networks)
    for seed, rate in enumerate(rates):
        (alone,) = setting.train([seed], networks=setting.networks([seed], dropout=rate))
        np.testing.assert_allclose(results[seed].history["loss"], alone.history["loss"], atol=2e-4)


def test_train_leaves_no_gradients_behind(setting: Setting) -> None:
    networks = setting.networks([0])
    setting.train([0], networks=networks)
    assert all(p.grad is None for p in networks[0].parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("monitor", ["accuracy", "macro_f1", "roc_auc", "average_precision"])
@pytest.mark.parametrize("seeds", [[0], [0, 1, 2]])
def test_captured_epochs_give_the_bits_of_plain_ones(
    seeds: list[int], monitor: Monitor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a GPU: captured, not captured, and interrupted while captured."""
    setting = Setting()
    setting.operator = setting.operator.to("cuda")
    setting.x, setting.labels = setting.x.cuda(), setting.labels.cuda()

    def run(**options) -> list[FitResult]:
        networks = [network.cuda() for network in setting.networks(seeds)]
        config = replace(QUICK, monitor=monitor)
        return setting.train(seeds, config, networks=networks, **options)

    def give_up(progress: Progress) -> None:
        if progress.epoch == 12:
            raise Stop

    captured = run()
    with pytest.raises(Stop):
        run(callback=Callback(give_up, checkpoint=tmp_path / "state"))
    resumed = run(callback=Callback(checkpoint=tmp_path / "state", resume=True))
    monkeypatch.setattr(epoch_module._Replay, "__call__", lambda self, function: function())
    plain = run()
    for a, b, c in zip(captured, resumed, plain, strict=True):
        assert same_bits(a, b)
        assert same_bits(a, c)


@pytest.mark.parametrize("stop_at", [1, 7, 20])
def test_resumed_run_ends_with_the_same_bits(
    setting: Setting, tmp_path: Path, stop_at: int
) -> None:
    def give_up(progress: Progress) -> None:
        if progress.epoch == stop_at:
            raise Stop

    config = TrainConfig(max_epochs=60, patience=10)
    whole = setting.train([0, 1], config)
    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stop):
        setting.train([0, 1], config, callback=Callback(give_up, checkpoint=path))
    epochs = []
    resumed = setting.train(
        [0, 1],
        config,
        callback=Callback(lambda p: epochs.append(p.epoch), checkpoint=path, resume=True),
    )
    assert epochs[0] == stop_at + 1
    assert all(same_bits(a, b) for a, b in zip(whole, resumed, strict=True))


def test_resume_without_a_checkpoint_starts_at_the_beginning(
    setting: Setting, tmp_path: Path
) -> None:
    (one,) = setting.train([0])
    (same,) = setting.train(
        [0], callback=Callback(checkpoint=tmp_path / "none.safetensors", resume=True)
    )
    assert same_bits(one, same)


def train_into(checkpoint: Path, out: Path, epochs: Connection | None = None) -> None:
    """Train a network, from its checkpoint if there is one; send the number of each epoch."""
    graph = make_csbm(n_vertices=300, mean_degree=6, n_features=10)
    network = FilterNetwork(10, 2, StackedFilter(8), generator=torch.Generator().manual_seed(0))
    callback = Callback(
        None if epochs is None else lambda progress: epochs.send(progress.epoch),
        checkpoint=checkpoint,
        checkpoint_seconds=0.02,
        resume=True,
    )
    (result,) = train(
        [network], augmented_adjacency(graph), torch.tensor(graph.features),
        torch.tensor(graph.labels), [stratified(graph.labels, 0)],
        TrainConfig(max_epochs=120, patience=120), seeds=[0], callback=callback,
    )  # fmt: skip
    write_tensors(out, result.state, {"best_epoch": result.best_epoch})


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process with SIGKILL")
def test_killed_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    train_into(tmp_path / "whole.ckpt", tmp_path / "whole")
    checkpoint, out = tmp_path / "killed.ckpt", tmp_path / "killed"
    for kill_at in (31, 73):
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = forked(train_into, checkpoint, out, sender)
        sender.close()
        while receiver.recv() < kill_at:
            pass
        process.kill()
        process.join()
        assert not out.exists()
        assert checkpoint.exists()
    train_into(checkpoint, out)
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_checkpoint_of_another_run_is_refused(setting: Setting, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"

    def give_up(progress: Progress) -> None:
        raise Stop

    with pytest.raises(Stop):
        setting.train([0], callback=Callback(give_up, checkpoint=path))
    for seeds, config in (([1], QUICK), ([0], replace(QUICK, learning_rate=0.1))):
        with pytest.raises(ModelFileError, match="another run"):
            setting.train(seeds, config, callback=Callback(checkpoint=path, resume=True))
    with pytest.raises(ModelFileError, match="another run"):
        setting.train(
            [0],
            callback=Callback(checkpoint=path, resume=True),
            class_weight=torch.tensor([1.0, 2.0]),
        )
    x, setting.x = setting.x, setting.x + 1
    with pytest.raises(ModelFileError, match="another run"):
        setting.train([0], callback=Callback(checkpoint=path, resume=True))
    setting.x = x
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ModelFileError, match="truncated"):
        setting.train([0], callback=Callback(checkpoint=path, resume=True))


def scores(run: Run, *epochs: tuple[float, float, float]) -> Run:
    """Feed a run (training accuracy, validation loss, validation accuracy) by epoch."""
    for train_accuracy, val_loss, val_accuracy in epochs:
        if run.update(np.array([1.0, train_accuracy, val_loss, val_accuracy]), np.zeros(4)):
            keep_best([run])
    return run


def make_run(weights: torch.Tensor | None = None, **options) -> Run:
    labels = torch.tensor([0, 0, 0, 1, 0, 1])
    split = Split(np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([], dtype=int))
    operator = adjacency(Graph.from_edges([[i, i + 1] for i in range(5)]))
    lesson = Lesson(operator, torch.zeros(6, 2), labels, weights, CLASSIFICATION)
    network = FilterNetwork(2, 2, StackedFilter(2))
    return Run(network, split, lesson, TrainConfig(**{"patience": 3, **options}))


def test_patience_is_counted_anew_after_a_better_score() -> None:
    run = make_run()
    still_training = []
    for val_accuracy in (0.5, 0.4, 0.4, 0.6, 0.4, 0.4, 0.4):
        run.update(np.array([1.0, 0.9, 0.7, val_accuracy]), np.zeros(4))
        still_training.append(run.training)
    assert still_training == [True] * 6 + [False]


def test_patience_waits_until_learning_has_begun() -> None:
    """Training accuracy stays at the share of the largest class: nothing is learned yet."""
    run = scores(make_run(), *[(0.75, 0.7, 0.5)] * 50)
    assert run.training
    scores(run, (0.80, 0.7, 0.5), (0.75, 0.7, 0.5))
    assert run.training
    scores(run, (0.75, 0.7, 0.5))
    assert run.stopped == "patience"


def test_patience_starts_again_with_a_better_score() -> None:
    run = scores(make_run(), (0.9, 0.7, 0.5), (0.9, 0.7, 0.4), (0.9, 0.7, 0.4), (0.9, 0.7, 0.6))
    assert run.training
    assert run.best_epoch == 4
    scores(run, *[(0.9, 0.7, 0.5)] * 3)
    assert run.stopped == "patience"


def test_patience_grows_with_the_epochs_to_the_best_score() -> None:
    run = scores(make_run(patience_share=0.5), *[(0.9, 0.7, 0.1 + 0.01 * i) for i in range(20)])
    scores(run, *[(0.9, 0.7, 0.1)] * 9)
    assert run.training
    scores(run, (0.9, 0.7, 0.1))
    assert run.stopped == "patience"


def test_epochs_count_as_learned_once_a_tenth_is_learned() -> None:
    """The largest class is 3 of 4: what is left to learn is a quarter."""
    run = scores(make_run(patience=50), *[(0.77, 0.7, 0.5)] * 4)
    assert run.epochs_learned == 0
    assert scores(run, (0.78, 0.7, 0.5), (0.75, 0.7, 0.5)).epochs_learned == 2


def test_equal_accuracies_are_told_apart_by_loss() -> None:
    run = scores(make_run(), (0.9, 0.7, 0.5), (0.9, 0.6, 0.5), (0.9, 0.65, 0.5))
    assert run.best_epoch == 2
    scores(run, (0.9, 0.5, 0.5))
    assert run.best_epoch == 4
    assert run.stopped == "patience"


def test_monitored_loss_chooses_the_lowest() -> None:
    run = scores(make_run(monitor="loss"), (0.9, 0.7, 0.5), (0.9, 0.6, 0.1), (0.9, 0.65, 0.9))
    assert run.best_epoch == 2


def test_best_weights_are_copies() -> None:
    run = scores(make_run(), (0.9, 0.7, 0.5))
    before = run.best["head.weight"].clone()
    with torch.no_grad():
        run.model.get_parameter("head.weight").add_(1.0)
    assert torch.equal(run.best["head.weight"], before)
    assert torch.equal(run.result(0.0).state["head.weight"], before)


def test_class_weights_move_the_chance_level() -> None:
    run = make_run(torch.tensor([1.0, 3.0]))
    assert run.chance == pytest.approx(0.5)


def test_train_without_validation_keeps_the_last_weights(setting: Setting) -> None:
    everything = Split(np.arange(80), np.array([], dtype=int), np.array([], dtype=int))
    (result,) = train(
        setting.networks([0]), setting.operator, setting.x, setting.labels, [everything],
        TrainConfig(max_epochs=12, patience=2), seeds=[0],
    )  # fmt: skip
    assert result.best_epoch == result.n_epochs == 12
    assert result.stopped == "max_epochs"


def test_train_history_follows_the_filter(setting: Setting) -> None:
    (result,) = setting.train([0])
    assert result.history["alpha"].shape == (31, 4)
    np.testing.assert_array_equal(result.history["alpha"][0], 0.5)
    best = result.history["beta"][result.best_epoch]
    np.testing.assert_array_equal(best, result.state["filter.beta"].numpy())


def test_train_stops_a_run_that_diverges(setting: Setting) -> None:
    """Beyond its interval a Chebyshev series explodes (the paper's lambda_max = 1.5)."""
    networks = [FilterNetwork(10, 2, ChebyshevFilter(400, lambda_max=0.2, lambda_min=0.1))]
    (result,) = setting.train([0], networks=networks)
    assert result.stopped == "diverged"
    assert all(torch.isfinite(value).all() for value in result.state.values())


def test_train_learns_what_the_features_cannot_say() -> None:
    """A graph of high frequency with features that are noise: only the filter can tell."""
    rng = np.random.default_rng(0)
    pairs = [(i, 60 + j) for i in range(60) for j in rng.choice(60, 15, replace=False)]
    labels = np.repeat([0, 1], 60)
    features = rng.normal(size=(120, 6)).astype(np.float32)
    graph = Graph.from_edges(pairs, features=features, labels=labels)
    accuracies = {}
    for name, make in (("stacked", StackedFilter), ("none", IdentityFilter)):
        network = FilterNetwork(6, 2, make(), generator=torch.Generator().manual_seed(0))
        split = stratified(labels, 0)
        operator, x = adjacency(graph), torch.tensor(features)
        (result,) = train(
            [network], operator, x, torch.tensor(labels), [split],
            TrainConfig(max_epochs=500), seeds=[0],
        )  # fmt: skip
        network.load_state_dict(result.state)
        predicted = network.eval()(operator, x).argmax(1).numpy()
        accuracies[name] = (predicted == labels)[split.test].mean()
    assert accuracies["stacked"] == 1.0
    assert accuracies["none"] < 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be a whole number from 1"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"weight_decay": -1.0}, "weight_decay must not be negative"),
        ({"monitor": "acuracy"}, "did you mean 'accuracy'"),
    ],
)
def test_config_refuses_impossible_settings(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**options)


def test_train_checks_what_it_is_given(setting: Setting) -> None:
    split = stratified(setting.graph.labels, 0)
    args = (setting.operator, setting.x)
    with pytest.raises(ConfigError, match="as many models as splits"):
        train(setting.networks([0]), *args, setting.labels, [split, split], seeds=[0])
    hidden = setting.labels.clone()
    hidden[split.train[0]] = -1
    with pytest.raises(GraphError, match="must be labelled"):
        train(setting.networks([0]), *args, hidden, [split], seeds=[0])
    nothing = Split(np.array([], dtype=int), split.val, split.test)
    with pytest.raises(GraphError, match="at least one training vertex"):
        train(setting.networks([0]), *args, setting.labels, [nothing], seeds=[0])


GRAPH = gf.load_dataset("karate")


def sgf() -> gf.SGFClassifier:
    return gf.SGFClassifier(max_epochs=4, random_state=0)


class Counting(Callback):
    """A user's class that does not call the constructor it is derived from."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_epoch(self, progress: Progress) -> bool | None:
        self.seen.append(progress.epoch)
        return progress.epoch == 2


def test_callback_of_a_users_class_sees_epochs_and_ends_training() -> None:
    counting = Counting()
    clf = sgf().fit(graph=GRAPH, callback=counting)
    assert counting.seen == [1, 2]
    assert clf.results_[0].stopped == "asked"


def test_arguments_of_0_2_are_taken_with_a_warning(tmp_path: Path) -> None:
    seen: list[int] = []
    path = tmp_path / "state.safetensors"
    with pytest.warns(DeprecationWarning, match=r"`on_epoch`, `checkpoint` must be passed as"):
        sgf().fit(graph=GRAPH, on_epoch=lambda p: seen.append(p.epoch), checkpoint=path)
    assert seen == [1, 2, 3, 4]
    assert path.exists()
    prepared = gf.systems.Prepared.of(GRAPH)
    system = gf.systems.get_system("sgf").with_(max_epochs=2)
    split = gf.splits.stratified(GRAPH.labels, seed=0)
    with pytest.warns(DeprecationWarning, match="`on_epoch` must"):
        gf.systems.train_system(prepared, system, [split], [0], on_epoch=lambda _: None)


def test_callback_beside_arguments_of_0_2_is_refused() -> None:
    with pytest.raises(ConfigError, match="must hold `resume`"):
        sgf().fit(graph=GRAPH, callback=Callback(), resume=True)
    with pytest.raises(TypeError, match="no epochs"):
        sgf().fit(graph=GRAPH, epochs=3)


def test_parts_keep_their_state_in_files_beside() -> None:
    callback = Callback(checkpoint="folder/checkpoint.safetensors", resume=True)
    part = callback.part("deep")
    assert part.checkpoint == Path("folder/checkpoint-deep.safetensors")
    assert part.resume
    assert part.part("more").checkpoint == Path("folder/checkpoint-deep-more.safetensors")
    assert SILENT.part("deep").checkpoint is None


def test_what_is_compared_says_so_and_keeps_nothing() -> None:
    seen: list[Progress] = []
    compared = Callback(seen.append, checkpoint="state", resume=True).of_compared()
    assert (compared.checkpoint, compared.resume) == (None, False)
    sgf().fit(graph=GRAPH, callback=compared)
    assert all(progress.compared for progress in seen)
    assert len(seen) == 4


def test_silent_callbacks_have_nothing_prepared_for_them() -> None:
    assert not SILENT.watches
    assert not SILENT.part("x").of_compared().watches
    assert Counting().watches
    with logged() as callback:
        assert callback.watches


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


@pytest.mark.parametrize("stopped_after", [3, 9])
@pytest.mark.parametrize(
    "model", [HopNetworkConfig(batch_size=16), ToldHopsConfig(batch_size=16, first_steps=20)]
)
def test_batches_resume_to_the_bit(
    graph: Graph, model: HopNetworkConfig, stopped_after: int, tmp_path: Path
) -> None:
    """Also in the second stage of those that have one, which begins after six epochs."""
    config, path = TrainConfig(max_epochs=12), tmp_path / "checkpoint.safetensors"
    whole = fit(graph, config, model=model)

    def stop(progress: Progress) -> None:
        if progress.epoch == stopped_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, config, model=model, callback=Callback(stop, checkpoint=path))
    resumed = fit(graph, config, model=model, callback=Callback(checkpoint=path, resume=True))
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

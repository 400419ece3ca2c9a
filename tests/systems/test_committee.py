from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import (
    Forest,
    ForestConfig,
    KernelConfig,
    MixedConfig,
    ModelConfig,
    NormedConfig,
    ResidualConfig,
    TreesConfig,
)
from graphfilter.splits import stratified
from graphfilter.systems import (
    Prepared,
    committee,
    get_system,
    outcome as committee_outcome,
    train_system,
)
from graphfilter.systems.committee import DIVERGED, repeated_seed
from graphfilter.systems.outcome import LEAST, CommitteeOutcome, prior_weights
from graphfilter.systems.pooling import drawn, fit_pool, log_probabilities
from graphfilter.systems.prepared import held_folds
from graphfilter.systems.registry import COMMITTEE, COMMITTEES, GROUPS
from graphfilter.systems.system import Committee
from graphfilter.training import REGRESSION, Callback, Progress
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.machine import thread_limit

GRAPH = make_csbm(80, mean_degree=6, n_features=5, frequency=0.3, seed=2)
SPLIT = stratified(GRAPH.labels, 0)


def short(name: str = "committee") -> Committee:
    """The committee for few epochs, its trees for few rounds, on one seed per member, no folds."""
    system = get_system(name).with_(max_epochs=4)
    assert isinstance(system, Committee)
    members = tuple(
        replace(m, model=replace(m.model, n_rounds=3)) if isinstance(m.model, TreesConfig) else m
        for m in system.members
    )
    return replace(system, members=members, folds_up_to=0, few_labels=0)


@pytest.fixture(autouse=True)
def one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)


def train(system: Committee, **options: Any) -> CommitteeOutcome:
    (outcome,) = train_system(Prepared.of(GRAPH), system, [SPLIT], [3], **options)
    assert isinstance(outcome, CommitteeOutcome)
    return outcome


def test_groups_name_every_member_once() -> None:
    named = [name for names in GROUPS.values() for name in names]
    members = {member.name for committee in COMMITTEES for member in committee.members}
    assert sorted(named) == sorted(members)


def test_committee_answers_with_probabilities_of_all_its_members() -> None:
    outcome = train(short())
    present = [m.name for m in COMMITTEE.members_for(GRAPH, 40)]
    assert [part.system.name for part in outcome.parts] == present
    assert len(present) == 12
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1)
    assert outcome.n_epochs == 7 * 4
    said = log_probabilities([part.probabilities for part in outcome.parts])
    np.testing.assert_allclose(outcome.pool.answer(said), outcome.probabilities, atol=1e-9)


def test_committee_without_members_is_that_of_the_others() -> None:
    outcome = train(short())
    unheard = outcome.parts[int(outcome.pool.weights.argmin())].system.name
    names = [part.system.name for part in outcome.parts if part.system.name != unheard]
    alone = outcome.without(*names)
    assert alone is not None
    expected = outcome.parts[[p.system.name for p in outcome.parts].index(unheard)].probabilities
    assert (alone.argmax(axis=1) == expected.argmax(axis=1)).all()
    assert outcome.without(*(m.name for m in COMMITTEE.members)) is None


def test_elsewhere_members_that_know_the_vertices_have_no_weight() -> None:
    outcome = train(short())
    kept = np.array([part.system.keeps_graph for part in outcome.parts])
    assert kept.sum() == 4
    assert (outcome.elsewhere.weights[kept] == 0).all()
    assert outcome.elsewhere.weights.sum() > 0


def test_same_seed_gives_the_same_bits_and_other_seeds_others() -> None:
    first, again = train(short()), train(short())
    np.testing.assert_array_equal(first.probabilities, again.probabilities)
    assert repeated_seed(7, 0) == 7
    assert len({repeated_seed(7, r) for r in range(5)}) == 5


def test_seeds_of_a_member_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 2)
    outcome = train(short("committee-low"))
    part = outcome.parts[0]
    assert len(part.runs) == 2
    product = part.runs[0].probabilities * part.runs[1].probabilities
    expected = np.sqrt(product) / np.sqrt(product).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(part.probabilities, expected, atol=1e-6)


def test_interrupted_committee_resumes_to_the_same_bits(tmp_path: Path) -> None:
    system, path = short(), tmp_path / "checkpoint.safetensors"
    whole = train(system)
    seen: list[str] = []

    def stop(progress: Progress) -> None:
        seen.append(progress.stage)
        if progress.stage.startswith("fixed average") and progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(system, callback=Callback(stop, checkpoint=path))
    assert len(list(tmp_path.glob("checkpoint-*.safetensors"))) == 3
    trained: list[str] = []

    def note(progress: Progress) -> None:
        trained.append(f"{progress.stage} {progress.epoch}")

    resumed = train(system, callback=Callback(note, checkpoint=path, resume=True))
    np.testing.assert_array_equal(resumed.probabilities, whole.probabilities)
    assert not any(stage.startswith("features alone") for stage in trained)
    assert any(stage.startswith("fixed average") and stage.endswith(" 3") for stage in trained)


def test_asked_to_stop_it_weighs_what_it_has() -> None:
    def stop(progress: Progress) -> bool:
        return progress.stage.startswith("adaptive filter (")

    outcome = train(short(), callback=Callback(stop))
    names = [part.system.name for part in outcome.parts]
    assert names == ["features", "filter", "alike", "places", "trees", "told-trees", "linear"]
    assert outcome.parts[1].runs[0].result.stopped == "asked"


class Broken(ModelConfig):
    """A model that cannot be built."""

    error: Exception

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "error", error)

    def build(self, graph: Graph, generator: Any) -> Any:
        raise self.error


def broken(names: set[str], error: Exception) -> Committee:
    """The committee with members that raise."""
    system = short()
    members = tuple(
        replace(m, model=Broken(error)) if m.name in names else m for m in system.members
    )
    return replace(system, members=members)


@pytest.mark.parametrize("name", [m.name for m in COMMITTEE.members_for(GRAPH, 40)])
def test_member_that_fails_leaves_the_answer_to_the_others(name: str) -> None:
    outcome = train(broken({name}, ValueError("no such window\nof this size")))
    title = next(m.title for m in COMMITTEE.members if m.name == name)
    assert outcome.failed == {title: "ValueError: no such window"}
    assert {part.system.name for part in outcome.parts} | {name} == {
        m.name for m in COMMITTEE.members_for(GRAPH, 40)
    }
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1)


def test_committee_of_which_all_members_fail_fails_in_one_line() -> None:
    every = {m.name for m in COMMITTEE.members}
    with pytest.raises(
        GraphFilterError, match=r"no member of committee.*not enough memory"
    ) as told:
        train(broken(every, MemoryError()))
    assert "\n" not in str(told.value)


def test_what_a_user_or_the_caller_caused_is_no_failure_of_a_member() -> None:
    with pytest.raises(ConfigError, match="impossible"):
        train(broken({"filter"}, ConfigError("impossible")))

    def stop(progress: Progress) -> None:
        raise RuntimeError("the window was closed")

    with pytest.raises(RuntimeError, match="window was closed"):
        train(short(), callback=Callback(stop))


def test_member_that_diverges_at_once_has_no_part() -> None:
    system = short()
    members = tuple(
        replace(m, config=replace(m.config, learning_rate=1e30)) if m.name == "smooth" else m
        for m in system.members
    )
    outcome = train(replace(system, members=members))
    assert outcome.failed == {"fixed average over neighbours": DIVERGED}
    assert "smooth" not in {part.system.name for part in outcome.parts}


def test_failed_fit_keeps_the_checkpoints_of_members_that_ended(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(ConfigError):
        train(broken({"deep"}, ConfigError("impossible")), callback=Callback(checkpoint=path))
    assert path.with_name(f"{path.stem}-features{path.suffix}").exists()
    trained: list[str] = []

    def note(progress: Progress) -> None:
        trained.append(progress.stage)

    train(short(), callback=Callback(note, checkpoint=path, resume=True))
    assert not any(stage.startswith("features alone") for stage in trained)
    assert any(stage.startswith("deep network") for stage in trained)


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads to compute on, whatever this machine has."""
    monkeypatch.setattr(committee, "thread_limit", lambda: 2)


@pytest.mark.usefixtures("two_threads")
def test_networks_train_while_members_without_epochs_are_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learn, training, waited = Forest.learn, threading.Event(), []

    def learn_late(*arguments: Any) -> None:
        waited.append(training.wait(timeout=60))
        learn(*arguments)

    def note(progress: Progress) -> None:
        if progress.stage.startswith("features alone"):
            training.set()

    monkeypatch.setattr(Forest, "learn", learn_late)
    outcome = train(short(), callback=Callback(note))
    assert waited == [True]
    assert "places" in {part.system.name for part in outcome.parts}


def test_members_that_are_fitted_at_once_divide_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRAPHFILTER_THREADS", "16")
    learned, seen = Forest.learn, []

    def learn(*arguments: Any) -> None:
        seen.append(thread_limit())
        learned(*arguments)

    monkeypatch.setattr(Forest, "learn", learn)
    outcome = train(short())
    n_fitted = sum(part.system.is_fitted for part in outcome.parts)
    assert n_fitted > 1
    assert set(seen) == {16 // n_fitted}


@pytest.mark.usefixtures("two_threads")
def test_answers_do_not_depend_on_what_is_fitted_beside_the_networks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = train(short())
    monkeypatch.setattr(committee, "MOST_BESIDE", 0)
    in_turn = train(short())
    np.testing.assert_array_equal(both.probabilities, in_turn.probabilities)
    np.testing.assert_array_equal(both.pool.weights, in_turn.pool.weights)


@pytest.mark.usefixtures("two_threads")
def test_caller_who_ends_at_once_has_the_first_member() -> None:
    outcome = train(short(), callback=Callback(lambda progress: True))
    assert [part.system.name for part in outcome.parts] == ["told-trees"]


@pytest.mark.usefixtures("two_threads")
def test_interrupt_leaves_no_member_that_is_still_being_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def learn(*arguments: Any) -> None:
        begun.set()
        time.sleep(0.3)
        ended.set()

    def interrupt(progress: Progress) -> None:
        if progress.stage.startswith("features alone"):
            begun.wait(timeout=60)
            raise KeyboardInterrupt

    monkeypatch.setattr(Forest, "learn", learn)
    with pytest.raises(KeyboardInterrupt):
        train(short(), callback=Callback(interrupt))
    assert ended.is_set()


@pytest.mark.usefixtures("two_threads")
def test_what_the_user_caused_in_the_thread_is_raised() -> None:
    with pytest.raises(ConfigError, match="impossible"):
        train(broken({"trees"}, ConfigError("impossible")))


@pytest.mark.usefixtures("two_threads")
def test_default_type_of_the_caller_stays_though_both_threads_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The forest is asked while a network trains, and answers when all of them have ended."""
    learn, answers = Forest.learn, Forest.answers
    training, ended = threading.Event(), threading.Event()

    def learn_late(*arguments: Any) -> None:
        training.wait(timeout=60)
        learn(*arguments)

    def answer_late(*arguments: Any) -> Any:
        ended.wait(timeout=60)
        time.sleep(0.3)
        return answers(*arguments)

    def note(progress: Progress) -> None:
        if progress.stage.startswith("features alone"):
            training.set()
            time.sleep(0.3)
        if progress.stage.startswith("neighbours' averages") and progress.epoch == 4:
            ended.set()

    monkeypatch.setattr(Forest, "learn", learn_late)
    monkeypatch.setattr(Forest, "answers", answer_late)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        train(short(), callback=Callback(note))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(default)


def in_rounds() -> Committee:
    """Networks for a round of 30 epochs and some more."""
    system = short().limited(34)
    assert isinstance(system, Committee)
    return replace(system, rounds=(30,), rounds_above=79)


def of_features() -> Graph:
    """A graph whose edges say nothing of the labels, and whose features say all."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=80)
    features = (2 * labels[:, None] + 0.3 * rng.normal(size=(80, 5))).astype(np.float32)
    return Graph.from_edges(GRAPH.edges, 80, features=features, labels=labels)


def test_members_that_add_nothing_are_stopped_after_a_round_with_the_reason() -> None:
    graph = of_features()
    split = stratified(graph.labels, 0)
    (outcome,) = train_system(Prepared.of(graph), in_rounds(), [split], [3])
    assert isinstance(outcome, CommitteeOutcome)
    stopped = {p.system.name: p for p in outcome.parts if p.superfluous}
    assert "smooth" in stopped
    assert "features" not in stopped
    for part in stopped.values():
        assert {run.n_epochs for run in part.runs} == {30}
        assert part.superfluous == "did not improve the committee after 30 epochs"
        assert part.remark == part.superfluous
    silent = outcome.unused_members
    shares = dict(zip((p.system.title for p in outcome.parts), outcome.pool.shares, strict=True))
    assert silent == {
        p.system.title: p.superfluous for p in stopped.values() if not shares[p.system.title]
    }


def test_members_that_learn_numbers_are_judged_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their scores are squared errors: a low-pass filter adds nothing where edges say nothing."""
    graph = of_features()
    assert graph.labels is not None
    numbers = (graph.labels * 2.0 - 1)[:, None].astype(np.float32)
    ready = Prepared.of(
        replace(graph, labels=0 * graph.labels, classes=np.array(["y"])),
        task=REGRESSION,
        targets=numbers,
    )

    def reasons() -> set[str]:
        (outcome,) = train_system(ready, in_rounds(), [stratified(graph.labels, 0)], [3])
        assert isinstance(outcome, CommitteeOutcome)
        return {part.superfluous for part in outcome.parts}

    assert reasons() == {""}  # A round of 30 epochs is too early.
    monkeypatch.setattr(committee, "FIRST_OF_NUMBERS", 30)
    assert "did not improve the committee after 30 epochs" in reasons()


def test_members_that_have_learned_nothing_are_not_judged_yet() -> None:
    """At a rate of next to nothing the low-pass filter stays at chance: nothing is known of it."""
    graph, system = of_features(), of_two()
    split = stratified(graph.labels, 0)
    features, smooth = system.members
    slow = replace(smooth, config=replace(smooth.config, learning_rate=1e-9))
    for members, stopped in (((features, smooth), True), ((features, slow), False)):
        tried = replace(system, members=members)
        (outcome,) = train_system(Prepared.of(graph), tried, [split], [3])
        assert isinstance(outcome, CommitteeOutcome)
        assert bool(outcome.parts[1].superfluous) == stopped


@pytest.mark.parametrize("when", [("fixed average", 12), ("", 32)])
def test_committee_interrupted_in_any_round_resumes_to_the_same_bits(
    tmp_path: Path, when: tuple[str, int]
) -> None:
    system, path = in_rounds(), tmp_path / "checkpoint.safetensors"
    whole = train(system)
    title, epoch = when

    def stop(progress: Progress) -> None:
        if progress.stage.startswith(title) and progress.epoch == epoch:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(system, callback=Callback(stop, checkpoint=path))
    resumed = train(system, callback=Callback(checkpoint=path, resume=True))
    np.testing.assert_array_equal(resumed.probabilities, whole.probabilities)
    for part, again in zip(whole.parts, resumed.parts, strict=True):
        assert [run.result.stopped for run in part.runs] == [
            run.result.stopped for run in again.runs
        ]


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members have two seeds."""
    monkeypatch.setattr(committee, "MOST_REPEATS", 2)


def of_two() -> Committee:
    """Features that say all, and a filter of edges that say nothing."""
    features, _, _, smooth, *_ = in_rounds().members
    return replace(in_rounds(), members=(features, smooth))


def train_two(system: Committee | None = None, **options: Any) -> CommitteeOutcome:
    graph, system = of_features(), system or of_two()
    split = stratified(graph.labels, 0)
    (outcome,) = train_system(Prepared.of(graph), system, [split], [3], **options)
    assert isinstance(outcome, CommitteeOutcome)
    return outcome


def count_runs(outcome: CommitteeOutcome) -> dict[str, int]:
    return {part.system.name: len(part.runs) for part in outcome.parts}


@pytest.mark.usefixtures("in_turn")
def test_other_seeds_join_where_a_member_adds_something() -> None:
    outcome = train_two()
    assert count_runs(outcome) == {"features": 2, "smooth": 1}
    first, second = (run.probabilities for run in outcome.parts[0].runs)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("least", "n_seeds"), [(1, 2), (3, 3)])
def test_one_other_seed_joins_unless_more_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, least: int, n_seeds: int
) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 4)
    found = train_two(system=replace(of_two(), least_repeats=least))
    assert count_runs(found)["features"] == n_seeds


def test_all_seeds_train_from_the_start_on_few_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 2)
    found = train_two(system=replace(of_two(), rounds_above=80))
    assert count_runs(found) == {"features": 2, "smooth": 2}


@pytest.mark.usefixtures("in_turn")
def test_committee_interrupted_while_seeds_join_resumes_to_the_same_bits(tmp_path: Path) -> None:
    path, whole = tmp_path / "checkpoint.safetensors", train_two()
    epochs: list[int] = []

    def stop(progress: Progress) -> None:
        epochs.append(progress.epoch)
        if epochs[-2:] == [1, 2] and 34 in epochs:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_two(callback=Callback(stop, checkpoint=path))
    assert path.with_name(f"{path.stem}-features-more{path.suffix}").exists()
    resumed = train_two(callback=Callback(checkpoint=path, resume=True))
    np.testing.assert_array_equal(resumed.probabilities, whole.probabilities)


@pytest.mark.usefixtures("in_turn")
def test_asked_to_stop_while_seeds_join_it_answers_by_the_first() -> None:
    epochs: list[int] = []

    def stop(progress: Progress) -> bool:
        epochs.append(progress.epoch)
        return epochs[-2:] == [1, 2] and 34 in epochs

    assert count_runs(train_two(callback=Callback(stop))) == {"features": 1, "smooth": 1}


def test_answer_so_far_of_an_interrupted_committee_is_had_without_training(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"

    def interrupt(progress: Progress) -> None:
        if progress.stage.startswith("fixed average") and progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(short(), callback=Callback(interrupt, checkpoint=path))
    outcome = train(short(), callback=Callback(lambda _: True, checkpoint=path, resume=True))
    epochs = {part.system.name: part.n_epochs for part in outcome.parts}
    assert {"features", "filter", "smooth"} <= epochs.keys()
    assert "deep" not in epochs
    assert epochs["smooth"] == 2


def test_progress_shows_the_score_of_all_together() -> None:
    told: list[Progress] = []
    train(in_rounds(), callback=Callback(told.append))
    late = [each for each in told if each.epoch > 30]
    assert late
    assert all(0 <= each.pool_score <= 1 and each.seconds_left >= 0 for each in late)


def test_patience_is_short_unless_labels_are_few_or_it_is_asked_for() -> None:
    def patience(system: Committee, n_train: int) -> int:
        return next(system.members_for(GRAPH, n_train)).config.patience

    hasty = replace(COMMITTEE, least_patience=40)
    assert [patience(hasty, n) for n in (20, 90, 1000)] == [120, 100, 40]
    asked = hasty.with_(patience=300)
    assert isinstance(asked, Committee)
    assert patience(asked, 1000) == 300


def test_without_edges_only_features_and_trees_are_trained() -> None:
    alone = Graph.from_edges([], 80, features=GRAPH.features, labels=GRAPH.labels)
    names = [system.name for system in COMMITTEE.members_for(alone, 40)]
    assert names == ["features", "trees", "told-trees", "linear"]


def test_filter_stands_aside_for_channels_where_edges_have_directions() -> None:
    directed = Graph.from_edges(
        GRAPH.edges, 80, features=GRAPH.features, labels=GRAPH.labels, directed=True
    )
    for graph, present, absent in ((GRAPH, "filter", "channels"), (directed, "channels", "filter")):
        names = [system.name for system in COMMITTEE.members_for(graph, 40)]
        assert present in names
        assert absent not in names
        assert len(names) == 12


def test_members_are_absent_where_they_would_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = next(m for m in COMMITTEE.members if isinstance(m.model, ResidualConfig))
    monkeypatch.setattr("graphfilter.models.base.MOST_HELD", 10)
    assert "too many" in str(COMMITTEE.absence(deep, GRAPH, 40))
    alike = next(m for m in COMMITTEE.members if isinstance(m.model, KernelConfig))
    assert "60,000 labels" in str(COMMITTEE.absence(alike, GRAPH, 60_000))
    places = next(m for m in COMMITTEE.members if m.name == "places")
    assert COMMITTEE.absence(places, GRAPH, 40) is None
    many = replace(GRAPH, classes=np.arange(10**7))
    assert "10,000,000 classes" in str(COMMITTEE.absence(places, many, 40))
    monkeypatch.setattr("graphfilter.models.base.MOST_SHARED", 10)
    assert "common neighbour" in str(COMMITTEE.absence(alike, GRAPH, 40))
    trees, told_trees, linear = COMMITTEE.members[-3:]
    assert COMMITTEE.absence(told_trees, GRAPH, 40) is None
    words = GRAPH.replace(features=sp.random_array((80, 300), density=0.1, format="csr"))
    assert "words alone" in str(COMMITTEE.absence(told_trees, words, 40))
    for limit, member in {
        "trees.MOST_BOOSTED": trees,
        "trees.MOST_WORK": told_trees,
        "linear.MOST_WORK": linear,
    }.items():
        assert COMMITTEE.absence(member, GRAPH, 40) is None
        monkeypatch.setattr(f"graphfilter.models.{limit}", 10)
        assert "too long" in str(COMMITTEE.absence(member, GRAPH, 40))


def test_trees_see_compressed_features_where_they_are_many() -> None:
    """And answer for another graph as before they were saved: see test_graph_classifier."""
    wide = GRAPH.replace(features=np.ones((80, 800), dtype=np.float32))
    few, many = (
        next(m for m in COMMITTEE.members_for(graph, 40) if m.name == "trees")
        for graph in (GRAPH, wide)
    )
    assert (few.view, few.model) == ("averages", TreesConfig())
    assert (many.view, many.model) == ("compressed averages", ForestConfig())


def test_network_with_batch_norms_is_as_deep_as_the_graph_is_wide() -> None:
    side = 40
    grid = [(v, v + 1) for v in range(side**2) if (v + 1) % side]
    grid += [(v, v + side) for v in range(side * (side - 1))]
    rng = np.random.default_rng(0)
    features, labels = rng.random((side**2, 3)), rng.integers(0, 2, side**2)
    wide = Graph.from_edges(grid, features=features, labels=labels)
    near = make_csbm(side**2, mean_degree=4, n_features=3, frequency=1.0, seed=0)
    depths = []
    for graph in (near, wide):
        (member,) = (m for m in COMMITTEE.members_for(graph, 40) if m.name == "told")
        assert isinstance(member.model, NormedConfig)
        depths.append((member.model.n_layers, member.model.dropout))
    assert depths == [(4, 0.3), (12, 0.2)]


def test_mixed_network_knows_which_of_its_columns_are_links() -> None:
    directed = Graph.from_edges(
        GRAPH.edges, 80, features=GRAPH.features, labels=GRAPH.labels, directed=True
    )
    for graph, n_links in ((GRAPH, 80), (directed, 160)):
        (member,) = (m for m in COMMITTEE.members_for(graph, 40) if m.name == "mixed")
        assert isinstance(member.model, MixedConfig)
        assert member.model.n_links == n_links
        seen = Prepared.of(graph).seen_as(member.view).graph
        assert seen.n_features == graph.n_features + n_links


def test_small_graphs_choose_epochs_by_loss_unless_told_otherwise() -> None:
    small, large = (
        make_csbm(n, mean_degree=4, n_features=2, frequency=1.0, seed=0) for n in (1000, 1001)
    )

    def monitors(name: str, graph: Graph, n_train: int = 400) -> set[str]:
        committee = get_system(name)
        assert isinstance(committee, Committee)
        return {member.config.monitor for member in committee.members_for(graph, n_train)}

    assert monitors("committee", small) == {"loss"}
    assert monitors("committee", large) == {"accuracy"}
    assert monitors("committee", large, n_train=40) == {"loss"}
    assert monitors("committee@monitor=accuracy", small) == {"accuracy"}
    assert monitors("committee-low", small) == {"accuracy"}
    assert get_system("committee").describe()["loss_up_to"] == 1000


def test_decay_shrinks_as_labels_grow() -> None:
    def decay(name: str, n_train: int) -> float:
        found = {s.name: s for s in COMMITTEE.members_for(GRAPH, n_train)}
        return found[name].config.weight_decay

    assert decay("filter", 100) == 5e-4
    assert decay("filter", 10_000) == pytest.approx(5e-5)
    assert decay("smooth", 140) == pytest.approx(0.5 / 140)


def test_changes_of_a_committee_are_those_of_its_members() -> None:
    changed = get_system("committee@patience=7")
    assert isinstance(changed, Committee)
    assert {member.config.patience for member in changed.members} == {7}
    assert changed.name == "committee@patience=7"
    assert changed.limited(3).name == changed.name


def test_prior_favours_low_pass_members_where_labels_are_surely_low() -> None:
    low = make_csbm(600, mean_degree=12, n_features=4, frequency=0.1, seed=0)
    high = make_csbm(600, mean_degree=12, n_features=4, frequency=1.9, seed=0)
    systems = list(COMMITTEE.members_for(low, 300))
    smooth = [system.name for system in systems].index("smooth")
    shares = {}
    for name, graph in (("low", low), ("high", high)):
        shares[name] = prior_weights(systems, graph, stratified(graph.labels, 0))
        assert shares[name].sum() == pytest.approx(1)
    np.testing.assert_allclose(shares["high"], 1 / len(systems))
    assert shares["low"][smooth] > 0.5
    unknown = replace(low, labels=np.random.default_rng(0).integers(0, 2, 600))
    np.testing.assert_allclose(
        prior_weights(systems, unknown, stratified(unknown.labels, 0)), 1 / len(systems), atol=1e-3
    )
    few = stratified(low.labels, 0, (0.01, 0.01, 0.98))
    assert prior_weights(systems, low, few)[smooth] < shares["low"][smooth]


@pytest.mark.parametrize(("n_sure", "belief"), [(2, 1.0), (0, 0.0)])
def test_prior_is_sure_by_twice_the_probability_less_one(
    monkeypatch: pytest.MonkeyPatch, n_sure: float, belief: float
) -> None:
    """Where the frequency is as probably high as low nothing is believed; where it is low, all."""

    class Estimate:
        mean = committee_outcome.LOW - 2 * n_sure
        mean_low, mean_high = mean - 1, mean + 1

    monkeypatch.setattr(committee_outcome, "estimate_label_frequency", lambda *_: Estimate)
    systems = list(COMMITTEE.members_for(GRAPH, 40))
    smooth = np.array([system.name == "smooth" for system in systems])
    wanted = np.where(smooth, 1 + len(smooth) * belief, 1.0)
    found = prior_weights(systems, GRAPH, SPLIT)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=1e-4)


def test_committee_is_weighed_by_validation_vertices_alone() -> None:
    """Its weights are those of a pool fitted to the labels of the validation vertices."""
    outcome = train(short())
    said = log_probabilities([part.probabilities for part in outcome.parts])
    shares = prior_weights([part.system for part in outcome.parts], GRAPH, SPLIT)
    assert GRAPH.labels is not None
    labels = GRAPH.labels[SPLIT.val]
    whole = fit_pool(said[:, SPLIT.val], labels, prior=shares)
    heard = whole.shares >= min(LEAST, whole.shares.max())
    kept = fit_pool(said[heard][:, SPLIT.val], labels, prior=shares[heard])
    np.testing.assert_allclose(outcome.pool.weights[heard], kept.weights, atol=1e-9)
    np.testing.assert_allclose(outcome.pool.temperatures[heard], kept.temperatures, atol=1e-9)
    assert not outcome.pool.weights[~heard].any()


def test_pool_of_a_fold_has_not_seen_the_vertices_that_it_calibrates() -> None:
    """Each is fitted to the other validation vertices, and to none of its own."""
    outcome = train(short())
    assert GRAPH.labels is not None
    heard = outcome.pool.shares > 0
    said = log_probabilities([part.probabilities for part in outcome.parts])[heard]
    shares = prior_weights([part.system for part in outcome.parts], GRAPH, SPLIT)[heard]
    held = held_folds(SPLIT.val, 3)
    assert len(outcome.folds) == len(held) > 1
    for pool, own in zip(outcome.folds, held, strict=True):
        others = np.setdiff1d(SPLIT.val, own)
        apart = fit_pool(said[:, others], GRAPH.labels[others], prior=shares)
        np.testing.assert_allclose(pool.weights[heard], apart.weights, atol=1e-9)
        np.testing.assert_allclose(pool.temperatures[heard], apart.temperatures, atol=1e-9)


def test_of_many_validation_vertices_some_weigh_the_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committee_outcome, "MOST_WEIGHED", 9)
    outcome = train(short())
    assert GRAPH.labels is not None
    some = SPLIT.val[drawn(len(SPLIT.val), 9, np.random.default_rng((3, 6)))]
    assert len(some) == 9 < len(SPLIT.val)
    heard = outcome.pool.shares > 0
    said = log_probabilities([part.probabilities for part in outcome.parts])[heard]
    shares = prior_weights([part.system for part in outcome.parts], GRAPH, SPLIT)[heard]
    own = fit_pool(said[:, some], GRAPH.labels[some], prior=shares)
    np.testing.assert_allclose(outcome.pool.weights[heard], own.weights, atol=1e-9)

"""The search, and the protocols of splits that it and benchmarks follow."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.splits import Split, fraction, per_class, stratified
from graphfilter.systems import Prepared, System, get_system, train_system
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, DataFileError, GraphError
from graphfilter_research.bench.protocol import (
    GraphLoader,
    check_split_rule,
    dataset_name,
    draw_split,
    split_index,
)
from graphfilter_research.bench.search import PAPER_AXES, SearchProgress, Tuning, search

QUICK: dict[str, Any] = {"trials": 4, "max_epochs": 8, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(80, n_features=4)


@pytest.fixture
def optuna() -> Any:
    return pytest.importorskip("optuna")


def make_tuning(graph: Graph, system: str | System) -> Tuning:
    return Tuning.of(
        graph,
        get_system(system) if isinstance(system, str) else system,
        draw_split(graph, "stratified", 0),
        seed=0,
        scaling="auto",
        device="cpu",
        max_epochs=8,
    )


def test_axes_of_sgf_are_the_papers_and_its_setting_is_among_them(graph: Graph) -> None:
    tuning = make_tuning(graph, "sgf")
    assert {name: set(values) for name, values in tuning.axes.items()} == {
        name: set(values) for name, values in PAPER_AXES.items()
    }
    assert tuning.default == {
        "learning_rate": 0.01, "weight_decay": 5e-4, "dropout": 0.7, "n_layers": 16,
    }  # fmt: skip


def test_axes_of_others_are_those_that_apply_and_hold_their_own_values(graph: Graph) -> None:
    tuning = make_tuning(graph, "mlp")
    rate = get_system("mlp").config.learning_rate
    assert tuning.default == {"learning_rate": rate, "weight_decay": 5e-4}
    assert rate in tuning.axes["learning_rate"]


@pytest.mark.parametrize("name", ["sgf", "mlp", "sgc"])
def test_default_setting_is_the_systems_own_config(graph: Graph, name: str) -> None:
    tuning = make_tuning(graph, name)
    assert tuning.system_in(tuning.default).config == replace(get_system(name).config, max_epochs=8)


def test_setting_of_sgf_changes_config_and_network(graph: Graph) -> None:
    tuning = make_tuning(graph, "sgf")
    setting = {"learning_rate": 0.1, "weight_decay": 1e-4, "dropout": 0.4, "n_layers": 8}
    system = tuning.system_in(setting)
    config = system.config
    assert (config.filter_learning_rate, config.learning_rate) == (0.1, pytest.approx(0.025))
    assert (config.filter_weight_decay, config.weight_decay) == (1e-4, 1e-4)
    assert system.settings()["dropout"] == 0.4
    assert system.settings()["n_layers"] == 8


def test_setting_leaves_a_filter_decay_of_its_own_alone(graph: Graph) -> None:
    config = TrainConfig(filter_weight_decay=0.0, weight_decay=5e-4)
    tuning = make_tuning(graph, replace(get_system("sgf"), config=config))
    assert (
        tuning.system_in(tuning.default | {"weight_decay": 0.01}).config.filter_weight_decay == 0.0
    )


def test_training_the_default_is_what_the_pipeline_does(graph: Graph) -> None:
    tuning = make_tuning(graph, "sgf")
    prepared = Prepared.of(graph)
    [done] = train_system(prepared, tuning.system, [tuning.split], [0])
    right = done.probabilities.argmax(axis=1) == prepared.labels
    accuracy = tuning.accuracy(tuning.train(tuning.default), "test")
    assert accuracy == right[tuning.split.test].mean()


def test_system_that_is_not_trained_has_nothing_to_search(graph: Graph) -> None:
    system = System("prior", "Prior", None, predict=lambda graph, split: np.ones((1, 1)))
    with pytest.raises(ConfigError, match="not trained"):
        make_tuning(graph, system)


def test_search_without_optuna_says_what_to_install(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'graphfilter\[search\]'"):
        search(graph, "sgf", **QUICK)


def test_search_starts_with_the_default_and_never_ends_below_it(optuna: Any, graph: Graph) -> None:
    seen: list[SearchProgress] = []
    result = search(graph, "sgf", on_trial=seen.append, **QUICK)
    assert seen[0].best_val_accuracy == result.default.val_accuracy
    assert result.best.val_accuracy >= result.default.val_accuracy
    assert [progress.n_done for progress in seen] == [1, 2, 3, 4]
    assert result.n_complete + result.n_pruned + result.n_failed == 4
    tuning = make_tuning(graph, "sgf")
    assert result.default.setting == tuning.default
    again = tuning.train(result.best.setting)
    assert result.best.test_accuracy == tuning.accuracy(again, "test")


def test_search_is_decided_by_its_seed(optuna: Any, graph: Graph) -> None:
    assert search(graph, "mlp", **QUICK).best == search(graph, "mlp", **QUICK).best


def test_search_does_not_see_the_test_labels(optuna: Any, graph: Graph) -> None:
    """With other labels on the test vertices, the same setting is chosen, by the same score."""
    split = draw_split(graph, "stratified", 0)
    assert graph.labels is not None
    labels = graph.labels.copy()
    labels[split.test] = 1 - labels[split.test]
    fixed = [replace(split, rule="fixed")]
    one, other = (
        search(graph.replace(labels=y, splits=fixed), "sgf", split_rule="fixed", **QUICK)
        for y in (graph.labels, labels)
    )
    assert one.best.setting == other.best.setting
    assert one.best.val_accuracy == other.best.val_accuracy
    assert one.best.test_accuracy == pytest.approx(1 - other.best.test_accuracy)


def test_search_goes_on_from_its_storage(
    optuna: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = tmp_path / "search.db"
    first = search(graph, "sgf", storage=storage, **QUICK)
    seen: list[SearchProgress] = []
    more = search(graph, "sgf", storage=storage, on_trial=seen.append, **dict(QUICK, trials=6))
    assert [progress.n_done for progress in seen] == [5, 6]
    assert more.best.val_accuracy >= first.best.val_accuracy
    assert more.default == first.default
    seen.clear()
    assert search(graph, "mlp", storage=storage, on_trial=seen.append, **QUICK).n_complete == 4
    assert seen[0].n_done == 1, "another system must not go on from this one's trials"


def test_search_killed_in_its_first_trial_tries_the_default_again(
    optuna: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = tmp_path / "search.db"

    def kill(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Tuning, "train", kill)
        with pytest.raises(KeyboardInterrupt):
            search(graph, "sgf", storage=storage, **QUICK)
    result = search(graph, "sgf", storage=storage, **QUICK)
    assert result.default.setting == make_tuning(graph, "sgf").default
    assert result.n_complete + result.n_pruned == 3


def test_search_gives_up_trials_that_lag_but_not_the_default(
    optuna: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pessimist(optuna.pruners.BasePruner):
        def prune(self, study: Any, trial: Any) -> bool:
            return True

    # The door gives the function of this name.
    module = import_module("graphfilter_research.bench.search")
    monkeypatch.setattr(module, "EPOCHS_BETWEEN_REPORTS", 2)
    monkeypatch.setattr(optuna.pruners, "MedianPruner", lambda **_: Pessimist())
    result = search(graph, "sgf", **QUICK)
    assert (result.n_complete, result.n_pruned) == (1, 3)
    assert result.best == result.default


def test_search_goes_on_after_a_trial_that_fails(
    optuna: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = make_tuning(graph, "sgf").default
    train = Tuning.train

    def fragile(self: Tuning, setting: Any, callback: Any = None) -> Any:
        if setting != default:
            raise RuntimeError("out of memory")
        return train(self, setting, callback)

    monkeypatch.setattr(Tuning, "train", fragile)
    result = search(graph, "sgf", **QUICK)
    assert (result.n_complete, result.n_failed) == (1, 3)


def test_search_refuses_a_storage_that_is_none(optuna: Any, graph: Graph, tmp_path: Path) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text("not a database, and long enough to be taken for none" * 50)
    with pytest.raises(DataFileError, match="cannot be used"):
        search(graph, "sgf", storage=wrong, **QUICK)
    with pytest.raises(DataFileError, match="folder that exists"):
        search(graph, "sgf", storage=tmp_path / "absent" / "search.db", **QUICK)
    with pytest.raises(ConfigError, match="trials must be a whole number from 1"):
        search(graph, "sgf", **dict(QUICK, trials=0))


def test_search_starts_from_the_setting_for_its_dataset(optuna: Any, graph: Graph) -> None:
    """Of the registry's name it is given, whatever the graph is called."""
    system = replace(get_system("mlp"), datasets={"known": {"weight_decay": 0.125}})
    named = graph.replace(name="known")
    settings = [
        search(named, system, dataset=dataset, **dict(QUICK, trials=1)).default.setting
        for dataset in ("", "known")
    ]
    own = system.config.weight_decay
    assert [setting["weight_decay"] for setting in settings] == [own, 0.125]


def parts(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


@pytest.mark.parametrize(
    ("rule", "draw"),
    [
        ("stratified", stratified),
        ("per_class", per_class),
        ("fraction:0.1", lambda labels, seed: fraction(labels, seed, 0.1)),
    ],
)
def test_draw_split_is_the_rules_own_with_the_index_as_seed(rule: str, draw) -> None:
    graph = make_csbm(60)
    for index in (0, 3):
        assert parts(draw_split(graph, rule, index)) == parts(draw(graph.labels, index))


def test_draw_split_counts_fixed_and_public_splits_apart() -> None:
    graph = make_csbm(60)
    own = [
        Split([0], [1], [2], rule="fixed"),
        Split([3], [4], [5], rule="public"),
        Split([6], [7], [8], rule="fixed"),
    ]
    graph = graph.replace(splits=own)
    assert draw_split(graph, "fixed", 1) is own[2]
    assert draw_split(graph, "public", 0) is own[1]
    with pytest.raises(GraphError, match="split number 2; it has 2 fixed"):
        draw_split(graph, "fixed", 2)


def test_split_index_is_the_runs_except_for_the_one_public_split() -> None:
    assert [split_index(rule, 7) for rule in ("stratified", "fixed", "public")] == [7, 7, 0]


def test_split_rule_is_written_one_way_or_refused() -> None:
    assert check_split_rule("fraction:.10") == "fraction:0.1"
    for wrong in ("fraction:1.5", "fraction:x", "fraction:nan"):
        with pytest.raises(ConfigError, match=r"in \(0, 1\)"):
            check_split_rule(wrong)
    with pytest.raises(ConfigError, match="did you mean 'stratified'"):
        check_split_rule("stratifed")


def test_fixed_splits_of_a_dataset_are_its_own(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    graph, _ = GraphLoader()("cora")
    fixed = [split for split in graph.splits if split.rule == "fixed"]
    assert draw_split(graph, "fixed", 9) is fixed[9]
    assert len(draw_split(graph, "public", 0).train) == 140


def test_graph_loader_names_a_graph_as_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    write_npz(make_csbm(40).replace(name="cora"), path)
    graph, checksum = GraphLoader()(dataset_name(path))
    assert graph.name == str(path)
    assert checksum == graph.checksum()


def test_graph_loader_fails_again_without_trying_again(tmp_path: Path) -> None:
    load = GraphLoader()
    path = tmp_path / "later.npz"
    with pytest.raises(DataFileError):
        load(str(path))
    write_npz(make_csbm(40), path)
    with pytest.raises(DataFileError):
        load(str(path))
    assert GraphLoader()(str(path))[0].n_vertices == 40


def test_data_checksum_sees_every_part_of_the_data() -> None:
    graph = make_csbm(40)
    changed = [
        make_csbm(40, seed=1),
        graph.replace(features=np.asarray(graph.features) + 1),
        graph.replace(labels=np.roll(np.asarray(graph.labels), 1)),
        graph.replace(splits=[Split([0], [1], [2])]),
    ]
    checksums = [g.checksum() for g in (graph, *changed)]
    assert len(set(checksums)) == 5
    assert graph.replace(name="other").checksum() == checksums[0]

"""A fit that begins with the weights of an earlier one, on a graph that has grown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import graphfilter as gf
from graphfilter.models import ToldConfig, ToldNetwork
from graphfilter.splits import Split
from graphfilter.systems import Prepared, System, get_system
from graphfilter.systems.networks import Start
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError

N, N_OLD = 240, 180


@pytest.fixture(scope="module")
def graph() -> gf.Graph:
    made = gf.data.make_csbm(n_vertices=N, n_features=6, frequency=0.3, mean_degree=8)
    return made.replace(vertex_names=[f"v{i}" for i in range(N)])


@pytest.fixture(scope="module")
def known(graph: gf.Graph) -> np.ndarray:
    """The vertices of the earlier graph, in another order than those of the later one."""
    return np.random.default_rng(0).permutation(N)[:N_OLD]


def sgf(**changes: Any) -> gf.SGFClassifier:
    return gf.SGFClassifier(**{"n_layers": 4, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def old(graph: gf.Graph, known: np.ndarray) -> gf.SGFClassifier:
    return sgf().fit(graph=graph.subgraph(known))


def test_first_weights_are_those_of_the_earlier_fit(graph, old) -> None:
    new = sgf(max_epochs=1).fit(graph=graph, start_from=old)
    for name, value in old.filter_.named_parameters():
        start = new.history_[name][0]
        assert start.tolist() == value.detach().double().ravel().tolist()
    fresh = sgf(max_epochs=1).fit(graph=graph)
    assert fresh.history_["alpha"][0].tolist() != new.history_["alpha"][0].tolist()
    assert new.scaler_ is old.scaler_
    assert new.notes_ == ("1 of 1 network started from the earlier weights.",)


def test_started_fit_needs_fewer_epochs_for_the_same_accuracy(graph, old, known) -> None:
    split = old.split_
    new = np.setdiff1d(np.arange(N), known)
    parts = known[split.train], known[split.val], new
    fresh = sgf().fit(graph=graph, split=Split(*parts))
    started = sgf().fit(graph=graph, split=Split(*parts), start_from=old)
    assert started.n_epochs_ < fresh.n_epochs_ / 2
    truth = graph.labels[new]
    right = [(clf.predict()[new] == truth).mean() for clf in (fresh, started)]
    assert right[1] >= right[0] - 0.05


def test_known_vertices_keep_their_part_and_the_others_are_divided(graph, old, known) -> None:
    split = sgf(max_epochs=1).fit(graph=graph, start_from=old).split_
    before = dict(zip(known.tolist(), old.split_.part_of(N_OLD), strict=True))
    now = split.part_of(N)
    assert all(now[vertex] == part for vertex, part in before.items())
    new = now[np.setdiff1d(np.arange(N), known)]
    assert set(new) == {"train", "val"}
    assert (new == "val").mean() == pytest.approx(old.validation_fraction, abs=0.05)


def test_split_that_judges_by_trained_vertices_is_refused(graph, old, known) -> None:
    split = Split(np.arange(100, N), np.arange(50, 100), np.arange(50))
    with pytest.raises(ConfigError, match="trained or validated on would be"):
        sgf().fit(graph=graph, split=split, start_from=old)


def test_resumed_fit_ends_with_the_same_bits(graph, old, tmp_path: Path) -> None:
    whole = sgf(max_epochs=12).fit(graph=graph, start_from=old)
    file = tmp_path / "checkpoint.safetensors"

    def stop(progress: Any) -> None:
        if progress.epoch == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sgf(max_epochs=12).fit(
            graph=graph, start_from=old, callback=Callback(stop, checkpoint=file)
        )
    resumed = sgf(max_epochs=12).fit(
        graph=graph, start_from=old, callback=Callback(checkpoint=file, resume=True)
    )
    assert (resumed.predict_proba() == whole.predict_proba()).all()
    with pytest.raises(gf.GraphFilterError, match="a checkpoint of another run"):
        sgf(max_epochs=12).fit(graph=graph, callback=Callback(checkpoint=file, resume=True))


def test_columns_that_are_vertices_go_with_their_vertices(graph, known) -> None:
    """The rows of known vertices are found by id; those of new ones are drawn."""
    system = next(m for m in get_system("committee").members if m.name == "filtered-links")  # pyright: ignore
    earlier, now = (Prepared.of(g) for g in (graph.subgraph(known), graph))
    builds = [
        system.build(p.seen_as(system.view).graph, seed) for p, seed in ((earlier, 1), (now, 2))
    ]
    drawn = {name: value.clone() for name, value in builds[1].state_dict().items()}
    start = Start([(system, builds[0])], known)
    assert start.begin(now, system, [builds[1]]) == 1
    before, after = (build.state_dict() for build in builds)
    (reads,) = [name for name, value in before.items() if value.shape[0] == 6 + N_OLD]
    new = 6 + np.setdiff1d(np.arange(N), known)
    assert torch.equal(after[reads][:6], before[reads][:6])
    assert torch.equal(after[reads][6 + known], before[reads][6:])
    assert torch.equal(after[reads][new], drawn[reads][new])
    for name in before.keys() - {reads}:
        assert torch.equal(after[name], before[name])
    assert Start([(system, builds[0])]).begin(now, system, [builds[1]]) == 0


def test_directions_are_more_columns_per_vertex(graph, known) -> None:
    directed = gf.Graph.from_edges(graph.edges, features=graph.features, directed=True)
    system = next(m for m in get_system("committee").members if m.name == "filtered-links")  # pyright: ignore
    earlier, now = (Prepared.of(g) for g in (directed.subgraph(known), directed))
    old, new = (system.build(p.seen_as(system.view).graph, 0) for p in (earlier, now))
    assert Start([(system, old)], known).begin(now, system, [new]) == 1
    (reads,) = [n for n, value in old.state_dict().items() if value.shape[0] == 6 + 2 * N_OLD]
    after, before = new.state_dict()[reads], old.state_dict()[reads]
    assert torch.equal(after[6 + N + known], before[6 + N_OLD :])


def test_committee_begins_with_its_networks_and_fits_the_others_anew(graph, known) -> None:
    def committee() -> gf.GraphClassifier:
        return gf.GraphClassifier(effort="low", max_epochs=20, random_state=0)

    old = committee().fit(graph=graph.subgraph(known))
    new = committee().fit(graph=graph, start_from=old)
    assert any("started from the earlier weights" in note for note in new.notes_)
    assert new.predict_proba().shape == (N, 2)


def test_numbers_are_learned_on_the_scale_of_the_earlier_fit(graph, known) -> None:
    y = np.exp(np.asarray(graph.features)[:, 0])
    old = gf.SGFRegressor(n_layers=2, max_epochs=10, scale="log", random_state=0)
    old.fit(None, y[known], graph=graph.subgraph(known))
    new = gf.SGFRegressor(n_layers=2, max_epochs=3, scale="log", random_state=0)
    new.fit(None, y, graph=graph, start_from=old)
    assert new.target_scales_ == old.target_scales_


def test_what_cannot_be_started_from_is_refused(graph, old, known, tmp_path: Path) -> None:
    def refused(words: str, estimator: Any = None, target: Any = None, **arguments: Any) -> None:
        fitted = {"graph": graph, "start_from": old, **arguments}
        with pytest.raises(ConfigError, match=words) as caught:
            (estimator or sgf()).fit(None, target, **fitted)
        assert "\n" not in str(caught.value)

    refused("of the model to be fitted", sgf(n_layers=5))
    refused("it is SGFClassifier of SGF", gf.GraphClassifier(effort="low", random_state=0))
    narrow = graph.replace(features=np.asarray(graph.features)[:, :5])
    refused("on the 5 features given; it was on 6", graph=narrow)
    refused("it predicts '0', '1'", target=np.where(graph.labels == 0, "no", "yes"))
    refused("must be a fitted estimator; got str", start_from="run")
    old.save(tmp_path / "model")
    refused("pass split=", start_from=gf.SGFClassifier.load(tmp_path / "model"))
    with pytest.raises(ConfigError, match="bound graph"):
        sgf(graph=graph).fit([0, 1], [0, 1], start_from=old)


def test_other_names_of_columns_are_refused(graph) -> None:
    frame = pd.DataFrame(np.asarray(graph.features), columns=list("abcdef"))
    old = sgf(max_epochs=2).fit(frame, graph.labels, graph=graph.edges)
    new = frame.rename(columns={"b": "z"})
    with pytest.raises(ConfigError, match="'b' is missing"):
        sgf(max_epochs=2).fit(new, graph.labels, graph=graph.edges, start_from=old)
    with pytest.raises(ConfigError, match="in another order"):
        sgf(max_epochs=2).fit(
            frame[list("fedcba")], graph.labels, graph=graph.edges, start_from=old
        )


def test_further_seeds_begin_with_the_networks_after_the_first(graph: gf.Graph) -> None:
    system, other = get_system("sgf"), get_system("gpr-gnn")
    networks = [system.build(graph, seed) for seed in range(3)]
    start = Start([(other, other.build(graph, 0)), *((system, network) for network in networks)])
    assert start.after(system, 2).of(system) == networks[2:]
    assert len(start.after(system, 2).of(other)) == 1


def test_network_that_starts_from_another_keeps_what_it_was_told_itself(graph: gf.Graph) -> None:
    system = System("told", "told", ToldConfig(n_layers=2, hidden_size=4))
    old, new = (system.build(graph, seed) for seed in (0, 1))
    assert isinstance(old, ToldNetwork)
    assert isinstance(new, ToldNetwork)
    one_hot = torch.nn.functional.one_hot(torch.tensor(graph.labels), 2)
    old.tell(one_hot, torch.arange(0, 100))
    new.tell(one_hot, torch.arange(50, 200))
    told = new.told.clone()
    assert Start([(system, old)]).begin(Prepared.of(graph), system, [new]) == 1
    assert torch.equal(new.told, told)
    assert torch.equal(new.of_labels, old.of_labels)

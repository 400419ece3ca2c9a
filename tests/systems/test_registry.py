from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from graphfilter.data import describe
from graphfilter.data.makers import make_csbm
from graphfilter.data.npz import read_npz
from graphfilter.filters import Config, HorizontalFilter, PageRankFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import OPERATORS
from graphfilter.splits import stratified
from graphfilter.systems import SYSTEMS, System, get_system
from graphfilter.util.errors import ConfigError

NAMES = [
    "mlp",
    "sgc",
    "appnp",
    "appnp-0.2",
    "appnp-0.8",
    "ppnp",
    "gpr-gnn",
    "sgf",
    "sgf-channels",
    "sgf-laplacian",
    "sgf-horizontal",
    "sgf-cheby",
    "sgf-cheby-1.5",
    "sgf-every-layer",
    "sgf-random",
    "gcn",
    "gat",
    "gcnii",
    "gcnii-authors",
    "jknet-dropedge",
    "mixhop",
    "arma",
    "chebnet",
    "linkx",
    "ap-gcn",
    "lanczosnet",
    "graphsaint",
    "hop-mlp",
    "nlgnn",
    "geom-gcn",
    "label-propagation",
    "committee",
    "committee-high",
    "committee-low",
    "gcnii-loss",
    "gcnii-star",
    "gcn-authors",
    "gat-authors",
    "gcn-pei",
    "gcn-pei-directed",
    "gat-pei",
    "geom-gcn-p",
    "geom-gcn-s",
    "gpr-gnn-authors",
    "nlmlp",
    "sgf-authors",
    "sgf-horizontal-authors",
    "sgf-cheby-authors",
    "sgf-cheby-authors-1.5",
    "graphsage",
    "fastgcn",
    "gfnn",
    "glp",
    "gcn-blocks",
    "sage-blocks",
    "gat-blocks",
    "gat-sep",
    "gcn-tuned",
    "sage-tuned",
    "gat-tuned",
    "fsgnn",
    "acm-gcn",
    "glognn",
    "trees",
    "correct-and-smooth",
    "only-features",
    "only-filter",
    "only-channels",
    "only-smooth",
    "only-filtered-links",
    "only-alike",
    "only-places",
    "only-deep",
    "only-told",
    "only-hops",
    "only-mixed",
    "only-trees",
]


def settings(name: str) -> dict[str, object]:
    return get_system(name).settings()


def test_systems_are_all_there() -> None:
    assert sorted(SYSTEMS) == sorted(NAMES)


def test_systems_state_their_source_and_setting() -> None:
    for name, system in SYSTEMS.items():
        assert system.name == name
        assert system.operator in OPERATORS
        assert system.setting in ("paper", "authors", "adapted", "own")
        assert system.trained == (system.predict is None)
        assert system.reference or name == "mlp" or system.setting == "own"
    assert len({system.title for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_unknown_system_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gcnii'"):
        get_system("gcn2i")


def test_papers_settings_are_the_papers() -> None:
    """The appendix, 'Other methods'."""
    for name, alpha in (("appnp-0.2", 0.2), ("appnp-0.8", 0.8)):
        found = settings(name)
        assert (found["K"], found["alpha"], found["dropout"]) == (2, alpha, 0.7)
        assert (found["learning_rate"], found["weight_decay"]) == (0.02, 5e-4)
    found = settings("sgc")
    assert (found["k"], found["dropout"]) == (2, 0.7)
    assert (found["learning_rate"], found["weight_decay"]) == (0.01, 5e-4)
    found = settings("gcnii")
    assert (found["alpha"], found["theta"], found["n_layers"]) == (0.5, 0.5, 64)


def test_gpr_gnn_starts_as_appnp() -> None:
    network = get_system("gpr-gnn").build(make_csbm(20, mean_degree=3, n_features=4), 0)
    assert isinstance(network, FilterNetwork)
    assert isinstance(network.filter, HorizontalFilter)
    torch.testing.assert_close(network.filter.coefficients(), PageRankFilter(10, 0.1).weights())


def test_gcnii_authors_follow_the_dataset() -> None:
    system = get_system("gcnii-authors")
    found = system.for_dataset("texas").settings()
    assert (found["n_layers"], found["theta"], found["weight_decay"]) == (32, 1.5, 1e-4)
    assert system.for_dataset("wisconsin").config.weight_decay == 5e-4
    assert system.for_dataset("texas").name == system.name


def test_settings_are_not_looked_up_by_the_name_of_a_graph() -> None:
    """A user's file that happens to be called texas.csv is not Texas."""
    graph = make_csbm(20, mean_degree=3, n_features=4).replace(name="texas")
    network = get_system("gcnii-authors").build(graph, 0)
    assert network.config == get_system("gcnii-authors").model


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_what_authors_change_is_for_registered_datasets(system: System) -> None:
    for name in system.datasets:
        assert describe(name).name == name


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_settings_have_one_name_each(system: System) -> None:
    """Training config, model and filter share no name, so that with_ is never ambiguous."""
    if system.model is None:
        return
    names = [f.name for f in fields(system.config)]
    configs: list[Config] = [system.model]
    while configs:
        config = configs.pop()
        for f in fields(config):
            value = getattr(config, f.name)
            if isinstance(value, Config):
                configs.append(value)
            else:
                names.append(f.name)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_network_carries_the_config_it_was_built_from(system: System) -> None:
    if system.model is None:
        return
    graph = make_csbm(20, mean_degree=3, n_features=4)
    assert system.build(graph, 0).config == system.model
    assert hash(system.model) == hash(replace(system.model))


def test_label_propagation_beats_chance_on_cora(data_folder: Path) -> None:
    graph = read_npz(data_folder / "cora.npz")
    split = stratified(graph.labels, 0)
    predict = get_system("label-propagation").predict
    assert predict is not None
    right = predict(graph, split).argmax(axis=1) == graph.labels
    assert right[split.test].mean() > 0.8

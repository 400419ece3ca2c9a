from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphfilter.data.readers import read_npz
from graphfilter.data.synthetic import make_csbm
from graphfilter.errors import ConfigError
from graphfilter.filters import HorizontalFilter, PageRankFilter
from graphfilter.models import GCNII, FilterNetwork
from graphfilter.operators import OPERATORS
from graphfilter.splits import stratified
from graphfilter.systems import SYSTEMS, get_system

NAMES = [
    "mlp",
    "sgc",
    "appnp",
    "appnp-0.2",
    "appnp-0.8",
    "ppnp",
    "gpr-gnn",
    "sgf",
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
    "nlgnn",
    "geom-gcn",
    "label-propagation",
]


def build(name: str, graph_name: str = "graph") -> torch.nn.Module:
    graph = make_csbm(20, mean_degree=3, n_features=4).replace(name=graph_name)
    make = get_system(name).build
    assert make is not None
    return make(graph, torch.Generator().manual_seed(0))


def test_systems_are_all_there() -> None:
    assert sorted(SYSTEMS) == sorted(NAMES)


def test_systems_state_their_source_and_setting() -> None:
    for name, system in SYSTEMS.items():
        assert system.name == name
        assert system.operator in OPERATORS
        assert system.setting in ("paper", "authors", "adapted")
        assert (system.build is None) != (system.predict is None)
        assert system.reference or name == "mlp"
    assert len({system.title for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_unknown_system_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gcnii'"):
        get_system("gcn2i")


def test_papers_settings_are_the_papers() -> None:
    """The appendix, 'Other methods'."""
    for name, alpha in (("appnp-0.2", 0.2), ("appnp-0.8", 0.8)):
        network = build(name)
        assert isinstance(network, FilterNetwork)
        assert isinstance(network.filter, PageRankFilter)
        assert (network.filter.degree, network.filter.alpha) == (2, alpha)
        assert network.dropout == 0.7
        config = get_system(name).config
        assert (config.learning_rate, config.weight_decay) == (0.02, 5e-4)
    network, config = build("sgc"), get_system("sgc").config
    assert isinstance(network, FilterNetwork)
    assert (network.filter.degree, network.dropout) == (2, 0.7)
    assert (config.learning_rate, config.weight_decay) == (0.01, 5e-4)
    gcnii = build("gcnii")
    assert isinstance(gcnii, GCNII)
    assert (gcnii.alpha, gcnii.theta, len(gcnii.weights)) == (0.5, 0.5, 64)


def test_gpr_gnn_starts_as_appnp() -> None:
    network = build("gpr-gnn")
    assert isinstance(network, FilterNetwork)
    assert isinstance(network.filter, HorizontalFilter)
    torch.testing.assert_close(network.filter.coefficients(), PageRankFilter(10, 0.1).weights())


def test_gcnii_authors_follow_the_dataset() -> None:
    system = get_system("gcnii-authors")
    network = build("gcnii-authors", "texas")
    assert isinstance(network, GCNII)
    assert (len(network.weights), network.theta) == (32, 1.5)
    graph = make_csbm(20, mean_degree=3, n_features=4)
    assert system.config_for(graph.replace(name="wisconsin")).weight_decay == 5e-4
    assert system.config_for(graph) == system.config


def test_gcnii_authors_names_are_datasets(data_folder: Path) -> None:
    for name in get_system("gcnii-authors").configs:
        assert (data_folder / f"{name}.npz").is_file()


def test_label_propagation_beats_chance_on_cora(data_folder: Path) -> None:
    graph = read_npz(data_folder / "cora.npz")
    split = stratified(graph.labels, 0)
    predict = get_system("label-propagation").predict
    assert predict is not None
    right = predict(graph, split).argmax(axis=1) == graph.labels
    assert right[split.test].mean() > 0.8

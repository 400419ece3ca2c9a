"""ChannelNetwork: a filter and a head for each channel, against the sum in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphfilter.data.graph import Graph
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.filters import StackedFilter, StackedFilterConfig
from graphfilter.models import ChannelNetwork, ChannelNetworkConfig, FilterNetwork
from graphfilter.operators import Operator, co_citation, coupling, make_operator
from graphfilter.operators.kinds import Channels, channel_names
from graphfilter.splits import Split
from graphfilter.util.errors import ConfigError, GraphError

ARCS = [[0, 1], [1, 2], [2, 1], [3, 0], [4, 2]]
KINDS = ["call", "mail", "mail", "call", "mail"]
CONFIG = ChannelNetworkConfig(filter=StackedFilterConfig(3, "uniform"), hidden_size=5)


def graph(**options) -> Graph:
    rng = np.random.default_rng(0)
    return Graph.from_edges(ARCS, 6, features=rng.normal(size=(6, 4)), labels=[0, 1, 0, 1, 2, 2],
                            **options)  # fmt: skip


def build(g: Graph, seed: int = 0) -> ChannelNetwork:
    return CONFIG.build(g, torch.Generator().manual_seed(seed)).eval()


def columns(g: Graph) -> torch.Tensor:
    return torch.tensor(g.features).float()


def test_channel_names_are_kinds_and_directions():
    assert channel_names(graph()) == ("edges",)
    assert channel_names(graph(kinds=KINDS)) == ("call", "mail")
    assert len(channel_names(graph(directed=True))) == 3
    assert channel_names(graph(kinds=KINDS, directed=True))[:2] == ("call", "mail")


def test_channels_are_the_operators_of_their_edges():
    typed = graph(kinds=KINDS, directed=True)
    operator = make_operator("channels", typed, dtype=torch.float64)
    assert isinstance(operator, Channels)
    mail = Graph.from_edges([ARCS[i] for i in (1, 2, 4)], 6)
    expected = [
        make_operator("augmented_adjacency", Graph.from_edges([ARCS[0], ARCS[3]], 6)),
        make_operator("augmented_adjacency", mail),
        coupling(typed),
        co_citation(typed),
    ]
    for part, alone in zip(operator.parts.values(), expected, strict=True):
        np.testing.assert_allclose(part.matrix.toarray(), alone.matrix.toarray(), atol=1e-12)
    whole = make_operator("augmented_adjacency", Graph.from_edges(ARCS, 6))
    np.testing.assert_array_equal(operator.matrix.toarray(), whole.matrix.toarray())
    assert operator.to(dtype=torch.float32).parts.keys() == operator.parts.keys()


def test_network_equals_its_closed_form():
    g = graph(kinds=KINDS, directed=True)
    network, operator = build(g), make_operator("channels", g)
    x = columns(g)
    hidden = torch.relu(x @ network.encoder.weight + network.encoder.bias).double()
    total = network.head.bias.double().expand(6, -1).clone()
    weights = network.head.weight.chunk(len(network.channels))
    assert isinstance(operator, Channels)
    for name, weight in zip(network.channels, weights, strict=True):
        lam, vectors = torch.linalg.eigh(torch.from_numpy(operator.part(name).matrix.toarray()))
        response = network.learned_filters()[name].response(lam)
        total += vectors @ (response[:, None] * (vectors.T @ hidden)) @ weight.double()
    torch.testing.assert_close(network(operator, x).double(), total, rtol=1e-5, atol=1e-5)


def test_terms_add_up_to_the_network():
    g = graph(kinds=KINDS, directed=True)
    network, operator = build(g), make_operator("channels", g)
    logits = [term(part, columns(g)) for term, part in network.terms(operator)]
    total = torch.stack(logits).sum(0)
    torch.testing.assert_close(total, network(operator, columns(g)), rtol=1e-5, atol=1e-5)


def test_network_of_one_channel_is_a_filter_network():
    g = graph()
    network, operator = build(g), make_operator("channels", g)
    plain = FilterNetwork(4, 3, StackedFilter(3, "uniform"), hidden_size=5).eval()
    plain.load_state_dict(
        {k.replace("filters.0.", "filter."): v for k, v in network.state_dict().items()}
    )
    torch.testing.assert_close(network(operator, columns(g)), plain(operator, columns(g)))


def test_networks_side_by_side_give_what_each_gives_alone():
    g = graph(directed=True)
    networks, operator = [build(g, seed) for seed in range(3)], make_operator("channels", g)
    together = ChannelNetwork.forward_side_by_side(networks, operator, columns(g), [None] * 3)
    for r, network in enumerate(networks):
        torch.testing.assert_close(together[:, r], network(operator, columns(g)))


def test_contributions_add_up_to_one_and_a_silent_channel_adds_nothing():
    g = graph(kinds=KINDS)
    network, operator = build(g), make_operator("channels", g)
    with torch.no_grad():
        network.head.weight[5:] = 0
    shares = network.contributions(operator, columns(g))
    assert shares == {"call": 1.0, "mail": 0.0}


def test_contributions_are_of_the_squares_that_channels_add():
    """Where one channel adds twice what the other adds, four fifths are its."""
    g = graph(kinds=KINDS)
    network, operator = build(g), make_operator("channels", g)
    parts = [term(of, columns(g)).detach() for term, of in network.terms(operator)]
    bias = network.head.bias.detach()
    energies = [float((part - bias * (k == 0)).square().sum()) for k, part in enumerate(parts)]
    with torch.no_grad():
        network.head.weight[5:] *= 2 * (energies[0] / energies[1]) ** 0.5
    shares = network.contributions(operator, columns(g))
    assert shares == pytest.approx({"call": 0.2, "mail": 0.8}, abs=1e-5)


def test_kind_that_a_new_graph_lacks_has_no_edge_there():
    network = build(graph(kinds=KINDS))
    only_mail = Graph.from_edges([ARCS[i] for i in (1, 2, 4)], 6, kinds=["mail"] * 3)
    operator = make_operator("channels", only_mail)
    assert isinstance(operator, Channels)
    assert np.array_equal(operator.part("call").matrix.toarray(), np.eye(6))
    assert network(operator, columns(graph())).isfinite().all()


def test_network_refuses_kinds_it_was_not_fitted_on_and_other_operators():
    network = build(graph(kinds=KINDS))
    other = make_operator("channels", graph(kinds=["fax", *KINDS[1:]]))
    with pytest.raises(GraphError, match=r"types that the network was fitted on .*'fax'"):
        network(other, columns(graph()))
    with pytest.raises(GraphError, match="this graph has no edge types"):
        network(make_operator("channels", graph()), columns(graph()))
    with pytest.raises(GraphError, match="must be directed"):
        build(graph(directed=True))(make_operator("channels", graph()), columns(graph()))
    plain: Operator = make_operator("adjacency", graph())
    with pytest.raises(ConfigError, match="operator 'channels'; got 'adjacency'"):
        network(plain, columns(graph()))


@pytest.mark.parametrize("options", [{"kinds": KINDS}, {"directed": True}, {}], ids=str)
def test_saved_classifier_of_channels_predicts_the_same(tmp_path, options):
    g = graph(**options)
    fitted = SGFClassifier(operator="channels", max_epochs=3, random_state=0, device="cpu")
    fitted.fit(graph=g, split=Split([0, 1, 2, 4], [3], [5]))
    fitted.save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(graph=g), fitted.predict_proba())
    explanation = fitted.explain(0)
    assert explanation.exact_share == 1
    probabilities = fitted.predict_proba()[0]
    names = [str(c) for c in fitted.classes_]
    pair = [names.index(c) for c in (explanation.predicted, explanation.against)]
    odds = np.log(probabilities[pair[0]] / probabilities[pair[1]])
    assert explanation.score == pytest.approx(odds, abs=1e-5)
    assert fitted.transform().shape == (6, 64 * len(channel_names(g)))


def test_channels_take_dropout_on_the_linear_layers_alone():
    with pytest.raises(ConfigError, match="dropout_on must be 'linear'"):
        SGFClassifier(operator="channels", dropout_on="every_layer").build_system()

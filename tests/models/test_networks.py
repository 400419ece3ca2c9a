"""Networks beside the plain filter network: channels, norms, label inputs, mixtures and hops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.graph import SGFClassifier
from graphfilter.filters import StackedFilter, StackedFilterConfig
from graphfilter.models import (
    ChannelNetwork,
    ChannelNetworkConfig,
    FilterNetwork,
    HopNetwork,
    HopNetworkConfig,
    Linear,
    MixedConfig,
    MixedNetwork,
    ModelConfig,
    NormedConfig,
    NormedNetwork,
    ToldConfig,
    ToldHops,
    ToldHopsConfig,
    ToldNetwork,
    WeightedHops,
    WeightedHopsConfig,
    hops as hop_network,
)
from graphfilter.models.deep import ALL_HIDDEN, HIDDEN, MOMENTUM, _NormedLayer
from graphfilter.operators import (
    Operator,
    SparseFeatures,
    adjacency,
    augmented_adjacency,
    co_citation,
    coupling,
    laplacian,
    make_operator,
    to_tensor,
)
from graphfilter.operators.operator import Channels, channel_names
from graphfilter.operators.polynomial import stack_powers
from graphfilter.splits import Split
from graphfilter.systems import Prepared, System, train_system
from graphfilter.training import MULTILABEL, REGRESSION, Task, TrainConfig
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


def test_network_of_one_channel_is_a_filter_network():
    g = graph()
    network, operator = build(g), make_operator("channels", g)
    plain = FilterNetwork(4, 3, StackedFilter(3, "uniform"), hidden_size=5).eval()
    plain.load_state_dict(
        {k.replace("filters.0.", "filter."): v for k, v in network.state_dict().items()}
    )
    torch.testing.assert_close(network(operator, columns(g)), plain(operator, columns(g)))


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
    hidden = network.embed(operator, columns(g)).detach().chunk(2, dim=1)
    heads = network.head.weight.detach().chunk(2)
    energies = [float((h @ w).square().sum()) for h, w in zip(hidden, heads, strict=True)]
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
    assert fitted.explain(0).score == pytest.approx(fitted.predict_proba()[0].max())
    assert fitted.transform().shape == (6, 64 * len(channel_names(g)))


def test_channels_take_dropout_on_the_linear_layers_alone():
    with pytest.raises(ConfigError, match="dropout_on must be 'linear'"):
        SGFClassifier(operator="channels", dropout_on="every_layer").build_system()


GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=0.6, seed=0)
X = torch.tensor(GRAPH.features)


def make_normed(seed: int = 0, dropout: float = 0.0) -> NormedNetwork:
    config = NormedConfig(n_layers=2, hidden_size=3, dropout=dropout)
    return NormedNetwork(5, 2, config, generator=torch.Generator().manual_seed(seed))


def normed_logits(model: NormedNetwork, norms: list[nn.BatchNorm1d]) -> torch.Tensor:
    """Return the logits by torch's own batch norm."""
    dense = augmented_adjacency(GRAPH) @ torch.eye(30)
    hidden = torch.relu(model.encoder(X))
    for layer, norm in enumerate(norms):
        made = torch.cat([hidden, dense @ hidden], dim=1) @ model.weights[layer]
        hidden = torch.relu(model.gains[layer] * norm(made) + model.shifts[layer])
    return model.head(hidden)


def test_normed_network_is_its_equation_in_training_and_after_it() -> None:
    model, operator = make_normed().train(), augmented_adjacency(GRAPH)
    norms = [nn.BatchNorm1d(3, momentum=MOMENTUM, affine=False) for _ in range(2)]
    with torch.no_grad():
        model.gains.copy_(torch.tensor([[1.0, 2.0, 0.5], [0.7, 1.0, 3.0]]))
        model.shifts.copy_(torch.tensor([[0.1, -0.2, 0.3], [0.0, 0.5, -0.5]]))
        for _ in range(3):
            torch.testing.assert_close(
                model(operator, X), normed_logits(model, norms), rtol=1e-4, atol=1e-5
            )
        for layer, norm in enumerate(norms):
            torch.testing.assert_close(model.mean[layer], norm.running_mean)
            torch.testing.assert_close(model.variance[layer], norm.running_var)
        model.eval()
        made = normed_logits(model, [norm.eval() for norm in norms])
        torch.testing.assert_close(model(operator, X), made, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropped", [False, True])
def test_gradient_of_a_normed_layer_is_that_of_its_equation(dropped: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, gains, shifts = (
        torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()
        for shape in [(7, 2, 3), (2, 3), (2, 3)]
    )
    kept = torch.rand(7, 2, 3, generator=generator) < 0.5 if dropped else None
    assert torch.autograd.gradcheck(
        lambda *given: _NormedLayer.apply(*given, kept)[0], (x, gains, shifts)
    )


def test_predictions_do_not_change_the_running_averages() -> None:
    model = make_normed().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model(augmented_adjacency(GRAPH), X)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("config", "most", "reason"),
    [
        (MixedConfig(), 1000, "it helps on small graphs, of up to 1,000 vertices"),
        (WeightedHopsConfig(), 1000, "it helps on small graphs, of up to 1,000 vertices"),
        (NormedConfig(), 600, "601 vertices are too many for a deep network"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_network_is_left_out_where_vertices_are_many(
    config: ModelConfig, most: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough, many = (
        make_csbm(n, mean_degree=4, n_features=2, frequency=1.0, seed=0) for n in (most, most + 1)
    )
    assert config.skip_reason(enough, 100) is None
    if isinstance(config, NormedConfig):
        monkeypatch.setattr("graphfilter.models.base.MOST_HELD", 10)
    assert config.skip_reason(many, 100) == reason


def test_normed_network_is_left_out_where_vertices_are_few() -> None:
    few = make_csbm(499, mean_degree=4, n_features=2, frequency=1.0, seed=0)
    assert NormedConfig().skip_reason(few, 20) == "it needs at least 500 vertices"


OPERATOR = augmented_adjacency(GRAPH)
assert GRAPH.labels is not None
ONE_HOT = torch.nn.functional.one_hot(torch.tensor(GRAPH.labels), 2).float()
ROWS = torch.arange(0, 30, 3)


def make_told(seed: int = 0, dropout: float = 0.0, n_layers: int = 2) -> ToldNetwork:
    config = ToldConfig(n_layers=n_layers, hidden_size=3, dropout=dropout)
    return ToldNetwork(5, 2, config, generator=torch.Generator().manual_seed(seed))


def told(rows: Tensor = ROWS, targets: Tensor = ONE_HOT, **options: int) -> ToldNetwork:
    network = make_told(**options).eval()
    network.tell(targets, rows)
    return network


def test_told_network_is_a_normed_one_with_known_labels_among_its_columns() -> None:
    network = told()
    known = torch.zeros(30, 3)
    known[ROWS, :2], known[ROWS, 2] = ONE_HOT[ROWS], 1.0
    torch.testing.assert_close(network.told[:, :-1].float(), known)
    added = (known @ network.of_labels)[:, None]
    layers = NormedNetwork.forward_side_by_side.__func__
    expected = layers(ToldNetwork, [network], OPERATOR, X, [None], added)
    made = ToldNetwork.forward_side_by_side([network], OPERATOR, X, [None])
    torch.testing.assert_close(made, expected)
    others = np.setdiff1d(np.arange(30), ROWS)
    torch.testing.assert_close(network(OPERATOR, X)[others], expected[others, 0])


def test_told_network_without_labels_is_a_normed_one() -> None:
    network = make_told().eval()
    plain = NormedNetwork.forward_side_by_side.__func__(ToldNetwork, [network], OPERATOR, X, [None])
    torch.testing.assert_close(network(OPERATOR, X), plain[:, 0], rtol=0, atol=0)
    logits, weight = ToldNetwork.training_side_by_side([network], OPERATOR, X, [None])
    assert weight is None
    torch.testing.assert_close(logits, plain, rtol=0, atol=0)


@pytest.mark.parametrize("vertex", [0, 3, 27])
def test_the_answer_for_a_vertex_does_not_depend_on_its_own_label(vertex: int) -> None:
    other = ONE_HOT.clone()
    other[vertex] = 1 - other[vertex]
    first, second = (told(targets=targets)(OPERATOR, X) for targets in (ONE_HOT, other))
    torch.testing.assert_close(first[vertex], second[vertex], rtol=0, atol=0)
    neighbours = GRAPH.indices[GRAPH.indptr[vertex] : GRAPH.indptr[vertex + 1]]
    assert not torch.equal(first[neighbours], second[neighbours])


def test_hidden_labels_are_not_seen_and_only_they_are_learned_from() -> None:
    generator = torch.Generator()
    network = told(torch.arange(30)).train()
    seen = {0: 0, 1: 0}
    for seed in range(40):
        logits, weight = network.training_side_by_side(
            [network], OPERATOR, X, [generator.manual_seed(seed)]
        )
        assert weight is not None
        hidden = weight[:, 0] > 0
        swapped = torch.where(hidden[:, None], 1 - ONE_HOT, ONE_HOT)
        other = told(torch.arange(30), swapped).train()
        again, _ = other.training_side_by_side([other], OPERATOR, X, [generator.manual_seed(seed)])
        torch.testing.assert_close(again, logits, rtol=0, atol=0)
        share = 1.0 if hidden.all() else HIDDEN
        torch.testing.assert_close(weight[hidden], torch.full((int(hidden.sum()), 1), 1 / share))
        seen[int(hidden.all())] += 1
    assert 40 * ALL_HIDDEN / 2 < seen[1] < 40 * ALL_HIDDEN * 2


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_told_runs_side_by_side_are_those_alone(dropout: float) -> None:
    together, alone = ([make_told(s, dropout).train() for s in (0, 1)] for _ in range(2))
    for models in (together, alone):
        for run, model in enumerate(models):
            model.tell(ONE_HOT, ROWS + run)
    generators = [torch.Generator().manual_seed(s) for s in (5, 6)]
    made, weights = ToldNetwork.training_side_by_side(together, OPERATOR, X, generators)
    assert weights is not None
    for run, model in enumerate(alone):
        own, weight = ToldNetwork.training_side_by_side(
            [model], OPERATOR, X, [torch.Generator().manual_seed(5 + run)]
        )
        assert weight is not None
        torch.testing.assert_close(made[:, run], own[:, 0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(weights[:, run], weight[:, 0])


def test_on_another_graph_it_knows_those_that_it_recognises() -> None:
    network = told()
    numbers = np.array([3, -1, 0, 1])
    there = network.recognising(numbers)
    expected = torch.stack([network.told[3], torch.zeros(4).half(), *network.told[:2]])
    torch.testing.assert_close(there.told, expected)
    nothing = network.recognising(np.zeros(0, dtype=np.int64))
    untold = make_told().eval()
    torch.testing.assert_close(nothing(OPERATOR, X), untold(OPERATOR, X), rtol=0, atol=0)
    assert len(network.told) == 30
    with pytest.raises(GraphError, match="told the labels of 4 vertices, and the graph has 30"):
        there(OPERATOR, X)


def test_answers_do_not_depend_on_the_order_of_the_vertices() -> None:
    network, order = told(), np.random.default_rng(0).permutation(30)
    moved = GRAPH.subgraph(order)
    there = network.recognising(order)(augmented_adjacency(moved), torch.tensor(moved.features))
    torch.testing.assert_close(there, network(OPERATOR, X)[order], rtol=1e-4, atol=1e-5)


def test_what_it_was_told_is_part_of_its_state() -> None:
    network, fresh = told(), make_told(seed=1).eval()
    fresh.load_state_dict(network.state_dict())
    torch.testing.assert_close(fresh(OPERATOR, X), network(OPERATOR, X), rtol=0, atol=0)
    wrong = network.state_dict() | {"told": torch.zeros(30, 5)}
    with pytest.raises(RuntimeError, match="size mismatch"):
        fresh.load_state_dict(wrong)


def ring(n: int = 600) -> Graph:
    """A ring of long runs of one class, whose features say nothing."""
    rng = np.random.default_rng(0)
    edges = [(v, (v + 1) % n) for v in range(n)]
    labels = np.arange(n) // 20 % 2
    return Graph.from_edges(edges, features=rng.normal(size=(n, 3)), labels=labels)


def told_system() -> System:
    config = TrainConfig(max_epochs=60, learning_rate=0.01, weight_decay=0.0)
    return System("told", "told", ToldConfig(n_layers=3), config=config)


def test_told_network_learns_from_the_labels_of_neighbours() -> None:
    graph = ring()
    parts = np.split(np.random.default_rng(1).permutation(600), [400, 500])
    split = Split(*parts, rule="drawn")
    (outcome,) = train_system(Prepared.of(graph), told_system(), [split], [0])
    assert graph.labels is not None
    right = outcome.probabilities.argmax(1) == graph.labels
    assert right[split.test].mean() > 0.9
    # Those it was told of are answered for without their own label.
    assert 0.8 < right[split.train].mean() < 1.0
    network = outcome.network
    assert isinstance(network, ToldNetwork)
    known = np.flatnonzero(network.told[:, -2].numpy())
    assert set(known) == set(split.train)
    untold = network.recognising(np.zeros(0, dtype=np.int64))
    lost = untold(augmented_adjacency(graph), torch.tensor(graph.features)).argmax(1).numpy()
    assert (lost == graph.labels)[split.test].mean() < 0.7


def test_labels_of_other_vertices_change_nothing() -> None:
    graph = ring()
    assert graph.labels is not None
    split = Split(*np.split(np.random.default_rng(1).permutation(600), [400, 500]), rule="drawn")
    labels = graph.labels.copy()
    labels[split.test] = 1 - labels[split.test]
    first, second = (
        train_system(Prepared.of(g), told_system().with_(max_epochs=5), [split], [0])[
            0
        ].probabilities
        for g in (graph, replace(graph, labels=labels))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("task", [MULTILABEL, REGRESSION])
def test_network_is_told_several_labels_or_numbers(task: Task) -> None:
    graph = ring()
    assert graph.labels is not None
    signs = 2.0 * graph.labels - 1
    targets = np.column_stack([signs, -signs]).astype(np.float32)
    if task is MULTILABEL:
        targets = (targets > 0).astype(np.float32)
    split = Split(*np.split(np.random.default_rng(1).permutation(600), [400, 500]), rule="drawn")
    prepared = Prepared.of(graph, task=task, targets=targets)
    (outcome,) = train_system(prepared, told_system(), [split], [0])
    right = (outcome.probabilities > (0.5 if task is MULTILABEL else 0)) == (targets > 0)
    assert right[split.test].mean() > 0.9


MIXED_GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=1.2, seed=0)
FEATURES = torch.tensor(MIXED_GRAPH.features)
LINKS = torch.tensor(MIXED_GRAPH.adjacency.toarray(), dtype=torch.float32)


def make_mixed(n_links: int, seed: int = 0, dropout: float = 0.0) -> MixedNetwork:
    config = MixedConfig(hidden_size=3, n_links=n_links, dropout=dropout)
    generator = torch.Generator().manual_seed(seed)
    return MixedNetwork(5 + n_links, 2, config, generator=generator)


def layer_of(layer: Any, hidden: torch.Tensor, links: torch.Tensor | None) -> torch.Tensor:
    """Return one layer vertex by vertex, as its equation reads."""
    mean = torch.eye(30) + LINKS
    mean = mean / mean.sum(1, keepdim=True)
    low, high, own = (hidden @ part for part in layer.weight.chunk(3, dim=1))
    channels = [mean @ low, high - mean @ high, own]
    if links is not None:
        channels.append(links @ layer.links)
    channels = [torch.relu(channel) for channel in channels]
    rows = []
    for v in range(30):
        pairs = zip(channels, layer.scores, strict=True)
        seen = torch.stack([torch.sigmoid(channel[v] @ score) for channel, score in pairs])
        alpha = torch.softmax(seen @ layer.mix / len(channels), dim=0)
        rows.append(alpha @ torch.stack([channel[v] for channel in channels]))
    return torch.stack(rows) * (3.0 if links is None else 1.0)


@pytest.mark.parametrize("linked", [False, True])
def test_mixed_network_is_its_equation(linked: bool) -> None:
    model = make_mixed(30 if linked else 0).eval()
    links = LINKS if linked else None
    x = torch.cat([FEATURES, LINKS], dim=1) if linked else FEATURES
    with torch.no_grad():
        hidden = layer_of(model.first, FEATURES, links)
        expected = layer_of(model.second, hidden, links)
        made = model(augmented_adjacency(MIXED_GRAPH), x)
    torch.testing.assert_close(made, expected, rtol=1e-4, atol=1e-5)


def test_columns_in_two_parts_are_made_once() -> None:
    x = SparseFeatures(sp.csr_array(torch.cat([FEATURES, LINKS], dim=1).numpy()))
    first, last = x.parted(30)
    torch.testing.assert_close(first.to_dense(), FEATURES)
    torch.testing.assert_close(last.to_dense(), LINKS)
    assert x.parted(30)[1] is last


def test_more_links_than_columns_are_refused() -> None:
    with pytest.raises(
        ConfigError, match="n_links must be at most the number of columns, 5; got 6"
    ):
        MixedNetwork(5, 2, MixedConfig(n_links=6))


@pytest.fixture
def hop_graph() -> Graph:
    return make_csbm(n_vertices=50, mean_degree=4, n_features=70, frequency=0.5, seed=0)


def features_of(hop_graph: Graph) -> torch.Tensor:
    x = to_tensor(hop_graph.features)
    assert isinstance(x, torch.Tensor)
    return x


def make_hops(hop_graph: Graph, **options: object) -> HopNetwork:
    config = HopNetworkConfig(**{"dropout": 0.0, **options})  # pyright: ignore[reportArgumentType]
    generator = torch.Generator().manual_seed(0)
    return HopNetwork(hop_graph.n_features, hop_graph.n_classes, config, generator=generator)


@pytest.mark.parametrize("kind", [augmented_adjacency, laplacian])
def test_hops_are_powers_of_the_operator(hop_graph: Graph, kind) -> None:
    operator, x = kind(hop_graph), features_of(hop_graph)
    hops = stack_powers(operator, x, 3)
    dense, expected = operator.matrix.toarray(), x.double().numpy()
    for k in range(4):
        np.testing.assert_allclose(hops[:, k], expected, rtol=1e-4, atol=1e-5)
        expected = dense @ expected


def test_hop_network_equals_its_closed_form(hop_graph: Graph) -> None:
    operator, x = augmented_adjacency(hop_graph), features_of(hop_graph)
    network = make_hops(hop_graph, n_hops=2, hidden_size=3)
    p, hop, hidden = torch.from_numpy(operator.matrix.toarray()).float(), x, []
    for layer in network.encoders:
        assert isinstance(layer, Linear)
        hidden.append(torch.relu(hop @ layer.weight + layer.bias))
        hop = p @ hop
    expected = torch.cat(hidden, dim=1) @ network.head.weight + network.head.bias
    torch.testing.assert_close(network(operator, x), expected, rtol=1e-4, atol=1e-5)


def test_network_without_hops_and_layers_is_a_softmax_regression(hop_graph: Graph) -> None:
    operator, x = augmented_adjacency(hop_graph), features_of(hop_graph)
    network = make_hops(hop_graph, n_hops=0, hidden_size=None)
    assert {name for name, _ in network.named_parameters()} == {"head.weight", "head.bias"}
    expected = x @ network.head.weight + network.head.bias
    torch.testing.assert_close(network(operator, x), expected)


def test_network_takes_hops_in_place_of_features(hop_graph: Graph) -> None:
    operator, x = augmented_adjacency(hop_graph), features_of(hop_graph)
    network = make_hops(hop_graph).eval()
    hops = stack_powers(operator, x, network.config.n_hops)
    assert torch.equal(network(operator, hops), network(operator, x))


def test_network_reads_vertices_in_blocks(hop_graph: Graph, monkeypatch) -> None:
    operator, x = augmented_adjacency(hop_graph), features_of(hop_graph)
    network = make_hops(hop_graph, batch_size=1).eval()
    whole = network(operator, x)
    monkeypatch.setattr(hop_network, "READ_BYTES", 7 * 70 * 5 * 4)
    assert network.rows_at_once == 7
    torch.testing.assert_close(network(operator, x), whole)


def test_dropout_hides_a_feature_at_every_hop(hop_graph: Graph) -> None:
    """What one hop loses is not to be read off the next: a row keeps or loses all of a column."""
    network = make_hops(hop_graph, n_hops=3, hidden_size=None, dropout=0.5)
    with torch.no_grad():
        network.head.weight.zero_()
        # The sum of the first feature over the hops.
        network.head.weight[[0, 70, 140, 210], 0] = 1.0
        network.head.bias.zero_()
    sums = network.rows(torch.ones(1000, 4, 70), torch.Generator().manual_seed(0))[:, 0]
    assert set(sums.tolist()) == {0.0, 8.0}
    assert 0.45 < float((sums > 0).float().mean()) < 0.55


def make_told_hops(hop_graph: Graph, **options: object) -> ToldHops:
    """Return a network in its second stage, which is told a third of the classes."""
    config = ToldHopsConfig(**{"hidden_size": 8, **options})  # pyright: ignore[reportArgumentType]
    network = ToldHops(
        hop_graph.n_features, 2, config, generator=torch.Generator().manual_seed(0)
    ).eval()
    classes = nn.functional.one_hot(torch.tensor(hop_graph.labels)).float()
    network.tell(classes, torch.arange(0, 50, 3))
    hops = network.hops(augmented_adjacency(hop_graph), features_of(hop_graph))
    network.standardise(hops, network.told_rows)
    network.begin_second(augmented_adjacency(hop_graph), hops, network.told_rows)
    return network


@pytest.mark.parametrize("kind", [augmented_adjacency, laplacian])
def test_what_neighbours_are_is_summed_up_as_its_equation_says(hop_graph: Graph, kind) -> None:
    network, operator = make_told_hops(hop_graph), kind(hop_graph)
    hops = network.hops(operator, features_of(hop_graph))
    said = torch.cat([network.rows(hops)]).softmax(1)
    said[network.told_rows] = network.told_values
    adjacency, degrees = torch.tensor(hop_graph.adjacency.toarray()), hop_graph.degrees
    found, d = network.around(operator, hops), torch.tensor(degrees)[:, None].clamp(min=1)
    torch.testing.assert_close(found[:, :2], (adjacency.float() @ said) / d.sqrt().float())
    torch.testing.assert_close(found[:, 2:], d.log().float())


def test_vertex_is_never_told_its_own_label(hop_graph: Graph) -> None:
    """To the bit: what it answers does not change with what is told of it alone."""
    network, operator = make_told_hops(hop_graph), augmented_adjacency(hop_graph)
    before = network(operator, features_of(hop_graph))
    for row, vertex in enumerate(network.told_rows.tolist()):
        kept = network.told_values[row].clone()
        network.told_values[row] = kept.flip(0)
        after = network(operator, features_of(hop_graph))
        network.told_values[row] = kept
        assert torch.equal(after[vertex], before[vertex])
        near = torch.tensor(hop_graph.adjacency[[vertex]].indices)
        assert not torch.equal(after[near], before[near]) or not len(near)


def test_told_network_knows_vertices_in_another_order(hop_graph: Graph) -> None:
    network, numbers = make_told_hops(hop_graph), np.random.default_rng(0).permutation(50)
    ends = np.argsort(numbers)[hop_graph.edges]
    moved = Graph.from_edges(ends, 50, features=np.asarray(hop_graph.features)[numbers])
    answers = network(augmented_adjacency(hop_graph), features_of(hop_graph))
    found = network.recognising(numbers)(augmented_adjacency(moved), features_of(moved))
    torch.testing.assert_close(found, answers[torch.tensor(numbers)], rtol=1e-4, atol=1e-4)
    assert not len(network.recognising(np.zeros(0, dtype=np.int64)).told_rows)


def test_every_hop_gets_the_deviation_of_its_column(hop_graph: Graph) -> None:
    network = make_told_hops(hop_graph)
    hops = network.hops(augmented_adjacency(hop_graph), features_of(hop_graph)).double()
    scaled = ((hops - network.shift) / network.scale)[network.told_rows]
    deviation = scaled.std(dim=0, correction=0)
    torch.testing.assert_close(deviation, deviation[:1].expand_as(deviation), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(5, 70).double(), atol=1e-5, rtol=0)


HOPS_GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=1.2, seed=0)
HOPS_X = torch.tensor(HOPS_GRAPH.features)


def make_weighted_hops(n_hops: int = 2) -> WeightedHops:
    config = WeightedHopsConfig(n_hops=n_hops, hidden_size=3)
    return WeightedHops(5, 2, config, generator=torch.Generator().manual_seed(0)).eval()


def test_weighted_hops_are_their_equation() -> None:
    model, operator = make_weighted_hops(), adjacency(HOPS_GRAPH)
    dense = operator @ torch.eye(30)
    hops = [HOPS_X, dense @ HOPS_X, dense @ dense @ HOPS_X]
    with torch.no_grad():
        model.scores.copy_(torch.tensor([0.0, 2.0, -1.0]))
        share, layers = model.scores.softmax(0), list[Any](model.encoders)
        hidden = [
            share[k] * nn.functional.normalize(layer(hop), dim=1)
            for k, (layer, hop) in enumerate(zip(layers, hops, strict=True))
        ]
        expected = model.head(torch.relu(torch.cat(hidden, dim=1)))
        torch.testing.assert_close(model(operator, HOPS_X), expected, rtol=1e-4, atol=1e-5)


def test_the_length_of_a_hop_does_not_matter() -> None:
    model, operator = make_weighted_hops(n_hops=1), adjacency(HOPS_GRAPH)
    with torch.no_grad():
        before = model(operator, HOPS_X)
        for layer in list[Any](model.encoders)[1:]:
            layer.weight.mul_(100)
            layer.bias.mul_(100)
        torch.testing.assert_close(model(operator, HOPS_X), before, rtol=1e-4, atol=1e-5)


def test_its_weights_of_hops_train_at_the_rate_of_filters() -> None:
    model = make_weighted_hops()
    assert [id(p) for p in model.filter_parameters()] == [id(model.scores)]

"""Networks as their authors have them, against their equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import Isomap
from torch import Tensor

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.files import read_npz
from graphfilter.data.graph import Graph
from graphfilter.filters import (
    ExactPageRankFilterConfig,
    PowerFilterConfig,
    RepeatedChebyshevFilter,
)
from graphfilter.splits import Split, stratified
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter_research.peers.ap_gcn import APGCN, APGCNConfig
from graphfilter_research.peers.fastgcn import FastGCN, FastGCNConfig
from graphfilter_research.peers.gat import VelickovicGAT, VelickovicGATConfig
from graphfilter_research.peers.gcn import incoming
from graphfilter_research.peers.gcnii import GCNIIStar, GCNIIStarConfig
from graphfilter_research.peers.geom_gcn import (
    GeomGCN,
    GeomGCNConfig,
    isomap,
    near_pairs,
    place,
    poincare,
    relations,
    structure,
)
from graphfilter_research.peers.gfnn import FilteredFeatures, FilteredFeaturesConfig
from graphfilter_research.peers.gpr_gnn import GPRGNN, GPRGNNConfig
from graphfilter_research.peers.graphsage import GraphSAGE
from graphfilter_research.peers.graphsaint import GraphSAINT, GraphSAINTConfig
from graphfilter_research.peers.label_propagation import propagate_labels
from graphfilter_research.peers.lanczosnet import LanczosNet, LanczosNetConfig, lanczos
from graphfilter_research.peers.nlgnn import NLGNN, NLGNNConfig
from graphfilter_research.peers.pyg import operator_csr

GRAPH = make_csbm(30, mean_degree=4, n_features=5, seed=2)
OPERATOR = operators.augmented_adjacency(GRAPH)
X = torch.tensor(np.asarray(GRAPH.features), dtype=torch.float32)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense() -> Tensor:
    return torch.tensor(OPERATOR.matrix.toarray(), dtype=torch.float32)


def test_gcnii_star_is_its_recurrence() -> None:
    config = GCNIIStarConfig(n_layers=3, hidden_size=4, alpha=0.2, theta=1.5)
    model = GCNIIStar(5, 2, config, generator=seeded()).eval()
    with torch.no_grad():
        start = hidden = torch.relu(model.encoder(X))
        for layer, weight in enumerate(model.weights, start=1):
            beta = math.log(1.5 / layer + 1)
            spread = dense() @ hidden
            residual = 0.8 * spread + 0.2 * start
            mixed = torch.cat([spread, start], dim=1) @ weight
            hidden = torch.relu((1 - beta) * residual + beta * mixed)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden))


def test_gpr_gnn_drops_its_logits() -> None:
    """With dropout on the logits alone, nearly all, training is the filter of nearly nothing."""
    config = GPRGNNConfig(dropout=0.0, logit_dropout=0.999)
    model = GPRGNN(GRAPH.n_features, 2, config, generator=seeded())
    assert model.encoder is not None
    with torch.no_grad():
        logits = model.head(torch.relu(model.encoder(X)))
        expected = model.filter(OPERATOR, logits)
        torch.testing.assert_close(model.eval()(OPERATOR, X), expected)
        dropped = model.train()(OPERATOR, X, seeded(1))
    assert (dropped == 0).float().mean() > 0.5
    with pytest.raises(ConfigError, match="logit_dropout must be in"):
        GPRGNNConfig(logit_dropout=1.0)


@pytest.mark.parametrize("filter", [PowerFilterConfig(2), ExactPageRankFilterConfig(1 / 11)])
def test_filtered_features_are_an_mlp_on_them(filter) -> None:
    model = FilteredFeatures(5, 2, FilteredFeaturesConfig(filter=filter), generator=seeded()).eval()
    if isinstance(filter, PowerFilterConfig):
        matrix = dense() @ dense()
    else:
        # GLP's AR filter with α = 10.
        eye = torch.eye(len(X))
        matrix = torch.linalg.inv(eye + 10 * (eye - dense()))
    with torch.no_grad():
        hidden = torch.relu(matrix @ X @ model.encoder.weight + model.encoder.bias)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden), rtol=1e-4, atol=1e-5)


def test_graphsage_takes_the_mean_of_the_neighbours() -> None:
    model = GraphSAGE(GRAPH, generator=seeded()).eval()
    adjacency = torch.tensor(GRAPH.adjacency.toarray(), dtype=torch.float32)
    mean = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    with torch.no_grad():
        hidden = X
        for layer in (model.first, model.second):
            own, others = layer(hidden).chunk(2, dim=1)
            # The bias of the neighbours' half is averaged too: a vertex without any gets none.
            both = torch.relu(torch.cat([own, mean @ others], dim=1))
            hidden = both / both.norm(dim=1, keepdim=True).clamp(min=1e-12)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden))


def test_fastgcn_is_a_gcn_on_average() -> None:
    model = FastGCN(5, 2, FastGCNConfig(n_sampled=10), generator=seeded())
    with torch.no_grad():
        exact = model.eval()(OPERATOR, X)
        hidden = torch.relu(dense() @ (X @ model.first.weight) + model.first.bias)
        torch.testing.assert_close(
            exact, dense() @ (hidden @ model.second.weight) + model.second.bias
        )
        draws = torch.stack([model.train()(OPERATOR, X, seeded(s)) for s in range(2000)])
    error = (draws.mean(0) - exact).abs() / (draws.std(0) / math.sqrt(2000))
    assert error.max() < 5


@pytest.mark.parametrize("name", ["gcn-authors", "gat-authors"])
def test_authors_leave_weights_undecayed(name: str) -> None:
    model = get_system(name).build(GRAPH, 0)
    left = {id(p) for p in model.undecayed_parameters()}
    names = [n for n, p in model.named_parameters() if id(p) in left]
    if name == "gcn-authors":
        assert names == ["convs.0.bias", "convs.1.bias", "convs.1.lin.weight"]
    else:
        assert names == ["first.bias", "second.bias"]


def test_gat_of_several_answering_heads_is_their_mean() -> None:
    one = VelickovicGAT(GRAPH.n_features, 2, VelickovicGATConfig(n_out_heads=4)).eval()
    with torch.no_grad():
        assert one(OPERATOR, X).shape == (30, 2)
        assert one.second.att_src.shape == (1, 4, 2)


@pytest.mark.parametrize("lambda_max", [2.0, 1.5])
def test_repeated_chebyshev_is_the_recurrence_of_the_code(lambda_max: float) -> None:
    """Sixteen terms: the first two are the input, and each later one 2 M T - T'."""
    filter_ = RepeatedChebyshevFilter(16, lambda_max).double()
    with torch.no_grad():
        filter_.cheby.copy_(torch.linspace(-1, 1, 16))
    lam = np.linspace(0, 2, 21)
    shifted = 2 * lam / lambda_max - 1
    last, before = np.ones(21), np.ones(21)
    total = filter_.cheby[0].item() * last + filter_.cheby[1].item() * before
    for weight in filter_.cheby[2:].tolist():
        last, before = 2 * shifted * last - before, last
        total += weight * last
    np.testing.assert_allclose(filter_.response(lam), total, rtol=1e-9, atol=1e-9)
    assert filter_.degree == 14


def test_directed_gcn_hears_only_what_points_to_a_vertex() -> None:
    """On a path 0 → 1 → 2 each vertex hears of itself and of the one before."""
    path = Graph.from_edges([[0, 1], [1, 2]], directed=True)
    matrix = incoming(path).toarray()
    assert np.array_equal(matrix != 0, [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    np.testing.assert_allclose(matrix[1], [1 / np.sqrt(2), 1 / 2, 0])
    both = incoming(GRAPH)
    np.testing.assert_allclose(both.toarray(), OPERATOR.matrix.toarray(), rtol=1e-6, atol=1e-9)


STEPS = 4

Parts = tuple[APGCN, operators.Operator, torch.Tensor]


@pytest.fixture
def parts() -> Parts:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    generator = torch.Generator().manual_seed(0)
    model = APGCN(5, 3, APGCNConfig(max_steps=STEPS, dropout=0.0, cost=0.5), generator=generator)
    z = torch.randn(4, 3, generator=generator)
    return model, operators.augmented_adjacency(graph), z


def set_halting(model: APGCN, bias: float) -> None:
    with torch.no_grad():
        model.halt.weight.zero_()
        model.halt.bias.fill_(bias)


def test_ap_gcn_that_halts_at_once_takes_one_step(parts: Parts) -> None:
    model, operator, z = parts
    set_halting(model, 20.0)
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, operator @ z)
    assert steps.tolist() == [1.0] * 4
    assert rest.tolist() == [1.0] * 4


def test_ap_gcn_that_never_halts_averages_all_steps(parts: Parts) -> None:
    """With h = 0: p is 0 until the last step, where it is 1."""
    model, operator, z = parts
    set_halting(model, -30.0)
    powers = [z]
    for _ in range(STEPS):
        powers.append(operator @ powers[-1])
    expected = (sum(powers[: STEPS - 1]) + powers[STEPS]) / STEPS
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, expected)
    assert steps.tolist() == [float(STEPS)] * 4
    torch.testing.assert_close(rest, torch.ones(4))


def test_ap_gcn_halts_when_its_budget_is_spent(parts: Parts) -> None:
    """With h = 0.4 the third step reaches 1.2: K = 3, R = 1 - 0.8."""
    model, operator, z = parts
    set_halting(model, float(torch.logit(torch.tensor(0.4))))
    z1 = operator @ z
    z2 = operator @ z1
    z3 = operator @ z2
    expected = (0.4 * z1 + 0.6 * z + 0.4 * z2 + 0.6 * z1 + 0.2 * z3 + 0.8 * z2) / 3
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, expected)
    assert steps.tolist() == [3.0] * 4
    torch.testing.assert_close(rest, torch.full((4,), 0.2))


def test_ap_gcn_penalty_is_the_cost_of_its_steps(parts: Parts) -> None:
    model, operator, _ = parts
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    output = model.training_output(operator, x, None)
    _, steps, rest = model.propagate(operator, model.head(torch.relu(model.encoder(x))))
    torch.testing.assert_close(output.penalty, 0.5 * (steps + rest).mean())
    torch.testing.assert_close(output.logits, model(operator, x))
    assert output.vertex_weight is None


def make_graph() -> Graph:
    return make_csbm(40, mean_degree=4, n_features=5, seed=3)


def test_graphsaint_that_samples_everything_is_gcn() -> None:
    graph = make_graph()
    operator = operators.augmented_adjacency(graph)
    model = GraphSAINT(graph, GraphSAINTConfig(n_roots=4000, dropout=0.0), generator=seeded())
    x = torch.tensor(graph.features)
    torch.testing.assert_close(model(operator, x, seeded(1)), model.network(operator, x))


def test_graphsaint_walks_along_edges() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [3, 4]], 6, features=torch.ones(6, 2), labels=[0] * 6)
    model = GraphSAINT(graph, GraphSAINTConfig(n_roots=1, walk_length=20), generator=seeded())
    components = ({0, 1, 2}, {3, 4}, {5})
    seen = set()
    for seed in range(40):
        visited = frozenset(model.sample(seeded(seed)).nonzero().squeeze(1).tolist())
        assert visited in components
        seen.add(visited)
    assert seen == {frozenset(c) for c in components}


def test_graphsaint_leaves_vertices_outside_without_gradient() -> None:
    graph = make_graph()
    operator = operators.augmented_adjacency(graph)
    model = GraphSAINT(graph, GraphSAINTConfig(n_roots=5, dropout=0.0), generator=seeded())
    inside = model.sample(seeded(7))
    logits = model(operator, torch.tensor(graph.features), seeded(7))
    assert 0 < inside.sum() < 40
    assert not logits[~inside].any()
    assert logits[inside].any()


def test_graphsaint_messages_are_unbiased_given_the_vertex() -> None:
    """The mean of the sampled aggregation at a vertex, over the samples it is in, is P x."""
    graph = make_graph()
    operator = operators.augmented_adjacency(graph)
    model = GraphSAINT(graph, GraphSAINTConfig(n_roots=10, n_samples=4000), generator=seeded())
    x = torch.randn(40, generator=seeded(1))
    total, count = torch.zeros(40), torch.zeros(40)
    for seed in range(4000):
        inside = model.sample(seeded(seed))
        product = model.subgraph_csr(operator, inside) @ x[inside, None]
        total[inside] += product[:, 0]
        count += inside
    torch.testing.assert_close(total / count, operator @ x, rtol=0, atol=0.08)
    torch.testing.assert_close(model.vertex_share, count / 4000, rtol=0, atol=0.05)


def test_graphsaint_weighs_a_vertex_by_how_rarely_it_is_drawn() -> None:
    graph = make_graph()
    operator = operators.augmented_adjacency(graph)
    model = GraphSAINT(graph, GraphSAINTConfig(n_roots=5, dropout=0.0), generator=seeded())
    inside = model.sample(seeded(1))
    model.vertex_share.fill_(0.25)
    output = model.training_output(operator, torch.tensor(graph.features), seeded(1))
    assert output.vertex_weight is not None
    assert output.vertex_weight.tolist() == (4.0 * inside).tolist()
    assert len(operator_csr(operator).values()) == len(model.edge_scale)


def test_isomap_of_a_path_is_a_line() -> None:
    """A path embeds exactly: its distances are those of points on a line."""
    path = Graph.from_edges([[i, i + 1] for i in range(9)])
    distances = squareform(pdist(isomap(path)))
    steps = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    np.testing.assert_allclose(distances, steps, atol=1e-6)


def test_isomap_agrees_with_scikit_learn() -> None:
    """Its Isomap on a grid of points whose neighbour graph is the grid itself."""
    points = np.array([[i, j] for i in range(4) for j in range(7)], dtype=float)
    nearby = squareform(pdist(points)) < 1.1
    graph = Graph.from_scipy(sp.coo_array(nearby ^ np.eye(28, dtype=bool)))
    expected = Isomap(radius=1.1, n_neighbors=None, n_components=2).fit_transform(points)
    np.testing.assert_allclose(pdist(isomap(graph)), pdist(expected), atol=1e-6)


def test_isomap_with_landmarks_places_the_others_alike() -> None:
    path = Graph.from_edges([[i, i + 1] for i in range(59)])
    np.testing.assert_allclose(
        pdist(isomap(path, exact_up_to=0, n_landmarks=20)), pdist(isomap(path)), atol=1e-6
    )


def test_isomap_places_the_largest_component_only() -> None:
    apart = Graph.from_edges([[0, 1], [1, 2], [3, 4]], 6)
    places = isomap(apart)
    np.testing.assert_allclose(pdist(places[:3]), [1, 2, 1], atol=1e-6)
    assert np.isnan(places[3:]).all()


def total(matrices: Sequence[sp.csr_array]) -> np.ndarray:
    return np.sum([matrix.toarray() for matrix in matrices], axis=0)


def test_relations_of_what_is_not_placed_are_those_of_the_graph() -> None:
    apart = Graph.from_edges([[0, 1], [1, 2], [3, 4]], 6)
    matrices = relations(apart, isomap(apart))
    expected = operators.augmented_adjacency(apart).matrix.toarray()
    np.testing.assert_allclose(total([matrices[0], matrices[-1]])[3:], expected[3:])
    assert not total(matrices[1:-1])[3:].any()
    edgeless = Graph.from_edges(np.empty((0, 2), int), 4)
    np.testing.assert_allclose(total(relations(edgeless, isomap(edgeless))), np.eye(4))


def test_place_refuses_a_graph_too_large() -> None:
    with pytest.raises(GraphError, match="at most 5 vertices; got 6"):
        place(Graph.from_edges([[0, 5]]), "isomap", most_vertices=5)


def test_relations_add_up_to_the_neighbourhoods() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(30, 0.15, seed=1)).largest_component()
    matrices = relations(graph, isomap(graph))
    in_graph, in_plane = total(matrices[:4]), total(matrices[4:8])
    assert np.array_equal(in_graph != 0, graph.adjacency.toarray() != 0)
    np.testing.assert_allclose(in_plane, in_plane.T, atol=1e-12)
    n_latent = np.count_nonzero(in_plane) / 2
    assert 0.9 * graph.n_edges <= n_latent <= graph.n_edges
    # Entry (v, u) is 1 / √(d_v d_u), so that each row of S_i √d sums to entries / √d.
    counts = np.sum([m.toarray() != 0 for m in matrices], axis=0).sum(axis=1)
    np.testing.assert_allclose(np.diag(matrices[8].toarray()), 1 / counts)
    np.testing.assert_allclose(total(matrices) @ np.sqrt(counts), np.sqrt(counts))


def test_relations_are_the_quadrants() -> None:
    star = Graph.from_edges([[0, i] for i in range(1, 5)])
    places = np.array([[0, 0], [1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)
    matrices = relations(star, places)
    centre = [m.toarray()[0].nonzero()[0].tolist() for m in matrices[:4]]
    # Neither right nor above, right, above, both.
    assert centre == [[3], [4], [2], [1]]
    assert matrices[8].toarray()[0].nonzero()[0].tolist() == [0]


def test_geom_gcn_concatenates_before_the_activation() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(20, 0.2, seed=1)).replace(
        features=np.random.default_rng(0).normal(size=(20, 3)),
        labels=np.arange(20) % 2,
        classes=np.arange(2),
    )
    model = GeomGCN(graph, GeomGCNConfig(hidden_size=2)).eval()
    x = torch.tensor(graph.features, dtype=torch.float32)
    matrices = [
        torch.tensor(m.toarray(), dtype=torch.float32) for m in relations(graph, isomap(graph))
    ]
    with torch.no_grad():
        first = model.first.weight.view(3, 9, 2)
        hidden = torch.relu(torch.cat([s @ x @ first[:, i] for i, s in enumerate(matrices)], dim=1))
        second = model.second.weight.view(18, 9, 2)
        expected = sum(s @ hidden @ second[:, i] for i, s in enumerate(matrices)) / 9
        got = model(operators.augmented_adjacency(graph), x)
    torch.testing.assert_close(got, expected)


def test_poincare_puts_neighbours_nearer_than_others() -> None:
    tree = Graph.from_networkx(nx.balanced_tree(3, 4))
    places = poincare(tree)
    radius = np.linalg.norm(places, axis=1)
    assert radius.max() < 1
    square = squareform(pdist(places)) ** 2
    room = 1 - radius**2
    distance = np.arccosh(1 + 2 * square / np.outer(room, room))
    adjacent = tree.adjacency.toarray() > 0
    apart = ~adjacent & ~np.eye(len(places), dtype=bool)
    assert distance[adjacent].mean() < 0.6 * distance[apart].mean()
    # The balls of the disc hold what its distances say.
    pairs = near_pairs(places, tree.n_edges, hyperbolic=True)
    longest = distance[pairs[:, 0], pairs[:, 1]].max()
    assert len(pairs) == np.count_nonzero(np.triu(distance <= longest + 1e-9, 1))


def test_structure_places_like_surroundings_alike() -> None:
    """On a star all leaves are in one place; on a path the ends are, and mirrored vertices."""
    star = structure(Graph.from_edges([[0, i] for i in range(1, 7)]))
    np.testing.assert_allclose(star[1:], np.tile(star[1], (6, 1)), atol=1e-9)
    assert np.linalg.norm(star[0] - star[1]) > 0.1
    path = structure(Graph.from_edges([[i, i + 1] for i in range(8)]))
    np.testing.assert_allclose(path, path[::-1], atol=1e-9)


def test_near_pairs_are_the_nearest() -> None:
    places = np.array([[0.0, 0], [1, 0], [3, 0], [7, 0]])
    assert sorted(map(tuple, near_pairs(places, 2))) == [(0, 1), (1, 2)]
    assert len(near_pairs(places, 6)) == 6
    assert len(near_pairs(np.zeros((4, 2)), 3)) == 0


def test_lanczos_with_every_vector_is_exact(small_graph: Graph) -> None:
    """Repeated eigenvalues and several components included."""
    operator = operators.augmented_adjacency(small_graph)
    values, vectors = lanczos(operator, 100)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(operator.n), atol=1e-10)
    dense = operator.matrix.toarray()
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, dense, atol=1e-10)


def test_lanczos_finds_the_ends_of_the_spectrum_first() -> None:
    operator = operators.augmented_adjacency(make_csbm(300, n_features=2))
    values, vectors = lanczos(operator, 40)
    exact = np.linalg.eigvalsh(operator.matrix.toarray())
    np.testing.assert_allclose([values[0], values[-1]], exact[[0, -1]], atol=1e-4)
    residual = operator.matrix @ vectors[:, -1] - values[-1] * vectors[:, -1]
    assert np.linalg.norm(residual) < 1e-3


def test_lanczosnet_layer_is_the_sum_of_its_scales() -> None:
    graph = make_csbm(30, mean_degree=4, n_features=5)
    operator = operators.augmented_adjacency(graph)
    generator = torch.Generator().manual_seed(0)
    config = LanczosNetConfig(short=(1, 3), long=(5, 10), n_vectors=30, n_layers=1)
    model = LanczosNet(graph, config, generator=generator).eval()
    x = torch.tensor(graph.features)
    values, vectors = np.linalg.eigh(operator.matrix.toarray())
    lam, basis = torch.tensor(values).float(), torch.tensor(vectors).float()
    with torch.no_grad():
        blocks = model.linears[0](x).view(30, 4, 2)
        responses = model.filters[0](torch.stack([lam**5, lam**10], dim=1))
        expected = basis @ (lam[:, None] * (basis.T @ blocks[:, 0]))
        expected += basis @ (lam[:, None] ** 3 * (basis.T @ blocks[:, 1]))
        for i in range(2):
            expected += basis @ (responses[:, i, None] * (basis.T @ blocks[:, 2 + i]))
        torch.testing.assert_close(model(operator, x), expected, rtol=1e-3, atol=1e-4)


def test_label_propagation_equals_its_closed_form() -> None:
    graph = make_csbm(60, mean_degree=6, n_features=2).largest_component()
    assert graph.labels is not None
    split = stratified(graph.labels, 0)
    given = np.zeros((graph.n_vertices, 2))
    given[split.train, graph.labels[split.train]] = 1
    matrix = operators.adjacency(graph).matrix.toarray()
    spread = 0.1 * np.linalg.solve(np.eye(graph.n_vertices) - 0.9 * matrix, given)
    expected = spread / spread.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(propagate_labels(graph, split), expected, atol=1e-4)


def test_label_propagation_uses_no_labels_but_those_trained_on() -> None:
    graph = make_csbm(60, mean_degree=6, n_features=2)
    assert graph.labels is not None
    split = stratified(graph.labels, 0)
    hidden = graph.labels.copy()
    hidden[split.test] = 1 - hidden[split.test]
    changed = propagate_labels(graph.replace(labels=hidden), split)
    assert np.array_equal(propagate_labels(graph, split), changed)


def test_label_propagation_gives_the_unreached_the_class_shares() -> None:
    """And a class that is not trained on no probability."""
    graph = Graph.from_edges([[0, 1], [1, 2]], 5, labels=["a", "a", "b", "c", "a"])
    probabilities = propagate_labels(graph, Split([0, 1, 2], [], [3, 4]))
    np.testing.assert_allclose(probabilities[3:], [[2 / 3, 1 / 3, 0]] * 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert not probabilities[:, 2].any()


def test_label_propagation_refuses_a_graph_without_labels() -> None:
    with pytest.raises(GraphError, match="labelled training vertices"):
        propagate_labels(Graph.from_edges([[0, 1]]), Split([0], [], []))


def test_label_propagation_beats_chance_on_cora(data_folder: Path) -> None:
    graph = read_npz(data_folder / "cora.npz")
    split = stratified(graph.labels, 0)
    right = propagate_labels(graph, split).argmax(axis=1) == graph.labels
    assert right[split.test].mean() > 0.8


def make_model(**options: object) -> NLGNN:
    generator = torch.Generator().manual_seed(0)
    config = NLGNNConfig(hidden_size=4, **options)  # pyright: ignore
    return NLGNN(3, 2, config, generator=generator).eval()


def test_nlgnn_with_kernel_one_treats_every_vertex_alone() -> None:
    """A convolution of width 1 does not see the order: it is a linear map of a z."""
    model = make_model(kernel_size=1)
    z = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        attended = model.calibrate(z) * z
        w1, b1, w2, b2 = (
            p
            for conv in model.convs
            for p in (conv.get_parameter("weight"), conv.get_parameter("bias"))
        )
        hidden = torch.relu(attended @ w1[:, :, 0].T + b1)
        expected = hidden @ w2[:, :, 0].T + b2
        torch.testing.assert_close(model.aggregate(z), expected)


def test_nlgnn_convolves_in_the_order_of_attention() -> None:
    model = make_model(kernel_size=3)
    z = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        order = model.calibrate(z).squeeze(1).argsort()
        # Sorted already: the sequence is the vertices as they come.
        first, second = model.convs
        sequence = (model.calibrate(z) * z)[order]
        expected = second(torch.relu(first(sequence.T[None])))[0].T
        torch.testing.assert_close(model.aggregate(z[order]), expected)
        torch.testing.assert_close(model.aggregate(z)[order], expected)


def test_nlgnn_with_mlp_inside_ignores_the_graph() -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    path = operators.augmented_adjacency(Graph.from_edges([[0, 1], [1, 2], [2, 3]]))
    pair = operators.augmented_adjacency(Graph.from_edges([[0, 3]]))
    with torch.no_grad():
        assert torch.equal(make_model(local="mlp")(path, x), make_model(local="mlp")(pair, x))
        assert not torch.equal(make_model()(path, x), make_model()(pair, x))


def test_nlgnn_refuses_an_unknown_local_part() -> None:
    with pytest.raises(ConfigError, match="did you mean 'mlp'"):
        make_model(local="mpl")

from __future__ import annotations

import torch

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter_research.peers.graphsaint import GraphSAINT, GraphSAINTConfig
from graphfilter_research.peers.pyg import operator_csr


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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

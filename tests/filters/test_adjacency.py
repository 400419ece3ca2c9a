"""Operators from an edge index and from sparse adjacencies: closed forms, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from graphfilter import operators
from graphfilter.data.graph import Graph
from graphfilter.operators import Operator
from graphfilter.operators.operator import DirectedOperator
from graphfilter.pyg import prepare_operator
from graphfilter.util.errors import ConfigError, GraphError

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 1]])
KINDS = ("augmented_adjacency", "adjacency", "laplacian")


class FakeSparseTensor:
    """What is asked of torch_sparse's SparseTensor, where that is not installed."""

    def __init__(self, edge_index: Tensor, weights: Tensor | None, n: int) -> None:
        self.parts, self.n = (edge_index[1], edge_index[0], weights), n

    def sparse_sizes(self) -> tuple[int, int]:
        return self.n, self.n

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.parts


def dense(operator: Operator) -> Any:
    return operator.matrix.toarray()


def adjacencies(n: int = 4) -> list[Any]:
    """The same directed graph in every way that PyTorch Geometric writes it."""
    weights = torch.tensor([1.0, 2.0, 0.5, 1.5, 4.0])
    coo = torch.sparse_coo_tensor(EDGES.flip(0), weights, (n, n), check_invariants=True)
    return [
        coo,
        coo.coalesce(),
        coo.to_sparse_csr(),
        coo.to_sparse_csc(),
        FakeSparseTensor(EDGES, weights, n),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_operator_of_edges_is_that_of_the_graph(small_graph: Graph, kind: str) -> None:
    rows = np.repeat(np.arange(small_graph.n_vertices), np.diff(small_graph.indptr))
    pairs = torch.from_numpy(np.stack([rows, small_graph.indices.astype(np.int64)]))
    weights = None if small_graph.weights is None else torch.tensor(small_graph.weights)
    made = prepare_operator(pairs, weights, small_graph.n_vertices, operator=kind)
    expected = operators.make_operator(kind, small_graph)
    assert type(made) is Operator
    assert made.interval == expected.interval
    np.testing.assert_allclose(dense(made), expected.matrix.toarray(), atol=1e-15)


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_adjacency_gives_the_operator_of_its_edges(form: int, kind: str) -> None:
    weights = torch.tensor([1.0, 2.0, 0.5, 1.5, 4.0])
    expected = prepare_operator(EDGES, weights, 4, operator=kind)
    made = prepare_operator(adjacencies()[form], operator=kind)
    assert isinstance(made, DirectedOperator)
    np.testing.assert_allclose(dense(made), dense(expected))


def test_rows_hold_the_edges_that_come_in() -> None:
    """With weights w, P_ij = w_{j→i} / √(d_i d_j) with d the sums of what comes in."""
    made = dense(prepare_operator(torch.tensor([[0, 1], [1, 0]]), torch.tensor([4.0, 1.0]), 2))
    np.testing.assert_allclose(made, [[1 / 2, 1 / np.sqrt(10)], [4 / np.sqrt(10), 1 / 5]])


def test_transpose_multiplies_as_the_transposed_matrix() -> None:
    operator = prepare_operator(EDGES, num_nodes=4, dtype=torch.float64)
    x = torch.randn(4, 3, dtype=torch.float64)
    np.testing.assert_allclose(operator.transposed @ x, dense(operator).T @ x.numpy())
    np.testing.assert_allclose(operator.transposed.transposed @ x, dense(operator) @ x.numpy())


def test_product_with_directed_operator_has_the_gradient_of_its_matrix() -> None:
    operator = prepare_operator(EDGES, num_nodes=4, dtype=torch.float64)
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: operator @ x, x)


def test_directed_operator_moves_to_another_precision_with_its_transpose() -> None:
    operator = prepare_operator(EDGES, num_nodes=4)
    moved = operator.to(dtype=torch.float64)
    assert moved.dtype == moved.transposed.dtype == torch.float64
    np.testing.assert_allclose(dense(moved.transposed), dense(operator).T)
    assert moved.to(dtype=torch.float64) is moved


def test_vertex_that_nothing_comes_in_to_speaks_to_none_without_self_loops() -> None:
    made = dense(prepare_operator(torch.tensor([[0, 1, 2], [1, 2, 1]]), operator="adjacency"))
    np.testing.assert_allclose(made, [[1, 0, 0], [0, 0, 1 / np.sqrt(2)], [0, 1 / np.sqrt(2), 0]])


def test_repeated_edges_of_different_weights_are_symmetric_in_any_order() -> None:
    edges = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])
    made = prepare_operator(edges, torch.tensor([0.1, 0.7, 0.7, 0.1]))
    assert type(made) is Operator


def test_preparing_changes_nothing_it_was_given() -> None:
    edges, weights = EDGES.clone(), torch.ones(5)
    prepare_operator(edges, weights, 4)
    assert edges._version == weights._version == 0


def test_operator_is_made_in_inference_mode_and_trains_outside() -> None:
    with torch.inference_mode():
        operator = prepare_operator(EDGES, num_nodes=4)
    x = torch.randn(4, 2, requires_grad=True)
    (operator @ x).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize(
    ("edges", "weights", "n", "message"),
    [
        (torch.tensor([[0, 5], [1, 0]]), None, 3, r"0\.\.2, one per row of x; got 0\.\.5"),
        (torch.tensor([[0, -1], [1, 0]]), None, 3, r"got -1\.\.1"),
        (torch.zeros(3, 4, dtype=torch.long), None, 3, r"shape \(2, m\)"),
        (torch.zeros(2, 4), None, 3, "whole numbers"),
        ([[0], [1]], None, 3, "got list"),
        (EDGES, torch.ones(3), 4, "one number per edge"),
        (EDGES, -torch.ones(5), 4, "not negative"),
        (EDGES, torch.full((5,), torch.nan), 4, "finite"),
        (EDGES, torch.ones(5, requires_grad=True), 4, "must not require a gradient"),
        (torch.eye(3).to_sparse_csr(), torch.ones(3), 3, "its values"),
        (torch.eye(3).to_sparse_csr(), None, 4, r"must be \(4, 4\)"),
        (torch.ones(2, 3).to_sparse_coo(), None, None, "square"),
    ],
)
def test_what_is_not_a_graph_is_refused(edges: Any, weights: Any, n: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        prepare_operator(edges, weights, n)


def test_unknown_operator_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'laplacian'"):
        prepare_operator(EDGES, operator="laplacien")

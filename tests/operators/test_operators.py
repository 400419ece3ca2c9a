"""Operators against their dense formulas, spectra and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from graphfilter import spectral
from graphfilter.data.graph import Graph
from graphfilter.operators import (
    OPERATORS,
    Operator,
    adjacency,
    augmented_adjacency,
    laplacian,
    make_operator,
)
from graphfilter.util.errors import ConfigError, GraphError

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]])


def random_columns(n: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, *shape, dtype=torch.float64, generator=generator)


def normalised(a: NDArray[np.float64]) -> NDArray[np.float64]:
    scale = np.diag(1 / np.sqrt(a.sum(axis=1)))
    return scale @ a @ scale


def dense_formula(kind: str, graph: Graph) -> NDArray[np.float64]:
    a = graph.adjacency.toarray()
    identity = np.eye(len(a))
    if kind in ("augmented_adjacency", "channels"):  # as an operator, that of all edges
        return normalised(a + identity)
    hat = normalised(a + np.diag(graph.degrees == 0))
    if kind in ("coupling", "co_citation"):  # of a graph without directions
        return hat @ hat
    return hat if kind == "adjacency" else identity - hat


@pytest.mark.parametrize("kind", OPERATORS)
def test_operator_equals_its_dense_formula(kind: str, small_graph: Graph) -> None:
    operator = make_operator(kind, small_graph, dtype=torch.float64)
    expected = dense_formula(kind, small_graph)
    np.testing.assert_allclose(operator.matrix.toarray(), expected, atol=1e-15)
    x = random_columns(operator.n, 3)
    np.testing.assert_allclose((operator @ x).numpy(), expected @ x.numpy(), atol=1e-14)


@pytest.mark.parametrize("kind", OPERATORS)
def test_operator_is_symmetric_with_its_spectrum_in_its_interval(
    kind: str, small_graph: Graph
) -> None:
    operator = make_operator(kind, small_graph)
    matrix = operator.matrix.toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    eigenvalues = np.linalg.eigvalsh(matrix)
    low, high = operator.interval
    assert eigenvalues.min() >= low - 1e-12
    assert eigenvalues.max() <= high + 1e-12
    assert operator.radius >= np.abs(eigenvalues).max() - 1e-12


@pytest.mark.parametrize("kind", ["adjacency", "augmented_adjacency"])
def test_averages_are_those_of_neighbours(kind: str, small_graph: Graph) -> None:
    """Of a vertex alone, where it has none."""
    operator = make_operator(kind, small_graph, dtype=torch.float64)
    isolated = np.diag((small_graph.degrees == 0).astype(float))
    added = np.eye(operator.n) if kind == "augmented_adjacency" else isolated
    counted = small_graph.adjacency.toarray() + added
    x = random_columns(operator.n, 6).requires_grad_()
    expected = torch.tensor(counted / counted.sum(axis=1, keepdims=True)) @ x
    for shape in [(-1, 6), (-1, 2, 3)]:
        made = operator.average(x.view(shape))
        torch.testing.assert_close(made.reshape(-1, 6), expected, atol=1e-12, rtol=0)
    assert torch.autograd.gradcheck(operator.average, (x,))


def test_operators_without_scales_average_as_they_multiply(small_graph: Graph) -> None:
    operator = Operator(small_graph.adjacency, (-9.0, 9.0), "plain", dtype=torch.float64)
    x = random_columns(operator.n, 2)
    torch.testing.assert_close(operator.average(x), operator @ x)


def test_adjacency_is_identity_minus_laplacian(small_graph: Graph) -> None:
    total = adjacency(small_graph).matrix + laplacian(small_graph).matrix
    np.testing.assert_allclose(total.toarray(), np.eye(small_graph.n_vertices), atol=1e-15)


def test_laplacian_equals_the_spectral_one(small_graph: Graph) -> None:
    expected = spectral.laplacian(small_graph).toarray()
    np.testing.assert_allclose(laplacian(small_graph).matrix.toarray(), expected, atol=1e-15)


def test_laplacian_equals_scipy(small_graph: Graph) -> None:
    expected = sp.csgraph.laplacian(small_graph.adjacency, normed=True).toarray()
    np.testing.assert_allclose(laplacian(small_graph).matrix.toarray(), expected, atol=1e-14)


def test_adjacencies_fix_the_square_roots_of_their_degrees(small_graph: Graph) -> None:
    """Eigenvalue 1: D^{1/2} 1 for Â (where all have neighbours), (D + I)^{1/2} 1 for Ã."""
    degrees = torch.from_numpy(small_graph.degrees)
    plain = torch.where(degrees == 0, 1.0, degrees).sqrt()
    augmented = (degrees + 1).sqrt()
    for make, vector in ((adjacency, plain), (augmented_adjacency, augmented)):
        operator = make(small_graph, dtype=torch.float64)
        torch.testing.assert_close(operator @ vector, vector)


def test_isolated_vertices_keep_their_signal_and_have_frequency_zero() -> None:
    graph = Graph.from_edges([[0, 1]], n_vertices=4)
    x = random_columns(4, 2)
    for make in (adjacency, augmented_adjacency):
        torch.testing.assert_close((make(graph, dtype=torch.float64) @ x)[2:], x[2:])
    assert not (laplacian(graph, dtype=torch.float64) @ x)[2:].any()


def test_operator_of_a_single_vertex() -> None:
    graph = Graph.of(None, n_vertices=1)
    x = torch.tensor([[3.0]])
    assert (augmented_adjacency(graph) @ x).item() == (adjacency(graph) @ x).item() == 3
    assert (laplacian(graph) @ x).item() == 0


@pytest.mark.parametrize("kind", OPERATORS)
def test_operator_product_has_the_right_gradients(kind: str, small_graph: Graph) -> None:
    operator = make_operator(kind, small_graph, dtype=torch.float64)
    x = random_columns(operator.n, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: operator @ x, x)
    assert torch.autograd.gradgradcheck(lambda x: (operator @ x).square(), x)


def test_operator_product_takes_any_strides_and_shapes() -> None:
    operator = laplacian(PATH, dtype=torch.float64)
    matrix = torch.from_numpy(operator.matrix.toarray())
    transposed = random_columns(3, 4).T.requires_grad_()
    torch.testing.assert_close(operator @ transposed, matrix @ transposed)
    strided = random_columns(4, 6)[:, ::2]
    torch.testing.assert_close(operator @ strided, matrix @ strided)
    expanded = random_columns(4, 1).expand(4, 3)
    torch.testing.assert_close(operator @ expanded, matrix @ expanded)
    vector = random_columns(4)
    torch.testing.assert_close(operator @ vector, matrix @ vector)
    groups = random_columns(4, 2, 3)
    torch.testing.assert_close(operator @ groups, torch.einsum("uv,vgc->ugc", matrix, groups))
    assert (operator @ torch.empty(4, 0, dtype=torch.float64)).shape == (4, 0)


def test_operator_multiply_scales_and_keeps() -> None:
    operator = adjacency(PATH, dtype=torch.float64)
    x, out = random_columns(4, 2), torch.ones(4, 2, dtype=torch.float64)
    expected = 3 * (operator @ x) - 2 * out
    got = operator.multiply(x, out=out, scale=3.0, keep=-2.0)
    assert got is out
    torch.testing.assert_close(out, expected)


def test_operator_multiply_overwrites_garbage_where_nothing_is_kept() -> None:
    operator = adjacency(PATH, dtype=torch.float64)
    x = random_columns(4, 2)
    out = torch.full((4, 2), torch.nan, dtype=torch.float64)
    torch.testing.assert_close(operator.multiply(x, out=out), operator @ x)


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        (torch.ones(5, 2), r"one row per vertex \(4\); got shape \(5, 2\)"),
        (torch.tensor(1.0), r"got shape \(\)"),
        (torch.ones(4, 2, dtype=torch.float64), "float32 on cpu, the signal torch.float64"),
        (torch.ones(4, 2, dtype=torch.int64), "signal torch.int64"),
        (torch.ones(4, 2, device="meta"), r"on meta; move one of them with \.to\(\)"),
    ],
)
def test_operator_refuses_a_signal_it_cannot_multiply(x: torch.Tensor, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        _ = adjacency(PATH) @ x


def test_operator_to_changes_precision_from_the_exact_matrix() -> None:
    single = laplacian(PATH)
    assert single.to() is single
    double = single.to(dtype=torch.float64)
    assert (double.dtype, double.kind, double.interval) == (torch.float64, "laplacian", (0, 2))
    identity = torch.eye(4, dtype=torch.float64)
    np.testing.assert_array_equal((double @ identity).numpy(), single.matrix.toarray())


def test_operator_matrix_cannot_be_written_to() -> None:
    given = sp.csr_array(np.eye(3))
    operator = Operator(given, (1.0, 1.0), "identity")
    with pytest.raises(ValueError, match="read-only"):
        operator.matrix.data[:] = 0.0
    given.data[:] = 5.0


def test_make_operator_refuses_an_unknown_kind() -> None:
    with pytest.raises(ConfigError, match="did you mean 'laplacian'"):
        make_operator("laplacain", PATH)


def test_operator_repr_says_what_it_is() -> None:
    assert repr(laplacian(PATH)) == "Operator(laplacian, 4 vertices, spectrum in [0, 2])"
    assert isinstance(laplacian(PATH), Operator)

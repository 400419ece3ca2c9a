"""Operators of directed graphs, kept as products of two factors, against their dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.operators import Operator, co_citation, coupling, make_operator
from graphfilter.operators.kernels.product_kernel import GramKernel, GramMatrix
from graphfilter.operators.polynomial import Basis, apply_polynomial
from graphfilter.util.errors import GraphError

KINDS = ("coupling", "co_citation")


def dense_formula(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """The similarity A D_i⁻¹ Aᵀ, normalised by its row sums; alone, a vertex is like itself."""
    into = links.sum(axis=0)
    similar = links @ np.diag(1 / np.where(into == 0, 1, into)) @ links.T
    similar += np.diag(similar.sum(axis=1) == 0)
    scale = np.diag(1 / np.sqrt(similar.sum(axis=1)))
    return scale @ similar @ scale


@st.composite
def directed_graphs(draw) -> Graph:
    n = draw(st.integers(1, 8))
    m = draw(st.integers(0, 25))
    pairs = draw(arrays(np.int64, (m, 2), elements=st.integers(0, n - 1)))
    weights = draw(st.none() | arrays(np.float32, m, elements=st.floats(0.5, 8, width=16)))
    return Graph.from_edges(pairs, n, weights=weights, directed=True)


def hub(n: int = 40) -> Graph:
    """Everyone links to vertex 0, which links to no one; a ring among the others."""
    arcs = [[v, 0] for v in range(1, n)] + [[v, v % (n - 1) + 1] for v in range(1, n)]
    return Graph.from_edges(arcs, n + 1, directed=True)


def test_coupling_and_co_citation_in_closed_form():
    """0 and 1 both link to 2: they are coupled; 3 and 4 are cited together, by 5."""
    graph = Graph.from_edges([[0, 2], [1, 2], [5, 3], [5, 4]], directed=True)
    coupled = coupling(graph, dtype=torch.float64).matrix.toarray()
    cited = co_citation(graph, dtype=torch.float64).matrix.toarray()
    half = np.full((2, 2), 0.5)
    expected = np.eye(6)
    expected[:2, :2] = half
    np.testing.assert_allclose(coupled, expected, atol=1e-15)
    expected = np.eye(6)
    expected[3:5, 3:5] = half
    np.testing.assert_allclose(cited, expected, atol=1e-15)


@pytest.mark.parametrize("most", [0, 2**15], ids=["factored", "formed"])
@settings(max_examples=40)
@given(graph=directed_graphs())
def test_directed_operators_equal_their_dense_formulas(most, graph):
    links = graph.out_links().toarray().astype(np.float64)
    x = torch.randn(graph.n_vertices, 3, dtype=torch.float64)
    for kind, a in (("coupling", links), ("co_citation", links.T)):
        operator = make_operator(kind, graph, dtype=torch.float64, form_up_to=most)
        expected = dense_formula(a)
        np.testing.assert_allclose(operator.matrix.toarray(), expected, atol=1e-12)
        np.testing.assert_allclose((operator @ x).numpy(), expected @ x.numpy(), atol=1e-12)
        eigenvalues = np.linalg.eigvalsh(expected)
        assert eigenvalues.min() > -1e-9
        assert abs(eigenvalues.max() - 1) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(graph=directed_graphs())
def test_turning_every_arc_swaps_the_two(kind, graph):
    other = KINDS[1 - KINDS.index(kind)]
    links = graph.in_links()
    turned = Graph.from_scipy(links, directed=True)
    got = make_operator(other, turned).matrix.toarray()
    np.testing.assert_allclose(got, make_operator(kind, graph).matrix.toarray(), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hub_is_not_multiplied_out(kind):
    graph = hub()
    operator = make_operator(kind, graph, form_up_to=0)
    assert isinstance(operator.kernel, GramKernel)
    assert operator.kernel.matrix.n_entries == 2 * graph.out_links().nnz
    assert sum(part.n_entries for part in operator.factors()) == graph.out_links().nnz
    if kind == "coupling":
        assert operator.matrix.nnz > 38 * 38


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("basis", [Basis.powers(), Basis.chebyshev(0.0, 1.0)], ids=["pow", "cheb"])
def test_polynomials_equal_dense_ones_in_value_and_gradient(kind, dtype, tolerance, basis):
    graph = hub()
    operator = make_operator(kind, graph, dtype=dtype, form_up_to=0)
    dense = torch.from_numpy(operator.matrix.toarray())
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(operator.n, 6, generator=generator, dtype=torch.float64)
    weights = torch.randn(4, 2, generator=generator, dtype=torch.float64)
    results = []
    for exact in (True, False):
        leaves = [t.to(torch.float64 if exact else dtype).requires_grad_() for t in (x, weights)]
        if exact:
            t = basis.scale * dense + basis.shift * torch.eye(operator.n, dtype=torch.float64)
            terms = [leaves[0], t @ leaves[0]]
            for _ in range(2):
                terms.append(basis.step * (t @ terms[-1]) - basis.back * terms[-2])
            spread = leaves[1].repeat_interleave(3, 1)
            y = sum(w * term for w, term in zip(spread, terms, strict=True))
        else:
            y = apply_polynomial(operator, basis, leaves[1], leaves[0])
        assert isinstance(y, torch.Tensor)
        results.append([y, *torch.autograd.grad(y.square().sum(), leaves)])
    for got, expected in zip(results[1], results[0], strict=True):
        scale = expected.abs().max()
        assert (got.double() - expected).abs().max() <= 20 * tolerance * scale


def test_product_is_multiplied_out_where_it_is_small():
    path = Graph.from_edges([[v, v + 1] for v in range(50)], directed=True)
    assert not isinstance(coupling(path).kernel.matrix, GramMatrix)
    star = Graph.from_edges([[v, 0] for v in range(1, 200)], directed=True)
    assert isinstance(coupling(star).kernel.matrix, GramMatrix)
    assert not isinstance(co_citation(star).kernel.matrix, GramMatrix)


def test_what_is_not_kept_is_not_read():
    operator = coupling(hub(), form_up_to=0)
    x = torch.ones(operator.n, 3)
    out = operator.multiply(x, out=torch.full_like(x, float("nan")))
    assert out.isfinite().all()


def test_entries_of_a_factored_product_cannot_be_replaced():
    kernel = coupling(hub(), form_up_to=0).kernel
    x = torch.ones(kernel.matrix.shape[0], 3)
    with pytest.raises(GraphError, match="no entries to replace"):
        kernel.multiply(x, out=torch.empty_like(x), values=torch.ones(1, kernel.matrix.n_entries))


def test_directed_operator_moves_to_another_precision():
    operator = coupling(hub(), form_up_to=0)
    doubled = operator.to(dtype=torch.float64)
    assert isinstance(doubled, Operator)
    assert isinstance(doubled.kernel.matrix, GramMatrix)
    x = torch.ones(operator.n, 2)
    torch.testing.assert_close((doubled @ x.double()).float(), operator @ x)
    torch.testing.assert_close(operator.csr() @ x, operator @ x)

"""Operators and polynomials of them, directed and sparse too, against dense products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from torch import Tensor

from graphfilter import spectral
from graphfilter.data.graph import Graph
from graphfilter.operators import (
    OPERATORS,
    Operator,
    adjacency,
    augmented_adjacency,
    co_citation,
    coupling,
    laplacian,
    make_operator,
)
from graphfilter.operators.kernels.product_kernel import FactoredMatrix, GramKernel, GramMatrix
from graphfilter.operators.operator import loop_weight
from graphfilter.operators.polynomial import Basis, apply_polynomial, apply_with_dropout
from graphfilter.operators.sparse import SparseFeatures
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
        return normalised(a + loop_weight(graph) * identity)
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
    loops = loop_weight(small_graph) * np.eye(operator.n)
    added = loops if kind == "augmented_adjacency" else isolated
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
    """Eigenvalue 1: D^{1/2} 1 for Â (where all have neighbours), (D + cI)^{1/2} 1 for Ã."""
    degrees = torch.from_numpy(small_graph.degrees)
    plain = torch.where(degrees == 0, 1.0, degrees).sqrt()
    augmented = (degrees + loop_weight(small_graph)).sqrt()
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


BASES = {
    "powers": Basis.powers(),
    "scaled powers": Basis.powers(2.0),
    "chebyshev": Basis.chebyshev(0.0, 2.0),
    "symmetric chebyshev": Basis.chebyshev(-2.0, 2.0),
    "legendre-like": Basis(scale=0.5, shift=-0.25, step=1.5, back=0.5),
}
coefficients = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=1, max_size=9)


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def plain(matrix: Tensor, basis: Basis, weights: Tensor, x: Tensor) -> Tensor:
    """The sum as the docstring states it, with dense products that autograd follows.

    A group of columns has its own weights: (K + 1, g) for x of (n, g * c).
    """
    per_column = weights.repeat_interleave(x.shape[1] // weights.shape[1], dim=1)
    t = basis.scale * matrix + basis.shift * torch.eye(len(matrix), dtype=matrix.dtype)
    terms = [x, t @ x]
    while len(terms) < len(weights):
        terms.append(basis.step * t @ terms[-1] - basis.back * terms[-2])
    return torch.stack([per_column[k] * terms[k] for k in range(len(weights))]).sum(0)


def dense(operator: Operator) -> Tensor:
    return torch.from_numpy(operator.matrix.toarray())


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_polynomial_and_its_gradients_equal_plain_autograd(
    basis: Basis, n_groups: int, degree: int, small_graph: Graph
) -> None:
    operator = laplacian(small_graph, dtype=torch.float64)
    weights = randn(degree + 1, n_groups, seed=1).requires_grad_()
    x = randn(operator.n, 6, seed=2).requires_grad_()
    ours = apply_polynomial(operator, basis, weights, x)
    theirs = plain(dense(operator), basis, weights, x)
    torch.testing.assert_close(ours, theirs)
    grad = randn(operator.n, 6, seed=3)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (weights, x), grad),
        torch.autograd.grad(theirs, (weights, x), grad),
    )


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_polynomial_gradcheck(basis: Basis) -> None:
    operator = augmented_adjacency(Graph.from_edges([[0, 1], [1, 2], [0, 2]]), dtype=torch.float64)
    weights = randn(5).requires_grad_()
    x = randn(3, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda w, x: apply_polynomial(operator, basis, w, x), (weights, x)
    )


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_polynomial_acts_on_the_spectrum(basis: Basis, small_graph: Graph) -> None:
    """f(P) x = U f(Λ) Uᵀ x."""
    operator = laplacian(small_graph, dtype=torch.float64)
    eigenvalues, vectors = torch.linalg.eigh(dense(operator))
    weights, x = randn(6), randn(operator.n, 2, seed=1)
    response = basis.evaluate(weights, eigenvalues)
    expected = vectors @ (response[:, None] * (vectors.T @ x))
    torch.testing.assert_close(apply_polynomial(operator, basis, weights, x), expected)


def test_polynomial_takes_strides_and_double_weights_on_single_columns() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]))
    x = torch.arange(12, dtype=torch.float32).reshape(4, 3).T.requires_grad_()
    weights = randn(4).requires_grad_()
    y = apply_polynomial(operator, Basis.powers(2.0), weights, x)
    assert y.dtype == torch.float32
    y.square().sum().backward()
    assert weights.grad is not None
    assert weights.grad.dtype == torch.float64
    matrix, w = dense(operator), weights.detach()
    expected = plain(matrix, Basis.powers(2.0), w[:, None], x.detach().double())
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("wanted", ["weights", "x"])
def test_polynomial_gives_one_gradient_without_the_other(wanted: str) -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    tensors = {"weights": randn(3, 1), "x": randn(3, 2)}
    tensors[wanted].requires_grad_()
    basis = Basis.chebyshev(0, 2)
    ours = apply_polynomial(operator, basis, **tensors).sum()
    theirs = plain(dense(operator), basis, **tensors).sum()
    torch.testing.assert_close(
        torch.autograd.grad(ours, tensors[wanted]), torch.autograd.grad(theirs, tensors[wanted])
    )


def test_polynomial_leaves_its_input_alone() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    x, weights = randn(3, 2).requires_grad_(), randn(5).requires_grad_()
    before = x.detach().clone(), weights.detach().clone()
    apply_polynomial(operator, Basis.chebyshev(0, 2), weights, x).sum().backward()
    assert torch.equal(x, before[0])
    assert torch.equal(weights, before[1])


@pytest.mark.parametrize("n_groups", [1, 2])
def test_polynomial_saves_its_input_and_nothing_that_grows(n_groups: int) -> None:
    """What autograd keeps for the backward pass: x and the K + 1 weights, at any degree."""
    operator = laplacian(Graph.from_edges([[i, i + 1] for i in range(49)]))

    def saved_sizes(degree: int) -> list[int]:
        sizes: list[int] = []

        def pack(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        x = torch.ones(50, 4, requires_grad=True)
        weights = torch.ones(degree + 1, n_groups, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            apply_polynomial(operator, Basis.powers(2.0), weights, x)
        return sorted(sizes)

    for degree in (1, 4, 64):
        assert saved_sizes(degree) == sorted([(degree + 1) * n_groups, 50 * 4])


def test_polynomial_refuses_second_derivatives() -> None:
    """Rather than give wrong ones: the backward pass is not recorded."""
    operator = laplacian(Graph.from_edges([[0, 1]]), dtype=torch.float64)
    x = randn(2, 1).requires_grad_()
    y = apply_polynomial(operator, Basis.powers(), randn(3).requires_grad_(), x)
    (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_polynomial_refuses_columns_of_another_graph() -> None:
    operator = laplacian(Graph.from_edges([[0, 1]]))
    with pytest.raises(GraphError, match="one row per vertex"):
        apply_polynomial(operator, Basis.powers(), torch.ones(2), torch.ones(3, 1))


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_dropout_of_nothing_changes_nothing(basis: Basis, small_graph: Graph) -> None:
    operator = laplacian(small_graph, dtype=torch.float64)
    weights, x = randn(5), randn(operator.n, 3, seed=1)
    torch.testing.assert_close(
        apply_with_dropout(operator, basis, weights, x, lambda h: h),
        apply_polynomial(operator, basis, weights, x),
    )


def test_dropout_of_everything_leaves_the_constant_term() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    weights, x = randn(5), randn(3, 2, seed=1)
    got = apply_with_dropout(operator, Basis.powers(), weights, x, torch.zeros_like)
    torch.testing.assert_close(got, weights[0] * x)


def test_dropout_acts_on_the_input_of_every_product() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    weights, x = randn(4), randn(3, 2, seed=1)
    masks = [randn(3, 2, seed=s).gt(0).double() for s in (2, 3, 4)]
    queue = iter(masks)
    got = apply_with_dropout(operator, Basis.powers(), weights, x, lambda h: h * next(queue))
    expected, h = weights[0] * x, x
    for k, mask in enumerate(masks, start=1):
        h = dense(operator) @ (mask * h)
        expected = expected + weights[k] * h
    torch.testing.assert_close(got, expected)


def as_tensor(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(coefficients)
def test_chebyshev_basis_equals_numpy(values: list[float]) -> None:
    basis = Basis.chebyshev(0.5, 2.0)
    lam = np.linspace(0.5, 2, 11)
    theirs = np.polynomial.Chebyshev(values, domain=[0.5, 2.0])
    evaluated = basis.evaluate(as_tensor(values), torch.from_numpy(lam))
    np.testing.assert_allclose(evaluated, theirs(lam), atol=1e-10)
    converted = basis.to_powers(as_tensor(values)).numpy()
    powers = np.zeros(len(values))  # numpy trims leading zeros
    trimmed = theirs.convert(domain=[-1, 1], kind=np.polynomial.Polynomial).coef
    powers[: len(trimmed)] = trimmed
    np.testing.assert_allclose(converted, powers, rtol=1e-8, atol=1e-6)


@given(coefficients, st.floats(0.25, 4))
def test_powers_basis_equals_numpy(values: list[float], radius: float) -> None:
    basis = Basis.powers(radius)
    lam = np.linspace(-radius, radius, 11)
    expected = np.polynomial.polynomial.polyval(lam / radius, values)
    evaluated = basis.evaluate(as_tensor(values), torch.from_numpy(lam))
    np.testing.assert_allclose(evaluated, expected, atol=1e-10)
    np.testing.assert_allclose(
        basis.to_powers(as_tensor(values)).numpy(), values / radius ** np.arange(len(values))
    )


KINDS = ("coupling", "co_citation")


def directed_formula(links: NDArray[np.float64]) -> NDArray[np.float64]:
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
        expected = directed_formula(a)
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


tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5]),
)


def dense_like(x: SparseFeatures, matrix: sp.csr_array, values: torch.Tensor) -> torch.Tensor:
    """The dense matrix whose stored entries, row by row, are ``values``."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    dense = torch.zeros(x.shape, dtype=torch.float64)
    dense[rows, matrix.indices] = values
    return dense


@given(tables, st.integers(1, 3), st.booleans())
def test_project_and_its_gradient_equal_dense_autograd(
    table: NDArray[np.float64], n_columns: int, replaced: bool
) -> None:
    matrix = sp.csr_array(table)
    x = SparseFeatures(matrix, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(
        x.shape[1], n_columns, dtype=torch.float64, generator=generator, requires_grad=True
    )
    values = torch.randn(n_columns, matrix.nnz, dtype=torch.float64, generator=generator)
    ours = x.project(weight, values if replaced else None)
    entries = values if replaced else x.values.expand(n_columns, -1)
    columns = zip(entries, weight.unbind(1), strict=True)
    theirs = torch.stack([dense_like(x, matrix, v) @ w for v, w in columns], dim=1)
    torch.testing.assert_close(ours, theirs)
    grad = torch.randn(ours.shape, dtype=torch.float64, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(ours, weight, grad), torch.autograd.grad(theirs, weight, grad)
    )


def test_transpose_is_made_for_the_first_gradient() -> None:
    x = SparseFeatures(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), dtype=torch.float64)
    weight = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    made = x.project(weight)
    assert "transposed" not in vars(x)
    made.sum().backward()
    assert "transposed" in vars(x)


def test_transpose_has_the_entries_of_a_column_in_the_order_of_rows() -> None:
    matrix = sp.random_array((40, 30), density=0.2, rng=0, dtype=np.float32).tocsr()
    order, kernel = SparseFeatures(matrix, dtype=torch.bfloat16).transposed
    numbered = sp.csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
    expected = numbered.T.tocsr()
    np.testing.assert_array_equal(order, expected.data)
    np.testing.assert_array_equal(kernel.matrix.offsets, expected.indptr)
    np.testing.assert_array_equal(kernel.matrix.columns, expected.indices)
    assert kernel.matrix.columns.dtype == torch.int32


def test_project_gradcheck() -> None:
    x = SparseFeatures(sp.random_array((7, 5), density=0.4, rng=0).tocsr(), dtype=torch.float64)
    weight = torch.ones(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(x.project, weight)


def test_project_takes_weights_of_any_strides() -> None:
    matrix = sp.random_array((7, 5), density=0.4, rng=0).tocsr()
    x = SparseFeatures(matrix, dtype=torch.float64)
    weight = torch.arange(10, dtype=torch.float64).reshape(2, 5).T
    np.testing.assert_allclose(x.project(weight).numpy(), matrix.toarray() @ weight.numpy())


def test_sparse_features_take_unsorted_rows() -> None:
    unsorted = sp.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    x = SparseFeatures(unsorted, dtype=torch.float64)
    identity = torch.eye(3, dtype=torch.float64, requires_grad=True)
    out = x.project(identity)
    np.testing.assert_array_equal(out.detach().numpy(), [[2, 0, 1], [0, 3, 0]])
    (grad,) = torch.autograd.grad(out, identity, torch.eye(2, 3, dtype=torch.float64))
    expected = unsorted.toarray().T @ np.eye(2, 3)
    np.testing.assert_array_equal(grad.numpy(), expected)


def test_sparse_features_hold_a_copy() -> None:
    matrix = sp.csr_array(np.eye(3))
    x = SparseFeatures(matrix)
    matrix.data[:] = 7
    assert x.values.tolist() == [1, 1, 1]
    assert x.shape == (3, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_csr_equals_the_matrix(dtype: torch.dtype) -> None:
    matrix = sp.random_array((4, 6), density=0.5, rng=0).tocsr()
    tensor = FactoredMatrix.from_scipy(matrix).to_csr_tensor(dtype)
    assert tensor.dtype == dtype
    assert tensor.col_indices().dtype == tensor.crow_indices().dtype == torch.int32
    expected = torch.from_numpy(matrix.toarray()).to(dtype)
    torch.testing.assert_close(tensor.to_dense(), expected, rtol=0, atol=0)


def test_csr_widens_indices_that_do_not_fit() -> None:
    """A matrix of one stored entry, wider than int32 can number."""
    wide = sp.csr_array((np.ones(1), np.array([2**31]), np.array([0, 1])), shape=(1, 2**31 + 1))
    tensor = FactoredMatrix.from_scipy(wide).to_csr_tensor(torch.float32)
    assert tensor.col_indices().dtype == torch.int64
    assert tensor.col_indices().tolist() == [2**31]

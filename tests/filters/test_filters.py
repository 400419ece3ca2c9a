"""Filters: closed forms and starts, and the adjacencies that they take as layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from graphfilter import operators
from graphfilter.data import make_karate
from graphfilter.data.graph import Graph
from graphfilter.filters import (
    ChebyshevFilter,
    ExactPageRankFilter,
    HorizontalFilter,
    PageRankFilter,
    PowerFilter,
    StackedFilter,
    stacked,
)
from graphfilter.operators import Operator, augmented_adjacency, laplacian
from graphfilter.pyg import prepare_operator
from graphfilter.util.errors import ConfigError, GraphError

scalars = st.floats(-2, 2, allow_subnormal=False)
LAM = np.linspace(-1, 2, 13)


@given(st.lists(st.tuples(scalars, scalars), min_size=1, max_size=8))
def test_stacked_filter_equals_its_closed_form(pairs: list[tuple[float, float]]) -> None:
    """Equation 8, written as the recurrence it comes from."""
    stacked = StackedFilter(n_layers=len(pairs)).double()
    stacked.alpha.data = torch.tensor([a for a, _ in pairs], dtype=torch.float64)
    stacked.beta.data = torch.tensor([b for _, b in pairs], dtype=torch.float64)
    h = np.ones_like(LAM)
    for alpha, beta in pairs:
        h = alpha * LAM * h + beta
    np.testing.assert_allclose(stacked.response(LAM), h, rtol=1e-9, atol=1e-9)


@given(st.lists(scalars, min_size=2, max_size=9))
def test_stacked_filter_represents_any_polynomial(theta: list[float]) -> None:
    """Proposition 1."""
    stacked = StackedFilter.from_polynomial(torch.tensor(theta, dtype=torch.float64))
    np.testing.assert_array_equal(stacked.coefficients().detach().numpy(), theta)


def test_stacked_filter_keeps_the_initial_value_asked_for() -> None:
    stacked = StackedFilter(n_layers=4, init=0.25)
    assert stacked.alpha.tolist() == stacked.beta.tolist() == [0.25] * 4


def test_stacked_filter_uniform_start_follows_its_seed() -> None:
    first, again = (StackedFilter(init="uniform", seed=7) for _ in range(2))
    other = StackedFilter(init="uniform", seed=8)
    assert torch.equal(first.alpha, again.alpha)
    assert not torch.equal(first.alpha, other.alpha)
    assert first.alpha.abs().max() <= 1
    assert first.alpha.min() < 0 < first.alpha.max()


def test_stacked_filter_gradients_equal_autograd_through_the_layers() -> None:
    graph = Graph.from_edges([[i, (i * 3 + 1) % 20] for i in range(20)])
    for operator in (augmented_adjacency(graph), laplacian(graph)):
        operator = operator.to(dtype=torch.float64)
        stacked = StackedFilter(n_layers=16, init="uniform", seed=1).double()
        x = torch.randn(20, 4, dtype=torch.float64, requires_grad=True)
        target = torch.randn(20, 4, dtype=torch.float64)
        wanted = (x, stacked.alpha, stacked.beta)
        fast = torch.autograd.grad((stacked(operator, x) * target).sum(), wanted)
        # With a dropout of nothing the layers run one by one through autograd.
        layers = stacked(operator, x, lambda h: h)
        slow = torch.autograd.grad((layers * target).sum(), wanted)
        for got, expected in zip(fast, slow, strict=True):
            torch.testing.assert_close(got, expected)


def test_coefficients_have_the_gradient_of_their_product_where_some_factors_are_zero() -> None:
    alpha, beta = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator())
    alpha[0, 2] = 0.0
    given = alpha.requires_grad_(), beta.requires_grad_()
    assert torch.autograd.gradcheck(stacked._Coefficients.apply, given)


@pytest.mark.parametrize("kind", [augmented_adjacency, laplacian])
@pytest.mark.parametrize("n_layers", [16, 64, 128])
def test_stacked_filter_in_float32_stays_near_float64(kind: object, n_layers: int) -> None:
    """Powers of the Laplacian reach 2^K; scaled by its radius they do not overflow."""
    graph = Graph.from_edges([[i, (i * 7 + 1) % 50] for i in range(50)])
    operator = kind(graph)  # pyright: ignore
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    results = []
    for dtype in (torch.float32, torch.float64):
        stacked = StackedFilter(n_layers=n_layers).to(dtype)
        y = stacked(operator.to(dtype=dtype), x.to(dtype))
        results.append((y, *torch.autograd.grad(y.square().sum(), [stacked.alpha, stacked.beta])))
    for single, double in zip(*results, strict=True):
        assert torch.linalg.norm(single - double) <= 1e-4 * torch.linalg.norm(double)


def test_an_even_power_passes_the_highest_frequency() -> None:
    """The paper's low-pass SGC is none at eigenvalue -1; personalised PageRank is."""
    assert PowerFilter(2).response(np.array([-1.0, 0.0, 1.0])).tolist() == [1.0, 0.0, 1.0]
    low = ExactPageRankFilter(alpha=0.1).response(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(low, [0.1 / 1.9, 1.0])


def test_pagerank_filter_converges_to_its_exact_form() -> None:
    long, exact = PageRankFilter(K=400, alpha=0.1), ExactPageRankFilter(alpha=0.1)
    lam = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(long.response(lam), exact.response(lam), atol=1e-9)
    np.testing.assert_allclose(exact.response(lam), 0.1 / (1 - 0.9 * lam), rtol=0, atol=1e-12)


def test_pagerank_filter_with_full_teleport_is_the_identity() -> None:
    for filter_ in (PageRankFilter(K=3, alpha=1.0), ExactPageRankFilter(alpha=1.0)):
        np.testing.assert_allclose(filter_.response(np.linspace(-1, 1, 5)), 1.0)


def test_chebyshev_filter_equals_numpys_series() -> None:
    filter_ = ChebyshevFilter(degree=5, lambda_max=1.5).double()
    filter_.cheby.data = torch.tensor([0.3, -1, 0.5, 2, 0.1, -0.4], dtype=torch.float64)
    series = np.polynomial.Chebyshev(filter_.cheby.detach().numpy(), domain=[0, 1.5])
    np.testing.assert_allclose(filter_.response(LAM), series(LAM))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StackedFilter(n_layers=0), "n_layers must be a whole number from 1"),
        (lambda: StackedFilter(init="random"), "a number or 'uniform'; got 'random'"),  # pyright: ignore
        (lambda: StackedFilter(init=1e308), r"init must be a finite number, at most 3.4e\+38"),
        (lambda: StackedFilter(init=10**400), "init must be a finite number"),
        (lambda: StackedFilter.from_polynomial([1.0]), "at least two coefficients"),
        (lambda: HorizontalFilter(3, init=[1.0, 2.0]), r"degree \+ 1 = 4"),
        (lambda: ChebyshevFilter(lambda_max=0.0), "must exceed"),
        (lambda: PageRankFilter(alpha=0.0), r"in \(0, 1\]"),
        (lambda: PageRankFilter(K=-1), "must be a whole number from 0"),
    ],
)
def test_filters_refuse_impossible_settings(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # pyright: ignore


OPERATOR = augmented_adjacency(make_karate(), dtype=torch.float64)
X = torch.randn(OPERATOR.n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("steps", [1, 2, 10])
@pytest.mark.parametrize("alpha", [0.1, 0.8])
def test_pagerank_filter_equals_its_iteration(steps: int, alpha: float) -> None:
    """Klicpera et al. 2019, equation 4: Z ← (1 - α) P Z + α H, begun at H."""
    z = X
    for _ in range(steps):
        z = (1 - alpha) * (OPERATOR @ z) + alpha * X
    torch.testing.assert_close(PageRankFilter(steps, alpha)(OPERATOR, X), z)


@pytest.mark.parametrize("alpha", [0.1, 0.8])
def test_exact_pagerank_filter_solves_its_equation(alpha: float) -> None:
    """Klicpera et al. 2019, equation 3: (I - (1 - α) P) Z = α H."""
    z = ExactPageRankFilter(alpha)(OPERATOR, X)
    torch.testing.assert_close(z - (1 - alpha) * (OPERATOR @ z), alpha * X)


def test_pagerank_filters_keep_the_lowest_frequency() -> None:
    for filter_ in (PageRankFilter(10, 0.1), ExactPageRankFilter(0.1)):
        assert filter_.response([1.0])[0] == pytest.approx(1.0)


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
    # Loops weigh 1, as in PyTorch Geometric.
    loop = {"loop": 1.0} if kind == "augmented_adjacency" else {}
    expected = operators.make_operator(kind, small_graph, **loop)
    assert made.transposed is made
    assert made.interval == expected.interval
    np.testing.assert_allclose(dense(made), expected.matrix.toarray(), atol=1e-15)


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_adjacency_gives_the_operator_of_its_edges(form: int, kind: str) -> None:
    weights = torch.tensor([1.0, 2.0, 0.5, 1.5, 4.0])
    expected = prepare_operator(EDGES, weights, 4, operator=kind)
    made = prepare_operator(adjacencies()[form], operator=kind)
    assert made.transposed is not made
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
    assert made.transposed is made


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

"""What holds for single filters beyond the contract."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

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
from graphfilter.operators import augmented_adjacency, laplacian
from graphfilter.util.errors import ConfigError

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
        (lambda: StackedFilter(n_layers=0), "at least one layer"),
        (lambda: StackedFilter(init="random"), "number or 'uniform'"),  # pyright: ignore
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

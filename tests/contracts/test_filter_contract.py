"""What every filter must hold, on every small graph and operator it is meant for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from tests.conftest import SMALL_GRAPHS, make_small_graph

from graphfilter import filters
from graphfilter.data.graph import Graph
from graphfilter.filters import (
    ChebyshevFilter,
    ExactPageRankFilter,
    Filter,
    HorizontalFilter,
    IdentityFilter,
    PageRankFilter,
    PowerFilter,
    RepeatedChebyshevFilter,
    StackedFilter,
    apply_filters,
)
from graphfilter.filters.base import FixedFilter
from graphfilter.operators import OPERATORS, Operator, make_operator
from graphfilter.util.errors import ConfigError

# Settings that have something of their own to go wrong.
SETTINGS: dict[str, Callable[[], Filter]] = {
    "stacked": lambda: StackedFilter(n_layers=5),
    "stacked uniform": lambda: StackedFilter(n_layers=4, init="uniform", seed=3),
    "stacked deep": lambda: StackedFilter(n_layers=20),
    "horizontal": lambda: HorizontalFilter(degree=5, init=[0.5, -1, 0.3, 0.2, -0.1, 0.7]),
    "chebyshev": lambda: ChebyshevFilter(degree=6),
    "chebyshev 1.5": lambda: ChebyshevFilter(degree=4, lambda_max=1.5),
    "repeated chebyshev": lambda: RepeatedChebyshevFilter(n_terms=7),
    "repeated chebyshev 1.5": lambda: RepeatedChebyshevFilter(n_terms=5, lambda_max=1.5),
    "power": lambda: PowerFilter(k=3),
    "pagerank": lambda: PageRankFilter(K=6, alpha=0.2),
    "pagerank exact": lambda: ExactPageRankFilter(alpha=0.3),
    "identity": IdentityFilter,
}
# Every other filter there is, as it is made where nothing is said.
TESTED = {Filter, FixedFilter, *(type(make()) for make in SETTINGS.values())}
FILTERS: dict[str, Callable[..., Filter]] = SETTINGS | {
    name: kind
    for name, kind in vars(filters).items()
    if isinstance(kind, type) and issubclass(kind, Filter) and kind not in TESTED
}


@cache
def operator_on(kind: str, graph: str) -> Operator:
    return make_operator(kind, make_small_graph(graph), dtype=torch.float64)


def is_meant_for(name: str, kind: str) -> bool:
    """Return whether a filter takes the operators of this kind."""
    try:
        FILTERS[name]().check_operator(operator_on(kind, next(iter(SMALL_GRAPHS))))
    except ConfigError:
        return False
    return True


PAIRS = [(f, o) for f in FILTERS for o in OPERATORS if is_meant_for(f, o)]


def on_every_graph(test: Callable[[Filter, Operator], None]) -> Callable[[str, str], None]:
    """Run a test of each filter on each of its operators, on one small graph after another."""

    @pytest.mark.parametrize(("name", "kind"), PAIRS, ids=map(" on ".join, PAIRS))
    def run(name: str, kind: str) -> None:
        for graph in SMALL_GRAPHS:
            try:
                test(FILTERS[name]().double(), operator_on(kind, graph))
            except Exception as error:
                error.add_note(f"on the graph {graph!r}")
                raise

    run.__name__ = test.__name__
    return run


def columns(n: int, c: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, c, generator=generator, dtype=torch.float64)


@on_every_graph
def test_filter_equals_its_response_in_the_eigenbasis(filter_: Filter, operator: Operator) -> None:
    lam, vectors = np.linalg.eigh(operator.matrix.toarray())
    x = columns(operator.n)
    expected = vectors @ (filter_.response(lam)[:, None] * (vectors.T @ x.numpy()))
    got = filter_(operator, x).detach().numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FILTERS)
def test_filter_response_equals_its_coefficients(name: str) -> None:
    filter_ = FILTERS[name]().double()
    # The power form of a high-degree Chebyshev series cancels: compare relative to its terms.
    lam = np.linspace(-1, 2, 31)
    theta = filter_.coefficients().detach().numpy()
    terms = np.abs(theta)[:, None] * np.abs(lam) ** np.arange(len(theta))[:, None]
    error = np.abs(filter_.response(lam) - np.polynomial.polynomial.polyval(lam, theta))
    assert theta.shape == (filter_.degree + 1,)
    assert (error <= 1e-10 * terms.sum(0) + 1e-12).all()


@on_every_graph
def test_filter_is_linear(filter_: Filter, operator: Operator) -> None:
    x, z = columns(operator.n), columns(operator.n, seed=1)
    together = filter_(operator, 2 * x - 3 * z)
    torch.testing.assert_close(together, 2 * filter_(operator, x) - 3 * filter_(operator, z))


@on_every_graph
def test_filter_is_permutation_equivariant(filter_: Filter, operator: Operator) -> None:
    order = np.random.default_rng(0).permutation(operator.n)
    matrix = operator.matrix[order][:, order]
    moved = Operator(matrix, operator.interval, operator.kind, dtype=torch.float64)
    x = columns(operator.n)
    torch.testing.assert_close(filter_(moved, x[order]), filter_(operator, x)[order])


@on_every_graph
def test_filter_gradients_equal_finite_differences(filter_: Filter, operator: Operator) -> None:
    x = columns(operator.n, 2).requires_grad_()
    parameters = tuple(filter_.parameters())

    def run(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return filter_(operator, x)

    assert torch.autograd.gradcheck(run, (x, *parameters), atol=1e-6, rtol=1e-5, fast_mode=True)


@on_every_graph
def test_filter_without_dropout_equals_dropout_of_nothing(
    filter_: Filter, operator: Operator
) -> None:
    x = columns(operator.n)
    torch.testing.assert_close(filter_(operator, x, lambda h: h), filter_(operator, x))


@pytest.mark.parametrize("name", FILTERS)
def test_filter_state_round_trips(name: str) -> None:
    filter_ = FILTERS[name]().double()
    other = copy.deepcopy(filter_)
    for parameter in other.parameters():
        parameter.data.normal_(generator=torch.Generator().manual_seed(0))
    other.load_state_dict(filter_.state_dict())
    lam = np.linspace(-1, 2, 7)
    np.testing.assert_array_equal(other.response(lam), filter_.response(lam))


@on_every_graph
def test_filter_leaves_its_input_unchanged(filter_: Filter, operator: Operator) -> None:
    x = columns(operator.n)
    before = x.clone()
    filter_(operator, x).sum()
    assert torch.equal(x, before)


@on_every_graph
def test_filters_side_by_side_equal_each_alone(filter_: Filter, operator: Operator) -> None:
    others = [copy.deepcopy(filter_) for _ in range(3)]
    generator = torch.Generator().manual_seed(0)
    for other in others:
        for parameter in other.parameters():
            parameter.data += 0.1 * torch.randn(
                parameter.shape, generator=generator, dtype=torch.float64
            )
    x = columns(operator.n, 6)
    together = apply_filters(others, operator, x)
    apart = torch.cat([f(operator, c) for f, c in zip(others, x.split(2, 1), strict=True)], dim=1)
    torch.testing.assert_close(together, apart)
    target = columns(operator.n, 6, seed=2)
    parameters = [p for f in others for p in f.parameters()]
    if parameters:
        for got, expected in zip(
            torch.autograd.grad((together * target).sum(), parameters),
            torch.autograd.grad((apart * target).sum(), parameters),
            strict=True,
        ):
            torch.testing.assert_close(got, expected)


def test_exact_pagerank_refuses_the_laplacian(small_graph: Graph) -> None:
    operator = make_operator("laplacian", small_graph)
    with pytest.raises(ConfigError, match="must run on an adjacency"):
        ExactPageRankFilter()(operator, torch.zeros(operator.n, 1))

"""Personalised PageRank against its own iteration and its closed form."""

from __future__ import annotations

import pytest
import torch

from graphfilter.data import make_karate
from graphfilter.filters import ExactPageRankFilter, PageRankFilter
from graphfilter.operators import augmented_adjacency

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

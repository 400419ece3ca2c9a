"""Graph filters: functions f(λ) of a graph's frequencies, as PyTorch modules.

A filter is a polynomial of an operator, applied to columns: ``filter(operator, x)``.
Its coefficients are learned (:class:`StackedFilter`, :class:`HorizontalFilter`,
:class:`ChebyshevFilter`) or fixed (:class:`PowerFilter`, :class:`PageRankFilter`). Every filter has
a ``response`` to draw, and exact gradients in memory that does not grow with its degree.
"""

from graphfilter.filters.base import Config, Filter, FilterConfig, apply_filters
from graphfilter.filters.chebyshev import (
    ChebyshevFilter,
    ChebyshevFilterConfig,
    RepeatedChebyshevFilter,
    RepeatedChebyshevFilterConfig,
)
from graphfilter.filters.horizontal import HorizontalFilter, HorizontalFilterConfig
from graphfilter.filters.identity import IdentityFilter, IdentityFilterConfig
from graphfilter.filters.pagerank import (
    ExactPageRankFilter,
    ExactPageRankFilterConfig,
    PageRankFilter,
    PageRankFilterConfig,
)
from graphfilter.filters.power import PowerFilter, PowerFilterConfig
from graphfilter.filters.stacked import StackedFilter, StackedFilterConfig

__all__ = [
    "ChebyshevFilter",
    "ChebyshevFilterConfig",
    "Config",
    "ExactPageRankFilter",
    "ExactPageRankFilterConfig",
    "Filter",
    "FilterConfig",
    "HorizontalFilter",
    "HorizontalFilterConfig",
    "IdentityFilter",
    "IdentityFilterConfig",
    "PageRankFilter",
    "PageRankFilterConfig",
    "PowerFilter",
    "PowerFilterConfig",
    "RepeatedChebyshevFilter",
    "RepeatedChebyshevFilterConfig",
    "StackedFilter",
    "StackedFilterConfig",
    "apply_filters",
]

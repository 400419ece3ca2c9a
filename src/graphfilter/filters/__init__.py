"""Graph filters, one a file, all under the contract of :class:`Filter`."""

from graphfilter.filters.base import Filter, apply_filters
from graphfilter.filters.chebyshev import ChebyshevFilter
from graphfilter.filters.horizontal import HorizontalFilter
from graphfilter.filters.identity import IdentityFilter
from graphfilter.filters.pagerank import ExactPageRankFilter, PageRankFilter
from graphfilter.filters.power import PowerFilter
from graphfilter.filters.stacked import StackedFilter

__all__ = [
    "ChebyshevFilter",
    "ExactPageRankFilter",
    "Filter",
    "HorizontalFilter",
    "IdentityFilter",
    "PageRankFilter",
    "PowerFilter",
    "StackedFilter",
    "apply_filters",
]

"""Graph filters: functions f(λ) of a graph's frequencies, as PyTorch modules.

A filter is a polynomial of an operator, applied to columns: ``filter(operator, x)``.
Its coefficients are learned (:class:`StackedFilter`, :class:`HorizontalFilter`,
:class:`ChebyshevFilter`) or fixed (:class:`PowerFilter`, :class:`PageRankFilter`). Every filter has
a ``response`` to draw, and exact gradients in memory that does not grow with its degree.
"""

from graphfilter.filters.base import *
from graphfilter.filters.chebyshev import *
from graphfilter.filters.horizontal import *
from graphfilter.filters.identity import *
from graphfilter.filters.pagerank import *
from graphfilter.filters.power import *
from graphfilter.filters.stacked import *

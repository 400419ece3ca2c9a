"""Operators: matrices of a graph that filters are functions of, and sparse features.

``operator @ x`` multiplies with compiled code on a CPU and with Triton kernels on a GPU, where they
are available, and with torch otherwise.
"""

from graphfilter.operators.operator import *
from graphfilter.operators.sparse import *

"""What frequencies a graph, its labels and its features have. numpy and scipy, in float64.

The frequency of a signal is its Rayleigh quotient with the symmetric normalised Laplacian: 0 for
the smoothest, 2 for the most oscillating there is.
"""

from graphfilter.spectral.diagnosis import *
from graphfilter.spectral.plot import *

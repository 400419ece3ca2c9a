"""What frequencies a graph, its labels and its features have. numpy and scipy, in float64.

The frequency of a signal is its Rayleigh quotient with the symmetric normalised Laplacian: 0 for
the smoothest, 2 for the most oscillating there is.
"""

from graphfilter.spectral.agreement import homophily
from graphfilter.spectral.density import Density, label_energy, spectral_density
from graphfilter.spectral.diagnosis import Diagnosis, diagnose, known_frequency as known_frequency
from graphfilter.spectral.estimate import FrequencyEstimate, estimate_label_frequency
from graphfilter.spectral.picture import draw_densities as draw_densities, plot_spectrum
from graphfilter.spectral.rayleigh import (
    feature_frequency,
    frequency_gap_bound,
    label_frequency,
    laplacian,
    rayleigh_quotient,
)
from graphfilter.spectral.values import ValueDiagnosis, diagnose_values
from graphfilter.spectral.words import (
    HIGH_ABOVE as HIGH_ABOVE,
    LOW_BELOW as LOW_BELOW,
    frequency_range,
)

__all__ = [
    "Density",
    "Diagnosis",
    "FrequencyEstimate",
    "ValueDiagnosis",
    "diagnose",
    "diagnose_values",
    "estimate_label_frequency",
    "feature_frequency",
    "frequency_gap_bound",
    "frequency_range",
    "homophily",
    "label_energy",
    "label_frequency",
    "laplacian",
    "plot_spectrum",
    "rayleigh_quotient",
    "spectral_density",
]

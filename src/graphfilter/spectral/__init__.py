"""What frequencies a graph, its labels and its features have. numpy and scipy, in float64.

The frequency of a signal is its Rayleigh quotient with the symmetric normalised Laplacian: 0 for
the smoothest, 2 for the most oscillating there is.
"""

from graphfilter.spectral.diagnosis import (
    Diagnosis,
    FrequencyEstimate,
    ValueDiagnosis,
    diagnose,
    diagnose_values,
    estimate_label_frequency,
    feature_frequency,
    frequency_gap_bound,
    frequency_range,
    homophily,
    label_frequency,
    laplacian,
    rayleigh_quotient,
)
from graphfilter.spectral.plot import Density, label_energy, plot_spectrum, spectral_density

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

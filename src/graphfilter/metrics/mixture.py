"""A mixture of members: temperatures and weights from validation vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Of a temperature: beyond these, members are nearly always right or know nothing.
COLDEST, WARMEST = 0.05, 20.0
STEPS = 200


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""What members say together: :math:`p = \sum_m w_m \,\mathrm{softmax}(z_m / T_m)`.

    Attributes
    ----------
    weights, temperatures : arrays (M,)
        The weights add up to 1.
    """

    weights: Array
    temperatures: Array

    def combine(self, logits: Array) -> Array:
        """Return the class probabilities (n, C) of logits (M, n, C)."""
        parts = softmax(logits / self.temperatures[:, None, None])
        return np.einsum("m,mnc->nc", self.weights, parts)


def softmax(logits: Array) -> Array:
    """Return probabilities over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

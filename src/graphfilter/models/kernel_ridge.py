"""Ridge regression in a kernel: coefficients, answers by a fit without each row, sharpness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from torch import Tensor

Array = NDArray[np.float64]
CPU = torch.device("cpu")

# How strongly the answers are drawn to the mean; leaving one out chooses.
RIDGES = (0.03, 0.1, 0.3, 1.0)
# Bounds of the logit per unit of score.
SHARPNESS = (1.0, 50.0)
JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class Ridge:
    """The landmarks' coefficients, the answer for each row by a fit without it, and the ridge."""

    coefficients: Array
    left_out: Array
    ridge: float


def fit_rows(kernel: Array, targets: Array, weight: Array, device: torch.device = CPU) -> Ridge:
    r"""Return :func:`fit_ridge` where every row is a landmark.

    With :math:`a = (K + r / w)^{-1} y`, leaving row i out leaves the residual
    :math:`a_i / (K + r / w)^{-1}_{ii}`.
    """
    best: tuple[float, Ridge] | None = None
    for ridge in RIDGES:
        coefficients, diagonal = solve(kernel, ridge / weight.clip(JITTER), targets, device)
        missed = coefficients / diagonal[:, None]
        error = float(weight @ np.square(missed).sum(axis=1))
        if best is None or error < best[0]:
            best = error, Ridge(coefficients, targets - missed, ridge)
    assert best is not None
    return best[1]


def solve(
    kernel: Array, diagonal: Array, targets: Array, device: torch.device = CPU
) -> tuple[Array, Array]:
    """Return (K + D)⁻¹ y, and the diagonal of the inverse."""
    if device != CPU:
        k, d, y = (torch.from_numpy(part).to(device) for part in (kernel, diagonal, targets))
        factor = torch.linalg.cholesky(k + torch.diag(d + JITTER))
        eye = torch.eye(len(k), dtype=k.dtype, device=device)
        inverted = torch.linalg.solve_triangular(factor, eye, upper=False)
        found = inverted.T @ (inverted @ y), inverted.square().sum(dim=0)
        return found[0].cpu().numpy(), found[1].cpu().numpy()
    # LAPACK inverts a factor in a third of the time that torch solves for it.
    system = kernel.T.copy(order="F")
    system[np.diag_indices_from(system)] += diagonal + JITTER
    factor = cholesky(system, lower=True, overwrite_a=True)
    inverse = lapack.dtrtri(factor, lower=True, overwrite_c=True)[0]
    return inverse.T @ (inverse @ targets), np.einsum("ij,ij->j", inverse, inverse)


def fit_ridge(
    kernel: Array, among: Array, targets: Array, weight: Array, device: torch.device = CPU
) -> Ridge:
    """Return the coefficients of the landmarks, and what each row is told by all the others.

    With the landmarks' kernel K = C Cᵀ, the rows' kernel times C⁻ᵀ are the columns Φ of a plain
    ridge regression; leaving row i out divides its residual by 1 − h_i, where h is the diagonal of
    what takes targets to predictions.
    """
    given = (kernel, among, targets, weight)
    k, own, y, w = (torch.from_numpy(part).to(device) for part in given)
    eye = torch.eye(len(among), dtype=torch.float64, device=device)
    factor = torch.linalg.cholesky(own + JITTER * eye)
    phi = torch.linalg.solve_triangular(factor, k.T, upper=False)
    scaled = phi * w
    gram, moment = scaled @ phi.T, scaled @ y
    best: tuple[float, Tensor, Tensor, float] | None = None
    for ridge in RIDGES:
        inner = torch.linalg.cholesky(gram + ridge * eye)
        solved = torch.cholesky_solve(moment, inner)
        half = torch.linalg.solve_triangular(inner, phi, upper=False)
        taken = (w * half.square().sum(dim=0)).clamp(max=1 - 1e-9)
        left_out = y - (y - phi.T @ solved) / (1 - taken)[:, None]
        error = float(w @ (left_out - y).square().sum(dim=1))
        if best is None or error < best[0]:
            best = error, solved, left_out, ridge
    assert best is not None
    coefficients = torch.linalg.solve_triangular(factor.T, best[1], upper=True)
    return Ridge(coefficients.cpu().numpy(), best[2].cpu().numpy(), best[3])


def label_sharpness(scores: Array, truth: NDArray[np.bool_]) -> float:
    """Return the s with the least log loss of sigmoid(s (2 z − 1))."""
    margin = np.where(truth, 2 * scores - 1, 1 - 2 * scores)

    def loss(log_sharpness: float) -> float:
        return float(np.logaddexp(0, -np.exp(log_sharpness) * margin).sum())

    return _least(loss)


def class_sharpness(scores: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Return the s with the least log loss of softmax(s z)."""

    def loss(log_sharpness: float) -> float:
        z = np.exp(log_sharpness) * scores
        own = np.take_along_axis(z, labels[:, None], axis=1)[:, 0]
        return float(weight @ (logsumexp(z, axis=1) - own))

    return _least(loss)


def _least(loss: Callable[[float], float]) -> float:
    """Return the sharpness whose logarithm has the least loss."""
    bounds = tuple(np.log(SHARPNESS))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))

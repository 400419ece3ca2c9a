"""Ridge regression in a kernel: coefficients, answers by a fit without each row, sharpness.

KernelMachine: who is like whom, with the interface of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from torch import Tensor

from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.forest import NEVER, Fitted, Given, Weight
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator
from graphfilter.tables.columns import Features
from graphfilter.util.machine import blocks, capturing

__all__ = ["KernelConfig", "KernelMachine"]

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
    return _least(lambda s: float(np.logaddexp(0, -s * margin).sum()))


def class_sharpness(scores: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Return the s with the least log loss of softmax(s z)."""
    own = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    return _least(lambda s: float(weight @ (logsumexp(s * scores, axis=1) - s * own)))


def _least(loss: Callable[[float], float]) -> float:
    """Return the sharpness of the least loss."""
    bounds = tuple(np.log(SHARPNESS))
    found = minimize_scalar(lambda log_s: loss(np.exp(log_s)), bounds=bounds, method="bounded")
    return float(np.exp(found.x))


# Rows that are compared with all landmarks at once.
ROWS = 4096
# Bytes of a training vertex and landmark while coefficients are solved for.
LANDMARK = 46


@dataclass(frozen=True)
class KernelConfig(ModelConfig):
    """See :class:`KernelMachine`; fitted, not trained by gradients."""

    fitted: ClassVar[bool] = True
    compares: ClassVar[bool] = True
    dropout: float = 0.0
    gamma: float = 0.5
    most_landmarks: int = 2500

    def memory(self, sizes: Sizes) -> Working:
        return Working(LANDMARK * sizes.n_train * min(sizes.n_train, self.most_landmarks))


class KernelMachine(Fitted[KernelConfig], config=KernelConfig):
    r"""Kernel ridge regression on the classes: rows that are alike are answered alike.

    .. math:: z_i = s \Bigl(\bar y + \sum_j k(x_i, x_j)\, a_j\Bigr), \qquad
              k(x, x') = e^{-\gamma |x - x'|^2}

    over the training rows, or so many of them drawn at random (Nyström). The ridge is the one with
    the least squared error of every training vertex predicted from all the others, which has a
    closed form; the sharpness s minimises their log loss. Of several labels the logit of each is
    s (2 z - 1), and numbers are answered as they are. There are no epochs, and on neighbours
    as rows it finds what no product with the graph shows: vertices that share their neighbours.

    Parameters
    ----------
    n_features, n_classes : int
    config : KernelConfig, optional

    Attributes
    ----------
    offsets, columns, values : Tensors
        The rows of the landmarks, sparse.
    coefficients : Tensor (n_landmarks, n_classes)
        s a.
    start : Tensor (n_classes,)
        s ȳ, and far below it for a class that no training vertex has.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import graphfilter as gf
    >>> rows, labels = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> kernel = gf.models.KernelMachine(1, 2)
    >>> kernel.fit(rows, labels)
    >>> kernel(None, torch.tensor([[0.0], [1.0]])).argmax(dim=1).tolist()
    [0, 1]
    """

    kept: ClassVar[dict[str, torch.dtype]] = {
        "offsets": torch.int64,
        "columns": torch.int32,
        "values": torch.float32,
        "coefficients": torch.float64,
        "start": torch.float64,
    }

    offsets: Tensor
    columns: Tensor
    values: Tensor
    coefficients: Tensor
    start: Tensor
    _learned: _Learned | None = None

    def learn(self, given: Given) -> None:
        rows, targets, weight, seed, _ = given
        weight, device = _weights(targets, weight), self.start.device
        chosen = np.arange(len(targets))
        if len(chosen) > self.config.most_landmarks:
            drawn = np.random.default_rng(seed).permutation(chosen)
            chosen = np.sort(drawn[: self.config.most_landmarks])
        sparse = sp.csr_array(rows).astype(np.float32)
        sparse.sort_indices()
        landmarks = sp.csr_array(sparse[chosen])
        wanted = self._wanted(targets)
        mean = weight @ wanted / len(targets)
        among = self._alike(landmarks, landmarks).dense()
        every = len(chosen) == len(targets)
        kernel = among if every else self._alike(sparse, landmarks).dense()
        with capturing(device):
            if every:
                fitted = fit_rows(kernel, wanted - mean, weight, device)
            else:
                fitted = fit_ridge(kernel, among, wanted - mean, weight, device)
        sharpness = 1.0
        if targets.ndim == 1:
            sharpness = class_sharpness(mean + fitted.left_out, targets, weight)
        elif targets.dtype == np.bool_:
            sharpness = label_sharpness(mean + fitted.left_out, targets)
        self._learned = _Learned(chosen, fitted.ridge, sharpness, device)
        self._keep(landmarks, fitted.coefficients, mean, targets)

    def refitted(
        self, rows: Features, targets: NDArray[Any], weight: Weight = None
    ) -> KernelMachine:
        r"""Return the machine of the same ridge and sharpness with other rows of its landmarks.

        Fitted to the landmarks alone: :math:`a = (K + r / w)^{-1} (y - \bar y)`.
        """
        assert self._learned is not None
        chosen = self._learned.chosen
        landmarks = sp.csr_array(sp.csr_array(rows)[chosen]).astype(np.float32)
        landmarks.sort_indices()
        weight, wanted = _weights(targets, weight), self._wanted(targets)
        mean = weight @ wanted / len(targets)
        system = self._alike(landmarks, landmarks).dense()
        diagonal = self._learned.ridge / weight[chosen].clip(JITTER)
        coefficients, _ = solve(system, diagonal, wanted[chosen] - mean, self._learned.device)
        made = KernelMachine(self.n_features, self.n_classes, self.config)
        made._learned = self._learned
        made._keep(landmarks, coefficients, mean, targets)
        return made

    def _wanted(self, targets: NDArray[Any]) -> Array:
        return np.eye(self.n_classes)[targets] if targets.ndim == 1 else targets.astype(np.float64)

    def _keep(
        self, landmarks: sp.csr_array, coefficients: Array, mean: Array, targets: NDArray[Any]
    ) -> None:
        """Take landmarks, and the logits that are made of their coefficients and the mean."""
        assert self._learned is not None
        s, start = self._learned.sharpness, mean
        if targets.ndim == 1:
            present = np.isin(np.arange(self.n_classes), targets)
            coefficients, start = s * coefficients, np.where(present, s * mean, NEVER)
        elif targets.dtype == np.bool_:
            coefficients, start = 2 * s * coefficients, s * (2 * mean - 1)
        found = {
            "offsets": landmarks.indptr,
            "columns": landmarks.indices,
            "values": landmarks.data,
            "coefficients": coefficients,
            "start": start,
        }
        for name, values in found.items():
            setattr(self, name, torch.from_numpy(np.asarray(values)).to(self.kept[name]))

    def is_whole(self, state: Mapping[str, Tensor]) -> bool:
        """Return whether landmarks are rows of so many columns, and none is missing."""
        offsets, columns, values = state["offsets"], state["columns"], state["values"]
        m = len(offsets) - 1
        return (
            offsets.ndim == columns.ndim == values.ndim == 1
            and m >= 1
            and int(offsets[0]) == 0
            and int(offsets[-1]) == len(columns) == len(values)
            and bool((offsets.diff() >= 0).all())
            and bool(((columns >= 0) & (columns < self.n_features)).all())
            and tuple(state["coefficients"].shape) == (m, self.n_classes)
            and tuple(state["start"].shape) == (self.n_classes,)
            and all(bool(state[n].isfinite().all()) for n in ("values", "coefficients", "start"))
        )

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rows = sp.csr_array(x.cpu().numpy()) if isinstance(x, Tensor) else x.to_scipy()
        held = (self.values, self.columns, self.offsets)
        landmarks = sp.csr_array(
            tuple(part.cpu().numpy() for part in held), (len(self.offsets) - 1, self.n_features)
        )
        coefficients = self.coefficients.cpu().numpy()
        parts = [
            self._alike(sp.csr_array(rows[some]), landmarks) @ coefficients
            for some in blocks(rows.shape[0], ROWS)
        ]
        logits = self.start.cpu().numpy() + np.concatenate(parts)
        return torch.from_numpy(logits).to(x.device, torch.float32)

    def _alike(self, rows: sp.csr_array, landmarks: sp.csr_array) -> _Alike:
        """Return the kernel of rows and landmarks."""
        gamma = self.config.gamma
        shared = sp.csr_array(rows @ landmarks.T).astype(np.float64)
        first, second = (
            np.asarray(part.power(2).sum(axis=1), np.float64) for part in (rows, landmarks)
        )
        row = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
        distance = first[row] + second[shared.indices] - 2 * shared.data
        shared.data = np.exp(-gamma * np.maximum(distance, 0))
        return _Alike(np.exp(-gamma * first), np.exp(-gamma * second), row, shared)


@dataclass(frozen=True, eq=False)
class _Alike:
    """A kernel (n, m): ``near`` where rows share columns, otherwise a product of two numbers."""

    rows: Array
    landmarks: Array
    row: NDArray[np.int64]
    near: sp.csr_array

    def dense(self) -> Array:
        found = np.multiply.outer(self.rows, self.landmarks)
        found[self.row, self.near.indices] = self.near.data
        return found

    def __matmul__(self, coefficients: Array) -> Array:
        apart = self.rows[self.row] * self.landmarks[self.near.indices]
        parts = self.near.data - apart, self.near.indices, self.near.indptr
        beyond = sp.csr_array(parts, self.near.shape) @ coefficients
        return beyond + np.multiply.outer(self.rows, self.landmarks @ coefficients)


@dataclass(frozen=True, eq=False)
class _Learned:
    """What a fit chose: which rows are landmarks, the ridge and the sharpness; where it computed.

    Not kept on disk.
    """

    chosen: NDArray[np.int64]
    ridge: float
    sharpness: float
    device: torch.device


def _weights(targets: NDArray[Any], weight: Weight) -> Array:
    """Return what rows weigh, 1 on average."""
    weight = np.ones(len(targets)) if weight is None else weight
    return weight * (len(targets) / weight.sum())

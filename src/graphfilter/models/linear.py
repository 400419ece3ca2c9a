"""A linear model of wide, sparse columns: words, categories, and the same of neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.forest import NEVER, Fitted, Given, Weight
from graphfilter.models.layers import Draws, Input
from graphfilter.models.relations import KeepsView
from graphfilter.operators import Operator

__all__ = ["LinearConfig", "LinearModel"]

# Stored values × classes up to which a linear model is fitted: some half a minute.
MOST_WORK = 6 * 10**8
# The same, up to which several penalties are tried.
FEW = 5 * 10**6
PENALTIES = (0.05, 0.5, 5.0)
# liblinear draws from one generator per process.
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class LinearConfig(ModelConfig):
    """See :class:`LinearModel`; fitted, not trained by gradients.

    ``c`` is the weight of the losses against the penalty.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.LinearConfig()
    LinearConfig(dropout=0.0, c=0.5)
    """

    kind: ClassVar[str] = "LinearModel"
    fitted: ClassVar[bool] = True
    recognises: ClassVar[bool] = True
    refits: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, str]] = {"dropout": "[0, 1)", "c": "[1e-9, inf)"}
    dropout: float = 0.0
    c: float = 0.5

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        x: Any = graph.features
        if x is None:
            return "there are no features"
        values = x.nnz if sp.issparse(x) else x.size
        work = values * n_train / max(graph.n_vertices, 1) * graph.n_classes
        return "a linear model would take too long" if work > MOST_WORK else None

    @property
    def needs_edges(self) -> bool:
        return False

    def memory(self, sizes: Sizes) -> Working:
        return Working(16 * sizes.n_features * sizes.n_classes)


class LinearModel(KeepsView, Fitted[LinearConfig], config=LinearConfig):
    """One linear function per class, by squared hinge loss; of numbers, by ridge regression.

    Logits are the margins. On words it is hard to beat: it has few ways to be wrong.

    Parameters
    ----------
    n_features, n_classes : int
    config : LinearConfig, optional

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import graphfilter as gf
    >>> model = gf.models.LinearModel(1, 2)
    >>> model.fit(np.array([[-1.0], [1.0]] * 9), np.array([0, 1] * 9))
    >>> model(None, torch.tensor([[-2.0], [2.0]])).argmax(dim=1).tolist()
    [0, 1]
    """

    seen: ClassVar[dict[str, torch.dtype]] = {"seen_beside": torch.int64} | KeepsView.seen
    kept: ClassVar[dict[str, torch.dtype]] = {
        "weight": torch.float32,
        "bias": torch.float32,
        "reach": torch.float32,
    } | seen

    weight: Tensor
    bias: Tensor
    reach: Tensor

    def learn(self, given: Given) -> None:
        rows, targets, weight, seed, val = given
        x: Any = sp.csr_matrix(rows) if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
        work = (x.nnz if sp.issparse(x) else x.size) * self.n_classes
        choices = [self.settled or self.config.c]
        if val is not None and len(val[1]) and work <= FEW:
            choices = [c / 0.5 * self.config.c for c in PENALTIES]
        made = [self._fitted(x, targets, weight, seed, c) for c in choices]
        best = 0
        if len(made) > 1 and val is not None:
            best = int(np.argmin([_loss(val[0] @ w.T + b, val[1]) for w, b in made]))
        self.settled = choices[best]
        coefficients, bias = made[best]
        self.weight = torch.from_numpy(coefficients.T.astype(np.float32).copy())
        self.bias = torch.from_numpy(bias.astype(np.float32))
        # What lies beyond what was seen is read as the outermost that was.
        largest = abs(x).max(axis=0)
        largest = largest.toarray().ravel() if sp.issparse(largest) else np.asarray(largest)
        self.reach = torch.from_numpy(largest.astype(np.float32))

    def _fitted(
        self, x: Any, targets: NDArray[Any], weight: Weight, seed: int, c: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients (n_classes, d) and biases."""
        coefficients = np.zeros((self.n_classes, x.shape[1]))
        bias = np.zeros(self.n_classes)
        if targets.ndim == 1:
            bias += NEVER
            present = np.unique(targets)
            bias[present] = 0.0
            if len(present) == 2:
                w, b = _margin(x, targets == present[1], weight, seed, c)
                coefficients[present], bias[present] = [-w, w], [-b, b]
            elif len(present) > 2:
                w, b = _margin(x, targets, weight, seed, c)
                coefficients[present], bias[present] = w, b
        elif targets.dtype == np.bool_:
            shares = (targets.sum(axis=0) + 0.5) / (len(targets) + 1)
            bias = np.log(shares / (1 - shares))
            for i in np.flatnonzero(targets.any(axis=0) & ~targets.all(axis=0)):
                coefficients[i], bias[i] = _margin(x, targets[:, i], weight, seed, c)
        else:
            from sklearn.linear_model import Ridge

            ridge = Ridge(alpha=1 / (2 * c), solver="lsqr" if sp.issparse(x) else "cholesky")
            ridge.fit(x, targets, sample_weight=weight)
            coefficients = ridge.coef_.reshape(coefficients.shape)
            bias = np.broadcast_to(ridge.intercept_, bias.shape).copy()
        return coefficients, bias

    def is_whole(self, state: Mapping[str, Tensor]) -> bool:
        shapes = {
            "weight": (self.n_features, self.n_classes),
            "bias": (self.n_classes,),
            "reach": (self.n_features,),
        }
        return all(
            tuple(state[name].shape) == shape and bool(state[name].isfinite().all())
            for name, shape in shapes.items()
        ) and (not state["seen_told_values"].numel() or self.is_whole_view(state))

    def kept_view(self) -> dict[str, NDArray[Any]] | None:
        return super().kept_view() if self.get_buffer("seen_beside").numel() else None

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        weight, bias = self.weight.double().numpy(), self.bias.double().numpy()
        reach = self.reach.numpy()
        if isinstance(x, Tensor):
            columns = np.clip(x.cpu().double().numpy(), -reach, reach)
        else:
            columns = x.to_scipy().astype(np.float64)
            most = reach[columns.indices]
            columns.data = np.clip(columns.data, -most, most)
        logits = np.asarray(columns @ weight + bias)
        return torch.from_numpy(logits).to(x.device, torch.float32)


def _margin(x: Any, targets: NDArray[Any], weight: Weight, seed: int, c: float) -> tuple[Any, Any]:
    """Return the coefficients and bias of a support vector machine with squared hinge loss."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    wide = x.shape[1] > x.shape[0] // 2
    machine = LinearSVC(C=c, dual=wide, random_state=seed % 2**31, max_iter=300, tol=1e-3)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(x, targets, sample_weight=weight)
    one = targets.dtype == np.bool_
    return (machine.coef_[0], machine.intercept_[0]) if one else (machine.coef_, machine.intercept_)


def _loss(outputs: NDArray[np.float64], targets: NDArray[Any]) -> float:
    """Return the share of wrong classes or labels, or the squared error."""
    outputs = np.asarray(outputs)
    if targets.ndim == 1:
        return float((outputs.argmax(axis=1) != targets).mean())
    if targets.dtype == np.bool_:
        return float(((outputs > 0) != targets).mean())
    return float(np.square(outputs - targets).mean())

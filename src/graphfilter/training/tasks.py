"""What is learned of a vertex: what a network's outputs mean, their loss and their scores.

The network, its filter and the loop are the same for every task. Outputs of R runs are (m, R, C);
losses and scores are computed inside what a GPU captures, and do not wait for the device. The tasks
are one class per vertex, any of several labels, and numbers, which are learned on a
:class:`TargetScale`; :class:`Vertices` holds the vertices that a loss or a score is taken over.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from torch import Tensor
from torch.nn.functional import softplus

from graphfilter.operators import Operator, SparseFeatures
from graphfilter.training import scores
from graphfilter.util.errors import ConfigError, GraphError, check_name
from graphfilter.util.words import number

__all__ = ["CLASSIFICATION", "MULTILABEL", "REGRESSION", "SCALES", "TASKS", "TargetScale", "Task"]

Array = NDArray[np.float64]

SCALES = ("identity", "log", "rank")
WORDS = {
    "identity": "as it is",
    "log": "as log(1 + y)",
    "rank": "by its rank: a prediction is the median of what it may be, not the mean",
}
# The rank of a number is kept by at most so many quantiles of the training vertices.
MOST_QUANTILES = 1000
# One vertex in a hundred may be anywhere: no single one decides between the scales.
STRAY = 0.01
# By how much the log-likelihood of another scale must be above that of the numbers as they are.
MARGIN = 2.0
# The mean error with ranks must be at most this part of the least other one.
NEARER = 0.98


@dataclass(frozen=True, eq=False)
class TargetScale:
    r"""How a number y is learned: :math:`t = (g(y) - \mu) / \sigma`.

    g is the identity, :math:`\log(1 + y)`, or scikit-learn's ``QuantileTransformer`` to normal
    quantiles. Means and deviations are of the training vertices. Answers are cut at
    ``low`` and ``high``: see :func:`allowed_range`.

    Attributes
    ----------
    name : {'identity', 'log', 'rank'}
    mean, deviation : float
    low, high : float
    quantiles : array (q,)
        Of the training vertices; empty of other scales than 'rank'.
    factor : float
        What 1 + y is multiplied by on the way back from a logarithm: see :meth:`unbiased`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphfilter.training import TargetScale
    >>> scale = TargetScale.fit(np.array([0.0, 9.0, 99.0]), "log")
    >>> scale.undo(scale.transform(np.array([9.0]))).round(6).tolist()
    [9.0]
    """

    name: str
    mean: float
    deviation: float
    low: float
    high: float
    quantiles: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    factor: float = 1.0

    @classmethod
    def fit(cls, y: Array, name: str = "identity") -> TargetScale:
        """Fit a scale to the numbers of the training vertices."""
        check_name("scale", name, SCALES)
        low, high = allowed_range(y)
        kept = np.quantile(y, np.linspace(0, 1, min(MOST_QUANTILES, len(y))))
        scale = cls(name, 0.0, 1.0, low, high, kept if name == "rank" else np.zeros(0))
        t = scale._forward(y)
        # A constant has no deviation: it is learned as it is.
        deviation = float(t.std()) if np.ptp(t) > 0 else 1.0
        return cls(name, float(t.mean()), deviation, low, high, scale.quantiles)

    def transform(self, y: Array) -> Array:
        """Return numbers as they are learned; NaN stays."""
        return (self._forward(y) - self.mean) / self.deviation

    def undo(self, t: Array) -> Array:
        """Return what is learned in the units of the target, inside what the data allow."""
        y = self._backward(t * self.deviation + self.mean)
        return np.clip((1 + y) * self.factor - 1 if self.factor != 1 else y, self.low, self.high)

    def unbiased(self, y: Array, answers: Array) -> TargetScale:
        """Return the scale with the factor that brings answers to the mean of what is known.

        The middle of a logarithm leads back to the median of a number, which of skewed numbers is
        below their mean: totals would be too small. What chance alone does to the factor is
        removed from it.

        >>> scale = TargetScale.fit(np.array([1.0, 10.0, 100.0]), "log")
        >>> answers = np.linspace(50, 60, 100)
        >>> round(scale.unbiased(1.1 * answers, answers).factor, 3)
        1.098
        """
        y, answers = y[there := ~np.isnan(y)], answers[there]
        if self.name != "log" or len(y) < 2:
            return self
        ratio = (1 + y).mean() / (1 + answers).mean()
        error = (y - answers).std() / ((1 + answers).mean() * np.sqrt(len(y)))
        bias = float(np.log(ratio))
        kept = max(0.0, 1 - (error / bias) ** 2) if bias else 0.0
        return replace(self, factor=float(np.exp(kept * bias)))

    def undo_bounds(self, t: Array) -> Array:
        """Return the ends of intervals in the units of the target; they are not cut.

        Positive targets stay positive. Beyond the ranks that were seen an end is the furthest that
        is allowed.
        """
        g = t * self.deviation + self.mean
        if self.name == "rank":
            furthest = float(ndtri(1 - 0.5 / max(len(self.quantiles), 2)))
            inside = self._backward(np.clip(g, -furthest, furthest))
            return np.where(g > furthest, self.high, np.where(g < -furthest, self.low, inside))
        with np.errstate(over="ignore"):
            y = np.expm1(g) if self.name == "log" else g
        return np.maximum(y, 0.0) if self.low >= 0 else y

    def outside(self, t: Array) -> NDArray[np.bool_]:
        """Return which answers :meth:`undo` cuts."""
        y = self._backward(t * self.deviation + self.mean)
        return (y < self.low) | (y > self.high)

    @property
    def words(self) -> str:
        """The scale and the range in words."""
        raised = f", with {self.factor - 1:+.1%} on the way back, for their mean to be right"
        return (
            f"learned {WORDS[self.name]}{raised * (self.factor != 1)}; predictions are kept "
            f"between {number(self.low)} and {number(self.high)}"
        )

    def _forward(self, y: Array) -> Array:
        if self.name == "log":
            # Below 0 are only vertices that chose nothing: those of a test part.
            return np.log1p(np.maximum(y, 0.0))
        return self._ranks(y, inverse=False) if self.name == "rank" else y

    def _backward(self, g: Array) -> Array:
        if self.name == "log":
            # Far above the range, where it is cut, without an overflow.
            return np.expm1(np.minimum(g, np.log1p(max(self.high, 0.0)) + 1))
        return self._ranks(g, inverse=True) if self.name == "rank" else g

    def _ranks(self, values: Array, *, inverse: bool) -> Array:
        from sklearn.preprocessing import QuantileTransformer  # Slow to import.

        n = len(self.quantiles)
        model = QuantileTransformer(n_quantiles=n, output_distribution="normal")
        model.quantiles_, model.n_features_in_ = self.quantiles[:, None], 1
        model.references_, model.n_quantiles_ = np.linspace(0, 1, n), n
        column = np.ravel(values)[:, None]
        if inverse:
            return model.inverse_transform(column).reshape(np.shape(values))
        # The extremes are at no rank that is more extreme than one of so many can be.
        furthest = float(ndtri(1 - 0.5 / max(n, 2)))
        return np.clip(model.transform(column), -furthest, furthest).reshape(np.shape(values))


def allowed_range(y: Array) -> tuple[float, float]:
    """Return the range of numbers widened by their deviation; positive ones stay positive.

    >>> allowed_range(np.array([0.0, 4.0]))
    (0.0, 6.0)
    """
    least, most, spread = float(y.min()), float(y.max()), float(y.std())
    low = least - spread
    if least > 0:  # Widened as a factor: by the deviation of the logarithms.
        low = max(low, least * float(np.exp(-np.log(y).std())))
    elif least == 0:
        low = 0.0
    return low, most + spread


def choose_scale(
    y: Array, train: NDArray[np.int64], val: NDArray[np.int64], predict: Callable[[Array], Array]
) -> TargetScale:
    """Return the scale on which a simple model best foretells the validation vertices.

    By likelihood, among those on which its mean error is not clearly larger than with the numbers
    as they are; of ranks clearly smaller, and the squared error no larger.

    Parameters
    ----------
    y : array (n,)
    train, val : int arrays
    predict : callable
        From the transformed numbers of the training vertices to those of the validation vertices.
    """
    plain = TargetScale.fit(y[train])
    known = y[np.concatenate([train, val])]
    if not len(val) or np.ptp(y[train]) == 0:
        return plain
    names = [name for name in SCALES if name != "log" or known.min() >= 0]
    scales = {name: TargetScale.fit(y[train], name) for name in names}
    found, errors = dict[str, float](), dict[str, Array]()
    for name, scale in scales.items():
        predicted = predict(scale.transform(y[train]))
        found[name] = log_likelihood(scale, y[val], predicted, resolution(y[train]))
        errors[name] = np.abs(y[val] - scale.undo(predicted))

    def is_nearer(name: str) -> bool:
        more = errors[name] - errors["identity"]
        if name != "rank":  # No farther than chance.
            return float(more.mean()) <= float(more.std()) / np.sqrt(len(val))
        # Ranks are likelier where numbers repeat, too, and their median may be far from the mean.
        others = [errors[n].mean() for n in names if n != name]
        squared = np.square(errors[name]).mean() <= np.square(errors["identity"]).mean()
        return squared and errors[name].mean() <= NEARER * min(others)

    # What is likelier must not be farther off in the number's own unit.
    found = {name: one for name, one in found.items() if is_nearer(name)}
    best = max(found, key=lambda name: found[name])
    return scales[best] if found[best] > found["identity"] + MARGIN else plain


def resolution(y: Array) -> float:
    """Return how finely numbers are told apart: half the usual gap, at least 1 % of the spread."""
    gaps = np.diff(np.unique(y))
    return max(0.5 * float(np.median(gaps)), 0.01 * float(y.std())) if len(gaps) else 1.0


def log_likelihood(scale: TargetScale, y: Array, predicted: Array, width: float) -> float:
    r"""Return the log-likelihood of numbers, each known up to ``width``, in their own units.

    .. math:: \sum_i \log \frac{1}{2h} \Bigl[
              \Phi\bigl(\tfrac{t(y_i + h) - \hat t_i}{s}\bigr)
              - \Phi\bigl(\tfrac{t(y_i - h) - \hat t_i}{s}\bigr) \Bigr]

    with s the root mean square of the errors. For small h this is the density on the scale times
    the Jacobian t'; as a difference it is right for repeated values too, where ranks jump.
    """
    error = scale.transform(y) - predicted
    spread = max(float(np.sqrt(np.square(error).mean())), 1e-9)
    above, below = ((scale.transform(y + h) - predicted) / spread for h in (width, -width))
    # On the side where the normal distribution has digits left.
    sign = np.where(above + below > 0, -1.0, 1.0)
    mass = np.abs(ndtr(sign * above) - ndtr(sign * below))
    anywhere = 2 * width / max(scale.high - scale.low, 2 * width)
    return float(np.log(((1 - STRAY) * mass + STRAY * anywhere) / (2 * width)).sum())


Outputs = NDArray[np.float64]


class Task(ABC):
    """How outputs are compared with what is known of the vertices, and what is answered.

    The methods on tensors are the training loop's; those on arrays are for whoever reads what was
    trained: :meth:`decide`, :meth:`measure` and :meth:`columns`.

    Attributes
    ----------
    name : str
    one_class : bool
        Whether a vertex has one class of several.
    metrics : mapping
        The scores of :meth:`measure`, and how each is written; the first is the one to judge by.
    score_name : str
        The score that is recorded every epoch beside the loss; higher is better.
    scores : mapping
        Further scores that may be monitored.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.training.TASKS["multilabel"].score_name
    'micro_f1'
    """

    name: ClassVar[str]
    one_class: ClassVar[bool] = False
    metrics: ClassVar[Mapping[str, scores.Metric]]
    score_name: ClassVar[str]
    scores: ClassVar[Mapping[str, scores.Score]] = {}

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Be pickled and copied as the one instance of this task."""
        return self.name.upper()

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def known(self, targets: Tensor) -> Tensor:
        """Return which vertices have a target: bool (n,)."""

    @abstractmethod
    def n_outputs(self, targets: Tensor) -> int:
        """Return how many outputs a network must have for these targets, at least."""

    @abstractmethod
    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        """Return targets as :meth:`losses` and :meth:`score` take them, made once."""

    @abstractmethod
    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        """Return the loss of each vertex: outputs (m, R, C) give (m, R)."""

    @abstractmethod
    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        """Return the score of parts with these weights: (P, m, R) give (P, R), in float64."""

    @abstractmethod
    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        """Return the outputs (C,) of the best answer that is the same for every vertex."""

    @abstractmethod
    def answers(self, outputs: Tensor) -> Tensor:
        """Return probabilities or values from outputs (..., C)."""

    @abstractmethod
    def decide(self, outputs: Outputs) -> NDArray[Any]:
        """Return the default predictions for outputs (n, C)."""

    @abstractmethod
    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        """Return the number of vertices and each of ``metrics`` that is defined on them."""

    @abstractmethod
    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of a table of answers, one row per vertex."""

    def sought(self, train: Tensor) -> int:
        """Return the class that is looked for; of no meaning but for two classes."""
        return 1

    @property
    def monitors(self) -> tuple[str, ...]:
        """What may choose the best weights."""
        return (self.score_name, "loss", *self.scores)

    def resolve(self, monitor: str) -> str:
        """Return the monitored score: 'accuracy', the usual setting, is every task's own score."""
        return self.score_name if monitor == "accuracy" else monitor

    def curves(self, monitor: str) -> tuple[str, ...]:
        """Return the names of what is recorded every epoch; the monitored score once.

        >>> from graphfilter.training import CLASSIFICATION
        >>> CLASSIFICATION.curves("roc_auc")
        ('loss', 'train_accuracy', 'val_loss', 'val_accuracy', 'val_roc_auc')
        """
        usual = ("loss", f"train_{self.score_name}", "val_loss", f"val_{self.score_name}")
        return (*usual, f"val_{monitor}") if monitor in self.scores else usual

    def vertex_weights(
        self, targets: Tensor, class_weight: Tensor | None, own: Tensor | None = None
    ) -> Tensor:
        """Return the weight of every vertex in loss and score (n,): its own, times its class's."""
        return torch.ones(len(targets), device=targets.device) if own is None else own

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        """Return the score of the best constant answer on the vertices it was learned from."""
        answer = self.constant(train, self.n_outputs(train), class_weight)
        weights = self.vertex_weights(train, class_weight)[None, :, None]
        return float(self.score(answer.expand(len(train), 1, -1), self.aligned(train, 1), weights))

    def monitored_chance(
        self, monitor: str, train: Tensor, val: Tensor, class_weight: Tensor | None
    ) -> float:
        """Return the monitored score that the constant answer of ``train`` has on ``val``."""
        if monitor not in self.scores or not len(val):
            return math.inf
        n_outputs = max(self.n_outputs(train), self.n_outputs(val))
        answer = self.constant(train, n_outputs, class_weight).expand(len(val), 1, -1)
        chosen = torch.ones(len(val), 1, dtype=torch.bool, device=val.device)
        weight = all_weights(answer, class_weight)
        positive = torch.tensor([self.sought(train)], device=val.device)
        return float(self.scores[monitor](scores.Scored(answer, val, chosen, weight, positive)))

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        """Raise where a monitored score is not one of this task, or not defined on ``val``."""
        if monitor not in self.monitors:
            raise ConfigError(
                f"monitor must be one of {', '.join(self.monitors)} for {self.name}; "
                f"got {monitor!r}."
            )


def all_weights(outputs: Tensor, class_weight: Tensor | None) -> Tensor:
    """Return one weight per output (C,): those given, or ones."""
    n_outputs = outputs.shape[-1]
    if class_weight is None:
        return torch.ones(n_outputs, device=outputs.device)
    return class_weight[:n_outputs]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What runs learn from, as :func:`graphfilter.training.train` takes it; ``weight`` (n,)."""

    operator: Operator
    x: Tensor | SparseFeatures
    labels: Tensor
    class_weight: Tensor | None
    task: Task
    weight: Tensor | None = None


class Vertices:
    """The vertices a loss or score is taken over, by run, with their weights."""

    def __init__(
        self, lesson: Lesson, train: Sequence[Tensor], val: Sequence[Tensor] | None = None
    ) -> None:
        task, labels, class_weight = lesson.task, lesson.labels, lesson.class_weight
        self._task, self._class_weight = task, class_weight
        parts = [train] if val is None else [train, val]
        # Which vertices each part has, by run: (P, n, R).
        shape = len(parts), len(labels), len(train)
        chosen = torch.zeros(shape, dtype=torch.bool, device=labels.device)
        for p, part in enumerate(parts):
            for r, index in enumerate(part):
                chosen[p, index, r] = True
        self._rows = chosen.any(0).any(1).nonzero()[:, 0]
        self._aligned = task.aligned(labels[self._rows], len(train))
        weights = task.vertex_weights(labels, class_weight, lesson.weight)[self._rows, None].float()
        self._weights = torch.where(chosen[:, self._rows], weights, 0.0)
        self._sums = self._weights.sum(1, dtype=torch.float64)
        sought = [task.sought(labels[index]) for index in train]
        self._positive = torch.tensor(sought, device=labels.device)
        # The vertices of the last part, whatever their weights, and in which runs they are.
        self._last = chosen[-1].any(1).nonzero()[:, 0]
        self._chosen, self._truth = chosen[-1][self._last], labels[self._last]

    def mean_loss(self, logits: Tensor, vertex_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss on the first part, by run: logits (n, R, C) give (R,).

        ``vertex_weight`` (n,), or (n, R), multiplies the loss of every vertex.
        """
        losses = self._task.losses(logits.index_select(0, self._rows), self._aligned)
        weighted = self._weights[0] * losses
        if vertex_weight is not None:
            factor = vertex_weight.index_select(0, self._rows)
            weighted = weighted * factor.view(len(factor), -1)
        return weighted.sum(0) / self._sums[0].to(logits.dtype)

    def scores(self, logits: Tensor, monitor: str) -> Tensor:
        """Return training score, validation loss and score, and the monitored score.

        (3, R), or (4, R) where the monitored score is another; NaN where there are no vertices.
        """
        task = self._task
        scored = logits.index_select(0, self._rows)
        score = task.score(scored, self._aligned, self._weights)
        losses = self._weights[1] * task.losses(scored, self._aligned)
        loss = losses.sum(0, dtype=torch.float64)
        found = torch.stack([score[0], loss / self._sums[1], score[1]])
        if monitor not in task.scores:
            return found
        weight = all_weights(logits, self._class_weight)
        last = logits.index_select(0, self._last)
        of = scores.Scored(last, self._truth, self._chosen, weight, self._positive)
        monitored = task.scores[monitor](of)
        return torch.cat([found, monitored[None]])


# Between the labels of one vertex, in a table.
SEPARATOR = ";"


class Classification(Task):
    """One class per vertex: softmax and cross entropy. Targets int64 (n,), -1 where unknown.

    Parameters
    ----------
    positive : int, optional
        The class of two that is looked for; the rarer of the training vertices otherwise.
    """

    name = "classification"
    one_class = True
    metrics = scores.METRICS
    score_name = "accuracy"
    scores = scores.OF_CLASSES

    def __init__(self, positive: int | None = None) -> None:
        self.positive = positive

    def __reduce__(self) -> str | tuple[Any, ...]:
        return super().__reduce__() if self.positive is None else (type(self), (self.positive,))

    def __repr__(self) -> str:
        return self.name if self.positive is None else f"{self.name} of {self.positive}"

    def sought(self, train: Tensor) -> int:
        return scores.looked_for(train.cpu().numpy()) if self.positive is None else self.positive

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return outputs.argmax(axis=1)

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return scores.score(outputs, truth, predicted=answers, positive=positive)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        predicted = np.array(names, dtype=object)[answers]
        probability = outputs[np.arange(len(answers)), answers].round(6)
        return {"predicted": predicted, "probability": probability} | _shares(outputs, names)

    def known(self, targets: Tensor) -> Tensor:
        return targets >= 0

    def n_outputs(self, targets: Tensor) -> int:
        return int(targets.max()) + 1

    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        return targets[:, None].expand(-1, n_runs).reshape(-1)

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        # Classes first: torch sums over long rows several times faster than over many short ones.
        by_class = outputs.reshape(len(aligned), -1).T.contiguous()
        losses = by_class.logsumexp(0) - by_class.gather(0, aligned[None])[0]
        return losses.view(-1, outputs.shape[1])

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        right = (outputs.argmax(2).view(-1) == aligned).view(-1, outputs.shape[1])
        # In float64, so that counts are exact and equal accuracies compare as equal.
        sums = weights.sum(1, dtype=torch.float64)
        return (weights * right).sum(1, dtype=torch.float64) / sums

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        counts = self._counts(targets, n_outputs, class_weight)
        return torch.zeros(n_outputs, device=targets.device).index_fill(0, counts.argmax(), 1.0)

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(dim=-1)

    def vertex_weights(
        self, targets: Tensor, class_weight: Tensor | None, own: Tensor | None = None
    ) -> Tensor:
        own = super().vertex_weights(targets, class_weight, own)
        # A vertex without a label is in no part; which weight it takes is never seen.
        return own if class_weight is None else own * class_weight[targets.clamp(min=0)]

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        counts = self._counts(train, self.n_outputs(train), class_weight)
        return float(counts.max() / counts.sum())

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        super().check(monitor, val, class_weight)
        if monitor not in scores.OF_TWO_CLASSES or not len(val):
            return
        if (n_classes := self.n_outputs(val)) > 2:
            raise ConfigError(
                f"monitor {monitor!r} must be used with two classes; got {n_classes}. Monitor "
                "'balanced_accuracy' or 'macro_f1' instead."
            )
        if len(val.unique()) < 2:
            raise GraphError(
                f"the validation vertices must have both classes for monitor {monitor!r}; got "
                "one. Divide the vertices in another way, or monitor 'loss'."
            )

    def _counts(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        counts = torch.bincount(targets, minlength=n_outputs).double()
        if class_weight is not None:
            counts *= class_weight[: len(counts)]
        return counts


def _shares(outputs: Outputs, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the columns of the probabilities."""
    return {f"p_{name}": outputs[:, c].round(6) for c, name in enumerate(names)}


class _Values(Task):
    """Several numbers per vertex: targets float (n, C), NaN in the rows of unknown vertices."""

    def known(self, targets: Tensor) -> Tensor:
        return ~targets.isnan().any(1)

    def n_outputs(self, targets: Tensor) -> int:
        return targets.shape[1]

    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        return targets[:, None]

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        super().check(monitor, val, class_weight)
        if class_weight is not None:
            raise ConfigError(f"class_weight must be None for {self.name}: it has no classes.")


class Multilabel(_Values):
    r"""Any of L labels per vertex: sigmoid, and binary cross entropy averaged over the labels.

    .. math:: \ell = \tfrac1L \sum_l \log(1 + e^{z_l}) - y_l z_l
    """

    name = "multilabel"
    metrics = scores.LABEL_METRICS
    score_name = "micro_f1"
    scores = scores.OF_LABELS

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return (outputs > 0.5).astype(np.int64)

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return scores.score_labels(outputs, truth)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        rows = (zip(names, row, strict=True) for row in answers)
        joined = [SEPARATOR.join(name for name, has in row if has) for row in rows]
        return {"predicted": np.array(joined, dtype=object)} | _shares(outputs, names)

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        return (softplus(outputs) - aligned * outputs).mean(2)

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        own_outputs, true = (outputs > 0).double(), aligned.double()
        right, total = (own_outputs * true).sum(2), (own_outputs + true).sum(2)
        right, total = ((weights * each).sum(1) for each in (right, total))
        # Where nothing is said and nothing is true, the answer has found nothing.
        return 2 * right / torch.where(total > 0, total, 1.0)

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        return targets.mean(0) - 0.5

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs.sigmoid()


class Regression(_Values):
    r"""Numbers per vertex: squared errors, averaged over the numbers of a vertex.

    The score is :math:`R^2 = 1 - \sum (z - y)^2 / \sum (y - \bar y)^2`, the mean over the numbers.
    """

    name = "regression"
    metrics = scores.NUMBER_METRICS
    score_name = "r2"

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return outputs

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return scores.score_numbers(outputs, truth)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        if len(names) == 1:
            return {"predicted": outputs[:, 0]}
        return {f"predicted_{name}": outputs[:, t] for t, name in enumerate(names)}

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        return (outputs - aligned).square().mean(2)

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        weights, true = weights.double()[..., None], aligned.double()
        mean = (weights * true).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
        error = (weights * (outputs.double() - true).square()).sum(1)
        spread = (weights * (true - mean).square()).sum(1)
        # As scikit-learn has it: of equal values there is nothing to explain.
        return torch.where(spread > 0, 1 - error / spread, (error == 0).double()).mean(2)

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        return targets.mean(0)

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        return 0.0

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs


CLASSIFICATION = Classification()
MULTILABEL = Multilabel()
REGRESSION = Regression()
TASKS: dict[str, Task] = {task.name: task for task in (CLASSIFICATION, MULTILABEL, REGRESSION)}

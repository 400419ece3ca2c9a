"""What a saved model must hold: types and ranges of its config, shapes and values of its tensors.

Checked when it is loaded, so that nothing that does not fit reaches a prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfilter.estimators.members import KNOWN_SHARES
from graphfilter.models import Fitted, Network
from graphfilter.models.views import SCALINGS, FeatureScaler
from graphfilter.splits import N_FOLDS, NO_FOLD
from graphfilter.systems import System
from graphfilter.systems.pooling import TEMPERATURES
from graphfilter.tables.encoder import TableEncoder
from graphfilter.training import SCALES, TASKS, TargetScale
from graphfilter.util.records import convert

# What a committee keeps of its pools, as tensors of all members.
POOLS = ("coefficients", "coefficients_elsewhere", "folds", "growing")
CLASS_DTYPES = (
    "object", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64",
)  # fmt: skip
# The largest weight of a member that validation vertices can give.
_MOST_WEIGHT = 1e6
# Which tensors a scaling has.
_SCALER_PARTS = {
    "none": [set[str]()],
    "row": [set[str]()],
    "standardise": [{"shift", "scale"}],
    "auto": [{"scale"}, {"shift", "scale"}],
}


@dataclass(frozen=True)
class SavedMember:
    """What a member counts; of a committee's, also what it is (``model``, and the rest)."""

    weight: float
    weight_elsewhere: float
    temperature: float = 1.0
    temperature_elsewhere: float = 1.0
    share: float = 0.0
    columns: int | None = None
    held_fold: int | None = None
    name: str = ""
    title: str = ""
    operator: str = ""
    view: str = ""
    model: dict[str, Any] | None = None

    def check(self) -> None:
        """Raise where it could not have been fitted so."""
        low, high = TEMPERATURES
        for temperature in (self.temperature, self.temperature_elsewhere):
            if not 0.99 * low <= temperature <= 1.01 * high:
                raise ValueError(f"a temperature must be from {low} to {high}; got {temperature}")
        for weight in (self.weight, self.weight_elsewhere, self.share):
            if not 0 <= weight <= _MOST_WEIGHT:
                raise ValueError(f"a weight must not be negative or huge; got {weight}")


@dataclass(frozen=True)
class SavedClasses:
    """The classes, the labels or the names of the numbers that are predicted."""

    dtype: str
    names: list[str | int | float | bool]

    def array(self) -> np.ndarray:
        """Return them as they were; each is there once."""
        if self.dtype not in CLASS_DTYPES:
            raise ValueError(f"classes of unknown type {self.dtype!r}")
        found = np.array(self.names, dtype=self.dtype)
        if not len(found) or len(set(found.tolist())) < len(found):
            raise ValueError("each class must be named once")
        return found


@dataclass(frozen=True)
class SavedConfig:
    """What ``config.json`` says of a model; what else it holds is of a run."""

    parameters: dict[str, Any]
    classes: SavedClasses
    n_features: int
    scaling: str
    has_edges: bool
    members: list[SavedMember]
    task: str = "classification"
    is_column: bool = True
    links: str = ""
    feature_names: list[str] | None = None
    channels: list[str] = field(default_factory=list)
    scales: list[str] = field(default_factory=list)
    encoder: dict[str, Any] | None = None

    @property
    def n_features_in(self) -> int:
        """How many columns X has, before words, dates and gaps are encoded."""
        return self.n_features if self.encoder is None else len(self.feature_names or ())

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> SavedConfig:
        """Return the config, of the right types and in range; TypeError or ValueError otherwise."""
        found = convert(cls, dict(content))
        if found.task not in TASKS or found.scaling not in SCALINGS:
            raise ValueError(f"unknown task {found.task!r} or scaling {found.scaling!r}")
        if found.n_features < 0:
            raise ValueError(f"{found.n_features} features")
        if found.feature_names and len(found.feature_names) != found.n_features_in:
            raise ValueError(f"{found.n_features} features, but other names")
        for member in found.members:
            member.check()
        if not any(member.weight for member in found.members):
            raise ValueError("no member has a weight")
        return found

    def table_encoder(self) -> TableEncoder | None:
        """Return how a table becomes features, where the model was fitted to one."""
        if self.encoder is None:
            return None
        found = TableEncoder.from_dict(self.encoder)
        if len(found.feature_names) != self.n_features:
            raise ValueError(f"{self.n_features} features, but other columns of a table")
        return found

    def scaler(self, tensors: Mapping[str, Tensor]) -> FeatureScaler:
        """Return how features are scaled, one shift and scale for each."""
        names = {name.removeprefix("scaler.") for name in tensors if name.startswith("scaler.")}
        if names not in _SCALER_PARTS[self.scaling]:
            raise ValueError(f"features scaled by {self.scaling!r} with {sorted(names)}")
        parts = {name: _vector(tensors, f"scaler.{name}", self.n_features) for name in names}
        if "scale" in parts and not (parts["scale"] > 0).all():
            raise ValueError("scales of features must be positive")
        return FeatureScaler(self.scaling, **parts)

    def target(self, tensors: Mapping[str, Tensor]) -> tuple[TargetScale, ...]:
        """Return the scales of the numbers that are predicted."""
        n = len(self.classes.names)
        if "target.mean" in tensors:  # A model whose numbers were standardised and not bounded.
            mean, scale = (_vector(tensors, f"target.{name}", n) for name in ("mean", "scale"))
            ends = [(-math.inf, math.inf)] * n
            numbers = [(m, s, *end) for m, s, end in zip(mean, scale, ends, strict=True)]
            names, quantiles = ["identity"] * n, [np.zeros(0)] * n
        else:
            numbers = [tuple(row) for row in tensors["target.scales"].double().tolist()]
            names = self.scales
            quantiles = [tensors[f"target.quantiles{t}"].numpy() for t in range(len(names))]
        if not n == len(names) == len(numbers) or any(name not in SCALES for name in names):
            raise ValueError(f"{n} numbers, but scales {names}")
        scales: list[TargetScale] = []
        for name, own, kept in zip(names, numbers, quantiles, strict=True):
            mean, deviation, low, high = own
            if not deviation > 0 or not np.isfinite([mean, deviation]).all() or not low <= high:
                raise ValueError("scales of numbers must be positive")
            if (name == "rank") != bool(len(kept)) or not (np.diff(kept) >= 0).all():
                raise ValueError("quantiles of numbers must be sorted")
            scales.append(TargetScale(name, mean, deviation, low, high, kept))
        return tuple(scales)

    def pools(self, tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
        """Return the coefficients of all members in their pools, by name."""
        found: dict[str, np.ndarray] = {}
        for key in POOLS:
            if f"pool.{key}" not in tensors:
                continue
            values = tensors[f"pool.{key}"].double().numpy()
            outputs = values.shape[-1] == len(self.classes.names)
            if len(values) != len(self.members) or not np.isfinite(values).all():
                raise ValueError(f"{key} must be finite numbers, one row per member")
            several = key in ("folds", "growing")
            if not several and (values.ndim != 2 or not outputs):
                raise ValueError(f"{key} must have one column per output")
            if several and values.ndim != (2 if self.task == "classification" else 3):
                raise ValueError(f"{key} must have one pool each")
            if key == "growing" and (values.shape[1] != len(KNOWN_SHARES) or not values.any()):
                raise ValueError(f"growing must have {len(KNOWN_SHARES)} pools, with weights")
            found[key] = values
        return found


def read_held(tensors: Mapping[str, Tensor], members: Sequence[SavedMember]) -> np.ndarray | None:
    """Return the fold that each fitted vertex was held out in; None where there were no folds."""
    folds = [member.held_fold for member in members]
    if "held" not in tensors:
        if any(fold is not None for fold in folds):
            raise ValueError("members with folds, but the folds of vertices are missing")
        return None
    held = tensors["held"].numpy()
    right = held.dtype == np.int8 and held.ndim == 1 and len(held) > 0
    if not right or held.min() < NO_FOLD or held.max() >= N_FOLDS:
        raise ValueError("the folds of the vertices are damaged")
    if folds != [*range(N_FOLDS)] * (len(folds) // N_FOLDS):
        raise ValueError("each kind of member must have one of every fold")
    return held


def scale_tensors(scales: Sequence[TargetScale]) -> dict[str, Tensor]:
    """Return the numbers of scales as :meth:`SavedConfig.target` reads them."""
    numbers = [(s.mean, s.deviation, s.low, s.high) for s in scales]
    kept = {f"target.quantiles{t}": torch.tensor(s.quantiles) for t, s in enumerate(scales)}
    return {"target.scales": torch.tensor(numbers, dtype=torch.float64), **kept}


def check_names(tensors: Mapping[str, Tensor], n_members: int) -> None:
    """Raise where a tensor belongs to nothing."""
    parts = ("scaler", "target", "pool", "promise", "known", "held")
    known = {*parts, *(f"member{i}" for i in range(n_members))}
    if others := sorted(set(tensors) - {n for n in tensors if n.partition(".")[0] in known}):
        raise ValueError(f"{others[0]!r} belongs to no member")


def check_member(system: System, network: Network[Any], n_features: int) -> None:
    """Raise where what a network has loaded is not finite, or not of what it sees.

    A :class:`~graphfilter.models.Fitted` one has checked its own tensors.
    """
    if isinstance(network, Fitted):
        if (kept := network.kept_view()) is not None:
            _check_places(kept, n_features, getattr(network, "n_features", 0))
        return
    for name, value in network.state_dict().items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise ValueError(f"{name} of {system.name!r} must be finite")


def _check_places(kept: Mapping[str, np.ndarray], n_features: int, n_columns: int) -> None:
    basis = kept["basis"]
    if set(kept) == {"basis"}:
        if len(basis) != n_features or basis.shape[1] >= n_columns:
            raise ValueError(f"a basis of {basis.shape}, for {n_features} features")
        return
    # Axes are joined by the logarithm of the degree, which stands among the places already.
    n_places = kept["axes"].shape[1] + 1 if "axes" in kept else kept["places"].shape[1]
    if basis.size and len(basis) != n_features:
        raise ValueError(f"a basis of {len(basis)} features; there are {n_features}")
    own = basis.shape[1] if basis.size else n_features
    if 3 * own + n_places != n_columns:
        raise ValueError(f"positions that do not fit the trees on {n_columns} columns")


def _vector(tensors: Mapping[str, Tensor], name: str, size: int) -> np.ndarray:
    found = tensors[name]
    right = tuple(found.shape) == (size,)
    if not right or not found.is_floating_point() or not bool(found.isfinite().all()):
        raise ValueError(f"{name} must hold {size} finite numbers")
    return found.numpy()

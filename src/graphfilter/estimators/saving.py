"""A fitted estimator on disk: tensors in safetensors, the rest in JSON, a version in both.

What is loaded is checked: types and ranges of the config, shapes and values of the tensors, so that
nothing that does not fit reaches a prediction.

Beside it lies a model card: what it was fitted on, and how it answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.estimators.calibration import Calibration
from graphfilter.estimators.earlier import FittedEstimator, KnownVertices
from graphfilter.estimators.members import KNOWN_SHARES, FittedMember, has_folds
from graphfilter.filters.base import read_config
from graphfilter.models import ChannelNetwork, Fitted, ModelConfig, Network, ToldHopsConfig
from graphfilter.models.scaling import SCALINGS, FeatureScaler
from graphfilter.models.views import MISSED, VIEWS
from graphfilter.operators import OPERATORS
from graphfilter.operators.operator import without_edges
from graphfilter.systems import System, outside
from graphfilter.systems.pooling import TEMPERATURES
from graphfilter.systems.prepared import N_FOLDS, NO_FOLD
from graphfilter.systems.system import Committee
from graphfilter.tables.encoder import TableEncoder
from graphfilter.training import REGRESSION, SCALES, TASKS, TargetScale
from graphfilter.util import records
from graphfilter.util.errors import ConfigError, GraphFilterError, ModelFileError
from graphfilter.util.files import atomic_file, make_folder
from graphfilter.util.words import listed_names, number
from graphfilter.version import __version__

CARD_FILE = "README.md"
# What model hubs read of a card.
_HEAD = "---\nlibrary_name: graphfilter\ntags:\n- graph-ml\n- node-classification\n---\n"


def write_card(estimator: FittedEstimator, folder: Path) -> None:
    """Write README.md to a folder, unless it holds another one, or one that says more."""
    path, head = folder / CARD_FILE, _HEAD.encode()
    knows_less = not hasattr(estimator, "graph_")
    if path.exists() and (knows_less or path.read_bytes()[: len(head)] != head):
        return
    with atomic_file(path) as made:
        made.write_text(model_card(estimator), encoding="utf-8")


def model_card(estimator: FittedEstimator) -> str:
    """Return the facts of a fit in Markdown; of a loaded model those that are saved with it."""
    kind, names = type(estimator).__name__, [str(n) for n in estimator.target_names_.tolist()]
    facts: list[tuple[str, Any]] = [("predicts", f"{estimator.task_}: {listed_names(names)}")]
    if (graph := getattr(estimator, "graph_", None)) is not None:
        facts.append(("fitted on", repr(graph)))
        split = estimator.split_
        parts = f"{len(split.train):,} for training, {len(split.val):,} for validation"
        facts.append(("known vertices", f"{parts} ({split.rule or 'given'})"))
    columns = getattr(estimator, "feature_names_in_", ())
    facts.append(("columns", f"{estimator.n_features_in_} {listed_names([*map(str, columns)])}"))
    facts.append(("model", estimator.system_.title))
    shares = getattr(estimator, "weights_", {}).items()
    facts.append(("members", ", ".join(f"{name} {w:.0%}" for name, w in shares if w >= 0.005)))
    facts.append(("settings", repr(estimator)))
    scores: dict[str, Any] = getattr(estimator, "validation_scores_", {})
    shown = {m.name: scores.get(key) for key, m in estimator.task_.metrics.items()}
    text = ", ".join(f"{name} {number(v)}" for name, v in shown.items() if isinstance(v, float))
    facts.append(("on validation vertices", text))
    facts.append(("version", f"graphfilter {__version__}"))
    rows = [(name, " ".join(str(text).replace("|", r"\|").split())) for name, text in facts]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows if text)
    return (
        f"{_HEAD}\n# {kind}\n\n| | |\n|---|---|\n{table}\n\n"
        "Epochs and weights were chosen on the validation vertices; on others scores are somewhat "
        f'worse.\n\n```python\nimport graphfilter as gf\n\nmodel = gf.{kind}.load("folder")\n'
        "model.predict(X, graph=edges)\n```\n"
    )


E = TypeVar("E")

# Raised by one when a file written today could not be read by the code of today's release.
FORMAT = 1
CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"
# What a member counts.
_NUMBERS = ("weight", "temperature", "weight_elsewhere", "temperature_elsewhere", "share")
# What is kept of a member of a committee, which may have others in later versions.
_OF_COMMITTEE = ("name", "title", "operator", "view")
# What a committee keeps of its pools, as tensors of all members.
POOLS = ("coefficients", "coefficients_elsewhere", "folds", "growing")
CLASS_DTYPES = (
    "object", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64",
)  # fmt: skip
# The largest weight of a member that validation vertices can give.
_MOST_WEIGHT = 1e6
# The tensors that are of no member.
_PARTS = ("scaler", "target", "pool", "promise", "known", "held")
# Which tensors a scaling has.
_SCALER_PARTS = {
    "none": [set[str]()],
    "row": [set[str]()],
    "standardise": [{"shift", "scale"}],
    "auto": [{"scale"}, {"shift", "scale"}],
}


def save_estimator(
    estimator: FittedEstimator, folder: str | Path, run: dict[str, Any] | None = None
) -> None:
    """Write ``model.safetensors`` and then ``config.json`` to ``folder``.

    ``run`` says how the model was made; it is stored unread.
    """
    folder = Path(folder)
    make_folder(folder)
    encoder, members = estimator.encoder_, estimator.fitted_members_
    parts = {
        "scaler": estimator.scaler_, "promise": estimator.calibration_, "known": estimator.known_,
    }  # fmt: skip
    tensors = {
        f"{name}.{key}": torch.tensor(values)
        for name, part in parts.items()
        if part is not None
        for key, values in part.to_arrays().items()
    }
    if estimator.task_ is REGRESSION:
        numbers = [(s.mean, s.deviation, s.low, s.high, s.factor) for s in estimator.target_scales_]
        tensors["target.scales"] = torch.tensor(numbers, dtype=torch.float64)
        for t, scale in enumerate(estimator.target_scales_):
            tensors[f"target.quantiles{t}"] = torch.tensor(scale.quantiles)
    for name in POOLS:
        values = [getattr(member, name) for member in members]
        if all(value is not None for value in values):
            tensors[f"pool.{name}"] = torch.tensor(np.stack(values))
    if estimator.held_ is not None:
        tensors["held"] = torch.tensor(estimator.held_)
    for i, network in enumerate(estimator.members_):
        tensors |= {f"member{i}.{k}": v for k, v in network.state_dict().items()}
    checksum = records.write_tensors(
        folder / MODEL_FILE, tensors, {"kind": "model", "format": FORMAT, "version": __version__}
    )
    names = getattr(estimator, "feature_names_in_", None)
    # A loaded model has no graph to count the columns on that its networks read.
    if (graph := getattr(estimator, "graph_", None)) is not None:
        n_features = graph.n_features
    else:
        n_features = estimator.n_features_in_ if encoder is None else len(encoder.feature_names)
    described = []
    for member in members:
        numbers = {name: getattr(member, name) for name in _NUMBERS}
        if isinstance(estimator.system_, Committee):
            # All that it is, so that versions whose committees have other members can load it.
            system = member.system
            numbers |= {name: getattr(system, name) for name in _OF_COMMITTEE}
            numbers |= {"model": system.describe(), "columns": member.columns}
            numbers["held_fold"] = member.held_fold
        described.append(numbers)
    classes, kind = estimator.target_names_.tolist(), str(estimator.target_names_.dtype)
    if not all(isinstance(name, str | int | float) for name in classes):
        raise GraphFilterError("class names must be strings or numbers to be saved.")
    content = {
        "format": FORMAT,
        "version": __version__,
        "kind": type(estimator).__name__,
        "parameters": _plain_parameters(estimator),
        "task": estimator.task_.name,
        "is_column": estimator.is_column_,
        "classes": {"dtype": kind if kind in CLASS_DTYPES else "object", "names": classes},
        "n_features": n_features,
        "scaling": estimator.scaler_.scaling,
        "scales": [scale.name for scale in estimator.target_scales_],
        "has_edges": estimator.has_edges_,
        "links": estimator.links_checksum_,
        "members": described,
        "model_sha256": checksum,
        "feature_names": None if names is None else names.tolist(),
        "encoder": None if encoder is None else encoder.to_dict(),
        "run": run,
    }
    if isinstance(first := estimator.members_[0], ChannelNetwork) and first.channels:
        content["channels"] = list(first.channels)
    records.write_checked_json(folder / CONFIG_FILE, content)


def _plain_parameters(estimator: FittedEstimator) -> dict[str, Any]:
    """Return the parameters as JSON; the bound graph is left out and random states dropped."""

    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) else value

    parameters = estimator.settled_parameters()
    del parameters["graph"]
    if not isinstance(parameters["random_state"], int):
        parameters["random_state"] = None
    if isinstance(parameters.get("class_weight"), dict):
        pairs = parameters["class_weight"].items()
        parameters["class_weight"] = [[plain(k), float(w)] for k, w in pairs]
    if parameters.get("costs"):
        pairs = parameters["costs"].items()
        parameters["costs"] = [[[*map(plain, k)], float(cost)] for k, cost in pairs]
    if not isinstance(parameters.get("model", ""), str):
        parameters["model"] = outside.describe_system(outside.system_of(parameters["model"]))
    return {name: plain(value) for name, value in parameters.items()}


def load_estimator(cls: type[E], folder: str | Path, model: Any = None) -> E:
    """Read what :func:`save_estimator` wrote; ``model`` is the object it was fitted with, if any.

    Nothing is imported, and nothing in the files runs code.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: there is no such folder.")
    config = records.read_checked_json(folder / CONFIG_FILE)
    tensors, metadata = records.read_tensors(folder / MODEL_FILE, config.get("model_sha256"))
    for name, content in ((CONFIG_FILE, config), (MODEL_FILE, metadata)):
        if (version := content.get("format")) != FORMAT:
            text = f"must be of format {FORMAT}; got {version}. Use the version that wrote it."
            raise ModelFileError(f"{folder / name}: {text}")
    if config.get("kind") != cls.__name__:
        raise ModelFileError(
            f"{folder}: holds a {config.get('kind')}, not a {cls.__name__}; load it as that."
        )
    try:
        return _rebuild(cls, config, tensors, model)
    except outside.NotImportedError as error:
        raise ModelFileError(
            f"{folder}: {error}, which the model was made of, must be imported before it is "
            "loaded. Import it, or name it with `model`, as package.module:name."
        ) from None
    except (
        KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError,
    ) as error:  # fmt: skip
        if isinstance(error, ModelFileError | outside.WrongModelError):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        text = "the model and its config do not fit together"
        raise ModelFileError(f"{folder}: {text} ({reason}). Fit again.") from None


def _rebuild(cls: type[E], config: dict[str, Any], tensors: dict[str, Tensor], model: Any) -> E:
    parameters = dict(config["parameters"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    if parameters.get("costs"):
        parameters["costs"] = {tuple(pair): cost for pair, cost in parameters["costs"]}
    if isinstance(parameters.get("model"), dict):
        parameters["model"] = outside.read_system(parameters["model"], model)
    elif model is not None:
        raise outside.WrongModelError(
            f"model must be left out of a {cls.__name__} that was fitted by name; got {model!r}."
        )
    estimator: Any = cls(**parameters)
    saved = SavedConfig.read(config)
    task = TASKS[saved.task]
    estimator.task_, estimator.is_column_ = task, saved.is_column
    estimator.target_names_ = saved.classes.array()
    estimator.target_scales_ = saved.target(tensors) if task is REGRESSION else ()
    estimator.encoder_ = saved.table_encoder()
    estimator.n_features_in_ = saved.n_features_in
    if saved.feature_names:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    estimator.has_edges_ = saved.has_edges
    stored = sum(value.numel() for value in tensors.values())
    system = estimator.build_system()
    if isinstance(system.model, ToldHopsConfig) and "member0.begun" not in tensors:  # Of 0.2.
        system = dataclasses.replace(system, model=system.model.untold())
    estimator.system_ = system
    counts = {"n_features": saved.n_features, "n_members": estimator.n_members}
    _check_counts(system.settings() | counts, stored)
    estimator.scaler_ = saved.scaler(tensors)
    for name in tensors:
        part, _, number = name.partition(".")[0].partition("member")
        if part not in _PARTS and not (number.isdecimal() and int(number) < len(saved.members)):
            raise ValueError(f"{name!r} belongs to no member")
    sizes = Graph(
        np.zeros(2, dtype=np.int32),
        np.zeros(0, dtype=np.int32),
        features=csr_array((1, saved.n_features), dtype=np.float32),
        labels=np.array([-1]),
        classes=estimator.target_names_,
    )
    sizes = without_edges(sizes, saved.channels)
    pools = saved.pools(tensors)
    members = []
    for i, described in enumerate(saved.members):
        seen, of_member = sizes, described.system(system)
        _check_counts(of_member.settings(), stored)
        if described.columns is not None:  # It sees others.
            if not 0 < described.columns <= stored:
                raise ValueError(f"{described.columns} columns, but fewer numbers are stored")
            columns = csr_array((1, described.columns), dtype=np.float32)
            seen = dataclasses.replace(sizes, features=columns)
        network = of_member.build(seen, seed=0)
        network.load_state_dict(records.tensors_under(tensors, f"member{i}."))
        _check_network(of_member, network, saved.n_features)
        members.append(
            FittedMember(
                of_member,
                network,
                columns=described.columns or 0,
                held_fold=described.held_fold,
                **{name: getattr(described, name) for name in _NUMBERS},
                **{name: values[i] for name, values in pools.items()},
            )
        )
    promise, known = (
        {name: value.numpy() for name, value in records.tensors_under(tensors, f"{part}.").items()}
        for part in ("promise", "known")
    )
    estimator.calibration_ = Calibration.from_arrays(promise)
    estimator.known_ = KnownVertices.from_arrays(known)
    if estimator.known_ is not None and "growing" not in pools:
        raise ValueError("ids of vertices, but no weights of members that know them")
    estimator.held_ = saved.held(tensors)
    held, ids = estimator.held_, estimator.known_
    if held is not None and ids is not None and len(held) != len(ids.ids):
        raise ValueError("the folds are of other vertices than the ids")
    estimator.links_checksum_ = saved.links
    estimator.chosen_ = {}
    estimator.set_members(members)
    return estimator


_COUNTS = (
    "n_features", "n_members", "n_layers", "n_hops", "n_links", "hidden_size", "degree",
)  # fmt: skip


def _check_counts(settings: Mapping[str, Any], stored: int) -> None:
    """Raise where the config asks for more than the file holds, before memory is taken for it."""
    for name, value in settings.items():
        if name in _COUNTS and isinstance(value, int) and value > max(stored, 1):
            raise ValueError(f"{name} is {value}, but only {stored} numbers are stored")


def _check_network(system: System, network: Network[Any], n_features: int) -> None:
    """Raise where what a network has loaded is not finite, or not of what it sees.

    A :class:`~graphfilter.models.Fitted` one has checked its own tensors.
    """
    if not isinstance(network, Fitted):
        for name, value in network.state_dict().items():
            if value.is_floating_point() and not bool(value.isfinite().all()):
                raise ValueError(f"{name} of {system.name!r} must be finite")
        return
    if (kept := network.kept_view()) is None:
        return
    n_columns = getattr(network, "n_features", 0)
    if "beside" in kept:
        told = max(kept["told_values"].shape[-1], 1) if "told_values" in kept else n_columns + 1
        more = [n_columns - times * n_features for times in (1, 2, 3)]
        if not any(n >= 0 and n % told == 0 for n in more):
            raise ValueError(f"{n_columns} columns beside each other, of {n_features} features")
        return
    basis = kept.get("basis", np.zeros((0, 0)))
    if "told_rows" in kept:
        plain = kept.get("plain", np.zeros(0, dtype=np.int64))
        fit = not basis.size or len(basis) + len(plain) == n_features
        if not fit or (plain.size and plain.max() >= n_features):
            raise ValueError(f"trees on other columns than {n_features} features")
        return
    if set(kept) == {"basis"}:
        if len(basis) != n_features or basis.shape[1] >= n_columns:
            raise ValueError(f"a basis of {basis.shape}, for {n_features} features")
        return
    # Axes are joined by the logarithm of the degree, which stands among the places already.
    n_places = kept["axes"].shape[1] + 1 if "axes" in kept else kept["places"].shape[1]
    if basis.size and len(basis) != n_features:
        raise ValueError(f"a basis of {len(basis)} features; there are {n_features}")
    width = basis.shape[1] if basis.size else n_features
    if 3 * width + n_places != n_columns:
        raise ValueError(f"positions that do not fit the trees on {n_columns} columns")


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

    def system(self, whole: System) -> System:
        """Return what it was trained as: of a committee's, what the file says."""
        if not isinstance(whole, Committee):
            return whole
        try:
            model = read_config(self.model or {})
        except ConfigError as error:  # The file is damaged; nobody asked for such a model.
            raise ValueError(str(error)) from None
        if not isinstance(model, ModelConfig) or self.operator not in OPERATORS:
            raise ValueError(f"a member of {model.kind} and {self.operator}")
        if self.view not in VIEWS:
            raise ValueError(f"a member of {model.kind} that sees {self.view}")
        return System(
            self.name, self.title, model, self.operator, whole.config, "own", view=self.view
        )

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
        names = np.array(self.names, dtype=self.dtype)
        if not len(names) or len(set(names.tolist())) < len(names):
            raise ValueError("each class must be named once")
        return names


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
        config = records.convert(cls, dict(content))
        if config.task not in TASKS or config.scaling not in SCALINGS:
            raise ValueError(f"unknown task {config.task!r} or scaling {config.scaling!r}")
        if config.n_features < 0:
            raise ValueError(f"{config.n_features} features")
        if config.feature_names and len(config.feature_names) != config.n_features_in:
            raise ValueError(f"{config.n_features} features, but other names")
        for member in config.members:
            member.check()
        if not any(member.weight for member in config.members):
            raise ValueError("no member has a weight")
        return config

    def table_encoder(self) -> TableEncoder | None:
        """Return how a table becomes features, where the model was fitted to one."""
        if self.encoder is None:
            return None
        encoder = TableEncoder.from_dict(self.encoder)
        if len(encoder.feature_names) != self.n_features:
            raise ValueError(f"{self.n_features} features, but other columns of a table")
        return encoder

    def scaler(self, tensors: Mapping[str, Tensor]) -> FeatureScaler:
        """Return how features are scaled, one shift and scale for each."""
        names = {name.removeprefix("scaler.") for name in tensors if name.startswith("scaler.")}
        loop = float(_vector(tensors, "scaler.loop", 1)[0]) if "loop" in names else 1.0
        if names - {"loop", "bounds"} not in _SCALER_PARTS[self.scaling]:
            raise ValueError(f"features scaled by {self.scaling!r} with {sorted(names)}")
        parts: dict[str, Any] = {
            name: _vector(tensors, f"scaler.{name}", *(2,) * (name == "bounds"), self.n_features)
            for name in names - {"loop"}
        }
        if not (parts.get("scale", np.ones(1)) > 0).all() or not loop > 0:
            raise ValueError("scales of features, and weights of loops, must be positive")
        if "bounds" in parts and not (parts["bounds"][0] <= parts["bounds"][1]).all():
            raise ValueError("bounds of features must be in order")
        return FeatureScaler(self.scaling, **parts, loop=loop)

    def target(self, tensors: Mapping[str, Tensor]) -> tuple[TargetScale, ...]:
        """Return the scales of the numbers that are predicted."""
        n, names = len(self.classes.names), self.scales
        numbers = [tuple(row) for row in tensors["target.scales"].double().tolist()]
        if not n == len(names) == len(numbers) or any(name not in SCALES for name in names):
            raise ValueError(f"{n} numbers, but scales {names}")
        scales: list[TargetScale] = []
        for t, (name, (mean, deviation, low, high, *more)) in enumerate(
            zip(names, numbers, strict=True)
        ):
            (factor,) = more or (1.0,)  # Files of 0.2 have none.
            quantiles = tensors[f"target.quantiles{t}"].numpy()
            finite = np.isfinite([mean, deviation, factor]).all()
            if not (deviation > 0 and factor > 0 and finite and low <= high):
                raise ValueError("scales of numbers must be positive")
            if (name == "rank") != bool(len(quantiles)) or not (np.diff(quantiles) >= 0).all():
                raise ValueError("quantiles of numbers must be sorted")
            scales.append(TargetScale(name, mean, deviation, low, high, quantiles, factor))
        return tuple(scales)

    def pools(self, tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
        """Return the coefficients of all members in their pools, by name."""
        pools = {
            name: values.double().numpy()
            for name, values in records.tensors_under(tensors, "pool.").items()
            if name in POOLS
        }
        for name, values in pools.items():
            if len(values) != len(self.members) or not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite numbers, one row per member")
            several, n_outputs = name in ("folds", "growing"), len(self.classes.names)
            n_axes = 3 if several and self.task != "classification" else 2
            if values.ndim != n_axes or (not several and values.shape[1] != n_outputs):
                raise ValueError(f"{name} must have one column per output")
            if name == "growing" and (values.shape[1] != len(KNOWN_SHARES) or not values.any()):
                raise ValueError(f"growing must have {len(KNOWN_SHARES)} pools, with weights")
        return pools

    def held(self, tensors: Mapping[str, Tensor]) -> np.ndarray | None:
        """Return the fold that each fitted vertex was held out in; None where there were none."""
        # What is added for residuals has learned from answers, and is no member of a kind.
        folds = [member.held_fold for member in self.members if member.view != MISSED]
        if "held" not in tensors:
            if any(fold is not None for fold in folds):
                raise ValueError("members with folds, but the folds of vertices are missing")
            return None
        held = tensors["held"].numpy()
        right = held.dtype == np.int8 and held.ndim == 1 and len(held) > 0
        if not right or held.min() < NO_FOLD or held.max() >= N_FOLDS:
            raise ValueError("the folds of the vertices are damaged")
        # One of every fold, or one that has not seen validation vertices and one that has.
        n_runs = N_FOLDS if has_folds(held) else 2
        kept = [fold for fold in folds if fold is not None]
        whole = kept == [*range(n_runs)] * (len(kept) // n_runs)
        if not whole or (n_runs == N_FOLDS and len(kept) < len(folds)):
            raise ValueError("each kind of member must have one of every fold")
        return held


def _vector(tensors: Mapping[str, Tensor], name: str, *size: int) -> np.ndarray:
    tensor = tensors[name]
    right = tuple(tensor.shape) == size
    if not right or not tensor.is_floating_point() or not bool(tensor.isfinite().all()):
        raise ValueError(f"{name} must hold {size} finite numbers")
    return tensor.numpy()

"""A fitted estimator on disk: tensors in safetensors, the rest in JSON, a version in both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from scipy.sparse import csr_array

from graphfilter.errors import GraphFilterError, ModelFileError, check_count
from graphfilter.estimators.members import FittedMember
from graphfilter.filters.config import read_config
from graphfilter.graph import Graph
from graphfilter.inputs.scaling import FeatureScaler
from graphfilter.inputs.views import VIEWS
from graphfilter.models import ChannelNetwork, ModelConfig, Network
from graphfilter.operators.channels import without_edges
from graphfilter.operators.kinds import OPERATORS
from graphfilter.storage import (
    make_folder,
    read_checked_json,
    read_tensors,
    write_checked_json,
    write_tensors,
)
from graphfilter.systems import System
from graphfilter.systems.committee import Committee
from graphfilter.training import CLASSIFICATION, REGRESSION, TASKS
from graphfilter.version import __version__

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator

    E = TypeVar("E", bound=VertexEstimator)

# Raised by one when a file written today could not be read by the code of today's release.
FORMAT = 1
# The classes as version 0.1.0 called them.
FORMER_NAMES = {"FilterClassifier": "SystemClassifier"}
CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"


def save_estimator(
    estimator: VertexEstimator, folder: str | Path, run: dict[str, Any] | None = None
) -> None:
    """Write ``model.safetensors`` and then ``config.json`` to ``folder``.

    ``run`` says how the model was made; it is stored unread.
    """
    folder = Path(folder)
    make_folder(folder)
    tensors = {
        f"scaler.{name}": torch.tensor(value)
        for name, value in estimator.scaler_.to_arrays().items()
    }
    if estimator.task_ is REGRESSION:
        tensors["target.mean"] = torch.tensor(estimator.target_mean_)
        tensors["target.scale"] = torch.tensor(estimator.target_scale_)
    for i, member in enumerate(estimator.members_):
        tensors |= {f"member{i}.{k}": v for k, v in member.state_dict().items()}
    checksum = write_tensors(
        folder / MODEL_FILE, tensors, {"kind": "model", "format": FORMAT, "version": __version__}
    )
    bound = estimator.graph
    names = getattr(estimator, "feature_names_in_", None)
    write_checked_json(
        folder / CONFIG_FILE,
        {
            "format": FORMAT,
            "version": __version__,
            "kind": type(estimator).__name__,
            "parameters": _plain_parameters(estimator),
            "task": estimator.task_.name,
            "is_column": estimator.is_column_,
            "classes": _plain_classes(estimator.target_names_),
            "n_features": estimator.n_features_in_ if bound is None else bound.n_features,
            **({} if names is None else {"feature_names": names.tolist()}),
            "scaling": estimator.scaler_.scaling,
            "has_edges": estimator.has_edges_,
            "links": estimator.links_checksum_,
            "members": [_plain_member(m, estimator.system_) for m in estimator.fitted_members_],
            "model_sha256": checksum,
            **({"channels": channels} if (channels := _channels(estimator)) else {}),
            **({} if run is None else {"run": run}),
        },
    )


def load_estimator(cls: type[E], folder: str | Path) -> E:
    """Read what :func:`save_estimator` wrote."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFileError(
            f"{folder}: there is no such folder; give the folder of a saved model."
        )
    config = read_checked_json(folder / CONFIG_FILE)
    tensors, metadata = read_tensors(folder / MODEL_FILE, config.get("model_sha256"))
    for name, content in ((CONFIG_FILE, config), (MODEL_FILE, metadata)):
        found = content.get("format")
        if found != FORMAT:
            raise ModelFileError(
                f"{folder / name}: must be of format {FORMAT}; got {found}. "
                "Load it with the version of graphfilter that wrote it, or fit again."
            )
    kind = str(config.get("kind"))
    if FORMER_NAMES.get(kind, kind) != cls.__name__:
        raise ModelFileError(
            f"{folder}: holds a {config.get('kind')}, not a {cls.__name__}; load it as that."
        )
    try:
        return _rebuild(cls, config, tensors)
    except (
        KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError,
    ) as error:  # fmt: skip
        if isinstance(error, GraphFilterError):
            raise
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise ModelFileError(
            f"{folder}: the model and its config do not fit together ({reason}). Fit again."
        ) from None


def _rebuild(cls: type[E], config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> E:
    parameters = dict(config["parameters"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    estimator = cls(**parameters)
    kind, names = config["classes"]["dtype"], config["classes"]["names"]
    if kind not in _CLASS_DTYPES:
        raise ValueError(f"classes of unknown type {kind!r}")
    # Files of version 0.1.0 are of classes.
    task = TASKS[config.get("task", CLASSIFICATION.name)]
    estimator.set_target(task, np.array(names, dtype=kind), bool(config.get("is_column", True)))
    if task is REGRESSION:
        estimator.target_mean_ = tensors["target.mean"].numpy()
        estimator.target_scale_ = tensors["target.scale"].numpy()
    estimator.n_features_in_ = int(config["n_features"])
    if names := config.get("feature_names"):  # Not in files of version 0.1.0.
        if len(names) != estimator.n_features_in_ or not all(isinstance(n, str) for n in names):
            raise ValueError(f"{estimator.n_features_in_} features, but other names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.has_edges_ = bool(config["has_edges"])
    scale = {
        k: tensors[f"scaler.{k}"].numpy() for k in ("shift", "scale") if f"scaler.{k}" in tensors
    }
    estimator.scaler_ = FeatureScaler(config["scaling"], **scale)
    _check_sizes(estimator, tensors)
    system = estimator.system_ = estimator.build_system()
    sizes = dataclasses.replace(
        Graph.of(None, 1, features=csr_array((1, estimator.n_features_in_), dtype=np.float32)),
        labels=np.array([-1]),
        classes=estimator.target_names_,
    )
    sizes = without_edges(sizes, config.get("channels", ()))
    # Files of version 0.1.0 have networks of one system that count the same.
    n_members = check_count("n_members", estimator.n_members)
    share = {"weight": 1 / n_members, "weight_elsewhere": 1 / n_members}
    stored = config.get("members", [share] * n_members)
    members = []
    for i, described in enumerate(stored):
        start = f"member{i}."
        own = _member_system(system, described)
        _check_counts(own.settings(), tensors)
        seen = _with_columns(sizes, described.get("columns"), tensors)
        network = own.build(seen, seed=0)
        network.load_state_dict(
            {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}
        )
        members.append(_member(own, network, described))
    estimator.links_checksum_ = str(config.get("links", ""))
    estimator.set_members(members)
    return estimator


def _plain_member(member: FittedMember, system: System) -> dict[str, Any]:
    """Return what a member counts, and of a committee's what it is.

    All of it, so that a file is loaded by versions whose committees have other members.
    """
    numbers = {
        "weight": member.weight,
        "temperature": member.temperature,
        "weight_elsewhere": member.weight_elsewhere,
        "temperature_elsewhere": member.temperature_elsewhere,
        "share": member.share,
    }
    if not isinstance(system, Committee):
        return numbers
    own = member.system
    is_ = {"name": own.name, "title": own.title, "operator": own.operator, "view": own.view}
    return {**is_, "model": own.describe(), "columns": member.columns, **numbers}


def _member(system: System, network: Network[Any], described: dict[str, Any]) -> FittedMember:
    """Return a stored member, of which ``described`` is what :func:`_plain_member` returned."""
    return FittedMember(
        system,
        network,
        weight=float(described["weight"]),
        temperature=float(described.get("temperature", 1.0)),
        weight_elsewhere=float(described["weight_elsewhere"]),
        temperature_elsewhere=float(described.get("temperature_elsewhere", 1.0)),
        columns=int(described.get("columns", 0)),
        share=float(described.get("share", 0.0)),
    )


def _member_system(system: System, described: dict[str, Any]) -> System:
    """Return what a stored member was trained as."""
    if not isinstance(system, Committee):
        return system
    if "model" not in described:
        # Written by a version under development: today's member of that name, if it is the same.
        return {member.name: member for member in system.members}[str(described["name"])]
    model = read_config(described["model"])
    operator, view = described["operator"], described["view"]
    if not isinstance(model, ModelConfig) or operator not in OPERATORS or view not in VIEWS:
        raise ValueError(f"a member of {model.kind}, {operator} and {view}")
    name, title = str(described["name"]), str(described["title"])
    return System(name, title, model, operator, system.config, "own", view=view)


def _with_columns(sizes: Graph, columns: Any, tensors: dict[str, torch.Tensor]) -> Graph:
    """Return the graph of sizes with so many features, where a member sees others."""
    if columns is None:
        return sizes
    if not isinstance(columns, int) or not 0 < columns <= sum(t.numel() for t in tensors.values()):
        raise ValueError(f"a member of {columns} columns, but fewer numbers are stored")
    return dataclasses.replace(sizes, features=csr_array((1, columns), dtype=np.float32))


def _channels(estimator: VertexEstimator) -> list[str]:
    """Return the channels that the networks were built for; none of most models."""
    first = estimator.members_[0]
    return list(first.channels) if isinstance(first, ChannelNetwork) else []


def _check_sizes(estimator: VertexEstimator, tensors: dict[str, torch.Tensor]) -> None:
    """Raise where the config asks for more than the file holds, before memory is taken for it."""
    counts = {"n_features": estimator.n_features_in_, "n_members": estimator.n_members}
    _check_counts(counts, tensors)
    _check_counts(estimator.build_system().settings(), tensors)


_COUNTS = ("n_features", "n_members", "n_layers", "n_hops", "hidden_size", "degree")


def _check_counts(settings: Mapping[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    stored = sum(value.numel() for value in tensors.values())
    for name, value in settings.items():
        if name in _COUNTS and isinstance(value, int) and value > max(stored, 1):
            raise ValueError(f"{name} is {value}, but only {stored} numbers are stored")


_CLASS_DTYPES = ("object", "int64", "int32", "float64", "float32", "bool")


def _plain_classes(classes: np.ndarray) -> dict[str, Any]:
    names = classes.tolist()
    if not all(isinstance(name, str | int | float) for name in names):
        raise GraphFilterError("class names must be strings or numbers to be saved.")
    kind = str(classes.dtype)
    return {"dtype": kind if kind in _CLASS_DTYPES else "object", "names": names}


def _plain_parameters(estimator: VertexEstimator) -> dict[str, Any]:
    """Return the parameters as JSON; the bound graph is left out and random states dropped."""
    parameters = estimator.get_params(deep=False)
    del parameters["graph"]
    if not isinstance(parameters["random_state"], int):
        parameters["random_state"] = None
    if isinstance(parameters.get("class_weight"), dict):
        pairs = parameters["class_weight"].items()
        parameters["class_weight"] = [[_plain(k), float(w)] for k, w in pairs]
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

"""A fitted estimator on disk: tensors in safetensors, the rest in JSON, a version in both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.sparse import csr_array

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import FittedMember
from graphfilter.estimators.promises import Promise
from graphfilter.estimators.recognition import KnownVertices
from graphfilter.estimators.saved_model import (
    CLASS_DTYPES,
    POOLS,
    SavedConfig,
    SavedMember,
    check_member,
    check_names,
    read_held,
    scale_tensors,
)
from graphfilter.estimators.state import EstimatorState
from graphfilter.filters.base import read_config
from graphfilter.models import ChannelNetwork, ModelConfig
from graphfilter.models.views import VIEWS
from graphfilter.operators import OPERATORS
from graphfilter.operators.channels import without_edges
from graphfilter.systems import System
from graphfilter.systems.committee import Committee
from graphfilter.training import REGRESSION, TASKS
from graphfilter.util.errors import ConfigError, GraphFilterError, ModelFileError
from graphfilter.util.files import make_folder
from graphfilter.util.records import (
    read_checked_json,
    read_tensors,
    tensors_under,
    write_checked_json,
    write_tensors,
)
from graphfilter.version import __version__

E = TypeVar("E", bound=EstimatorState)

# Raised by one when a file written today could not be read by the code of today's release.
FORMAT = 1
CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"
# What a member counts.
_NUMBERS = ("weight", "temperature", "weight_elsewhere", "temperature_elsewhere", "share")


def save_estimator(
    estimator: EstimatorState, folder: str | Path, run: dict[str, Any] | None = None
) -> None:
    """Write ``model.safetensors`` and then ``config.json`` to ``folder``.

    ``run`` says how the model was made; it is stored unread.
    """
    folder = Path(folder)
    make_folder(folder)
    kept = {
        "scaler": estimator.scaler_, "promise": estimator.promise_, "known": estimator.known_,
    }  # fmt: skip
    tensors = {
        f"{name}.{key}": torch.tensor(values)
        for name, part in kept.items()
        if part is not None
        for key, values in part.to_arrays().items()
    }
    if estimator.task_ is REGRESSION:
        tensors |= scale_tensors(estimator.target_scales_)
    tensors |= _pool_tensors(estimator.fitted_members_)
    if estimator.held_ is not None:
        tensors["held"] = torch.tensor(estimator.held_)
    for i, member in enumerate(estimator.members_):
        tensors |= {f"member{i}.{k}": v for k, v in member.state_dict().items()}
    checksum = write_tensors(
        folder / MODEL_FILE, tensors, {"kind": "model", "format": FORMAT, "version": __version__}
    )
    names = getattr(estimator, "feature_names_in_", None)
    encoder = estimator.encoder_
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
            "n_features": _n_features(estimator),
            **({} if names is None else {"feature_names": names.tolist()}),
            **({} if encoder is None else {"encoder": encoder.to_dict()}),
            "scaling": estimator.scaler_.scaling,
            "scales": [scale.name for scale in estimator.target_scales_],
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
    if config.get("kind") != cls.__name__:
        raise ModelFileError(
            f"{folder}: holds a {config.get('kind')}, not a {cls.__name__}; load it as that."
        )
    try:
        return _rebuild(cls, config, tensors)
    except (
        KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError,
    ) as error:  # fmt: skip
        if isinstance(error, ModelFileError):
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
    saved = SavedConfig.read(config)
    task = TASKS[saved.task]
    estimator.set_target(task, saved.classes.array(), saved.is_column)
    estimator.target_scales_ = saved.target(tensors) if task is REGRESSION else ()
    estimator.encoder_ = saved.table_encoder()
    estimator.n_features_in_ = saved.n_features_in
    if saved.feature_names:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    estimator.has_edges_ = saved.has_edges
    stored = sum(value.numel() for value in tensors.values())
    system = estimator.system_ = estimator.build_system()
    counts = {"n_features": saved.n_features, "n_members": estimator.n_members}
    _check_counts(system.settings() | counts, stored)
    estimator.scaler_ = saved.scaler(tensors)
    check_names(tensors, len(saved.members))
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
        own = _member_system(system, described)
        _check_counts(own.settings(), stored)
        network = own.build(_with_columns(sizes, described.columns, stored), seed=0)
        network.load_state_dict(tensors_under(tensors, f"member{i}."))
        check_member(own, network, saved.n_features)
        members.append(
            FittedMember(
                own,
                network,
                columns=described.columns or 0,
                held_fold=described.held_fold,
                **{name: getattr(described, name) for name in _NUMBERS},
                **{name: values[i] for name, values in pools.items()},
            )
        )
    estimator.promise_ = Promise.from_arrays(_arrays(tensors, "promise."))
    estimator.known_ = KnownVertices.from_arrays(_arrays(tensors, "known."))
    if estimator.known_ is not None and "growing" not in pools:
        raise ValueError("ids of vertices, but no weights of members that know them")
    estimator.held_ = read_held(tensors, saved.members)
    held, known = estimator.held_, estimator.known_
    if held is not None and known is not None and len(held) != len(known.ids):
        raise ValueError("the folds are of other vertices than the ids")
    estimator.links_checksum_ = saved.links
    estimator.chosen_ = {}
    estimator.set_members(members)
    return estimator


def _n_features(estimator: EstimatorState) -> int:
    """Return how many columns the networks read; a loaded model has no graph to count them on."""
    graph: Graph | None = getattr(estimator, "graph_", None)
    if graph is not None:
        return graph.n_features
    encoder = estimator.encoder_
    return estimator.n_features_in_ if encoder is None else len(encoder.feature_names)


def _arrays(tensors: Mapping[str, torch.Tensor], start: str) -> dict[str, np.ndarray]:
    """Return the tensors of one part, by their names in it."""
    return {k[len(start) :]: v.numpy() for k, v in tensors.items() if k.startswith(start)}


def _pool_tensors(members: Sequence[FittedMember]) -> dict[str, torch.Tensor]:
    """Return the coefficients of members in their pools, where a committee has some."""
    found: dict[str, torch.Tensor] = {}
    for name in POOLS:
        values = [getattr(member, name) for member in members]
        if all(value is not None for value in values):
            found[f"pool.{name}"] = torch.tensor(np.stack(values))
    return found


def _plain_member(member: FittedMember, system: System) -> dict[str, Any]:
    """Return what a member counts, and of a committee's what it is.

    All of it, so that a file is loaded by versions whose committees have other members.
    """
    numbers = {name: getattr(member, name) for name in _NUMBERS}
    if not isinstance(system, Committee):
        return numbers
    own = member.system
    is_ = {"name": own.name, "title": own.title, "operator": own.operator, "view": own.view}
    folds = {} if member.held_fold is None else {"held_fold": member.held_fold}
    return {**is_, "model": own.describe(), "columns": member.columns, **folds, **numbers}


def _member_system(system: System, described: SavedMember) -> System:
    """Return what a stored member was trained as."""
    if not isinstance(system, Committee):
        return system
    try:
        model = read_config(described.model or {})
    except ConfigError as error:  # The file is damaged; nobody asked for such a model.
        raise ValueError(str(error)) from None
    operator, view = described.operator, described.view
    if not isinstance(model, ModelConfig) or operator not in OPERATORS or view not in VIEWS:
        raise ValueError(f"a member of {model.kind}, {operator} and {view}")
    return System(described.name, described.title, model, operator, system.config, "own", view=view)


def _with_columns(sizes: Graph, columns: int | None, stored: int) -> Graph:
    """Return the graph of sizes with so many features, where a member sees others."""
    if columns is None:
        return sizes
    if not 0 < columns <= stored:
        raise ValueError(f"a member of {columns} columns, but fewer numbers are stored")
    return dataclasses.replace(sizes, features=csr_array((1, columns), dtype=np.float32))


def _channels(estimator: EstimatorState) -> list[str]:
    """Return the channels that the networks were built for; none of most models."""
    first = estimator.members_[0]
    return list(first.channels) if isinstance(first, ChannelNetwork) else []


_COUNTS = (
    "n_features", "n_members", "n_layers", "n_hops", "n_links", "hidden_size", "degree",
)  # fmt: skip


def _check_counts(settings: Mapping[str, Any], stored: int) -> None:
    """Raise where the config asks for more than the file holds, before memory is taken for it."""
    for name, value in settings.items():
        if name in _COUNTS and isinstance(value, int) and value > max(stored, 1):
            raise ValueError(f"{name} is {value}, but only {stored} numbers are stored")


def _plain_classes(classes: np.ndarray) -> dict[str, Any]:
    names = classes.tolist()
    if not all(isinstance(name, str | int | float) for name in names):
        raise GraphFilterError("class names must be strings or numbers to be saved.")
    kind = str(classes.dtype)
    return {"dtype": kind if kind in CLASS_DTYPES else "object", "names": names}


def _plain_parameters(estimator: EstimatorState) -> dict[str, Any]:
    """Return the parameters as JSON; the bound graph is left out and random states dropped."""
    parameters = estimator.settled_parameters()
    del parameters["graph"]
    if not isinstance(parameters["random_state"], int):
        parameters["random_state"] = None
    if isinstance(parameters.get("class_weight"), dict):
        pairs = parameters["class_weight"].items()
        parameters["class_weight"] = [[_plain(k), float(w)] for k, w in pairs]
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

"""Beginning a fit with the weights of an earlier one: what must be the same, and what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import FittedEstimator, FittedMember
from graphfilter.estimators.targets import Target
from graphfilter.models import Fitted
from graphfilter.splits import EARLIER, NO_FOLD, Split, stratified
from graphfilter.systems import System
from graphfilter.systems.networks import Start
from graphfilter.systems.system import Committee
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import count, listed_names

_FRESH = "fit without it"
PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier fit, of vertices that the graph to be fitted has too.

    Attributes
    ----------
    estimator : FittedEstimator
        Fitted, or loaded.
    ids : sequence or None
        Of the vertices that it was fitted on, compared as text; None where they are not known.
    parts : text array or None
        The part of each of them: train, val, test, or another word.
    name, checksum : str
        The folder it was saved in, and the checksum of its model; empty where it was not.
    """

    estimator: FittedEstimator
    ids: Sequence[Any] | None = None
    parts: NDArray[np.str_] | None = None
    name: str = ""
    checksum: str = ""

    @classmethod
    def of(cls, start_from: Any) -> Self | None:
        """Return the earlier fit that ``start_from`` names."""
        if start_from is None or isinstance(start_from, cls):
            return start_from
        if not (isinstance(start_from, BaseEstimator) and hasattr(start_from, "build_system")):
            raise ConfigError(
                f"`start_from` must be a fitted estimator; got {type(start_from).__name__}. Load a "
                "saved one with its load()."
            )
        check_is_fitted(start_from)
        estimator: Any = start_from
        graph: Graph | None = getattr(estimator, "graph_", None)
        if graph is None:
            return cls(estimator)
        return cls(estimator, ids_of(graph), estimator.split_.part_of(graph.n_vertices))

    def check(
        self,
        estimator: FittedEstimator,
        system: System,
        target: Target,
        n_features: int,
        feature_names: Sequence[str] | None,
    ) -> None:
        """Raise unless the weights mean the same: kind, network, columns and classes."""
        old = self.estimator
        before, now = ([str(n) for n in names] for names in (old.target_names_, target.names))
        if old.task_.name != target.task.name or before != now:
            raise ConfigError(
                f"`start_from` must predict what is to be learned, {listed_names(now)} "
                f"({target.task.name}); it predicts {listed_names(before)} ({old.task_.name}). "
                f"{_FRESH.capitalize()}."
            )
        if type(old) is not type(estimator) or _networks(old.system_) != _networks(system):
            one, other = (f"{type(e).__name__} of {s.title}" for e, s in (
                (old, old.system_), (estimator, system),
            ))  # fmt: skip
            if one == other:
                other += " in another setting"
            raise ConfigError(
                f"`start_from` must be of the model to be fitted, with its setting; it is {one}, "
                f"and this is {other}. Change the setting back, or {_FRESH}."
            )
        known = getattr(old, "feature_names_in_", None)
        if known is not None and feature_names is not None and (*known,) != (*feature_names,):
            missing = [name for name in known if name not in set(feature_names)]
            new = [name for name in feature_names if name not in set(known)]
            problem = f"{new[0]!r} is new" if new else "they are in another order"
            problem = f"{missing[0]!r} is missing" if missing else problem
            raise ConfigError(
                "the features must be those that `start_from` was fitted on; "
                f"{problem}. Give those columns, or {_FRESH}."
            )
        if old.n_features_in_ != n_features:
            raise ConfigError(
                f"`start_from` must have been fitted on the {n_features:,} features given; it was "
                f"on {old.n_features_in_:,}. Give those, or {_FRESH}."
            )

    def start(self, graph: Graph) -> Start:
        """Return the networks to begin with on a graph."""
        networks = [(m.system, m.network) for m in self.estimator.fitted_members_]
        held_before = self.estimator.held_
        if self.ids is None:
            # Networks that held other vertices out each have learned from those that validate now.
            return Start(networks if held_before is None else ())
        number = {str(name): i for i, name in enumerate(ids_of(graph))}
        places = np.array([number.get(str(id), -1) for id in self.ids], dtype=int)
        if held_before is None:
            return Start(networks, places)
        held = np.full(graph.n_vertices, NO_FOLD, dtype=np.int8)
        held[places[places >= 0]] = held_before[places >= 0]
        return Start(networks, places, held)

    def parts_of(self, graph: Graph) -> NDArray[np.str_] | None:
        """Return the part that each vertex of a graph had; '' of new ones, None if not known."""
        if self.ids is None or self.parts is None:
            return None
        known = {
            str(id): part for id, part in zip(self.ids, self.parts.tolist(), strict=True)
            if part in PARTS
        }  # fmt: skip
        return np.array([known.get(str(name), "") for name in ids_of(graph)], dtype="<U5")

    def draw_split(
        self, graph: Graph, codes: NDArray[np.int64], seed: int, fractions: Sequence[float]
    ) -> Split:
        """Keep the parts of known vertices, and divide the other labelled ones at random.

        A new split would validate and test on vertices that the weights were trained on.
        """
        parts = self.parts_of(graph)
        if parts is None:
            raise ConfigError(
                "`start_from` was loaded and does not say which vertices it was trained on, which "
                "must not be validated on: pass split=(train, val, test)."
            )
        known = (parts != "") & (codes >= 0)
        drawn = stratified(np.where(known, -1, codes), seed, fractions)
        whole = (
            np.concatenate([np.flatnonzero(known & (parts == part)), own])
            for part, own in zip(PARTS, (drawn.train, drawn.val, drawn.test), strict=True)
        )
        return Split(*map(np.sort, whole), rule=f"{EARLIER}; others {drawn.rule}")

    def check_split(self, split: Split, graph: Graph) -> None:
        """Raise where vertices that the weights were chosen on are to judge them."""
        parts = self.parts_of(graph)
        if parts is None:
            return
        seen = int((parts[split.val] == "train").sum() + (parts[split.test] == "train").sum())
        seen += int((parts[split.test] == "val").sum())
        if seen:
            raise ConfigError(
                f"{count(seen, 'vertex', 'vertices')} that the earlier fit was trained or "
                "validated on would be used for validation or testing now, and look better than "
                f"new ones. Let them keep their parts, or {_FRESH}."
            )

    def note(self, members: Sequence[FittedMember], start: Start) -> str:
        """Say how many networks began with weights of the earlier fit."""
        networks = [m for m in members if not isinstance(m.network, Fitted)]
        seen, fresh = Counter[str](), list[str]()
        for member in networks:
            if seen[member.system.name] >= start.n_carried(member.system):
                fresh.append(member.system.title)
            seen[member.system.name] += 1
        n_begun = len(networks) - len(fresh)
        text = f"{n_begun} of {count(len(networks), 'network')} started from the earlier weights"
        return (
            f"{text}; from new weights: {', '.join(sorted(set(fresh)))}." if fresh else f"{text}."
        )


def ids_of(graph: Graph) -> Sequence[Any]:
    """Return the ids of a graph's vertices: their names, or their numbers."""
    return range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names


def _networks(system: System) -> list[Any]:
    """Return what decides the shapes and the meaning of weights, not how they are trained."""
    if isinstance(system, Committee):
        return [_networks(member) for member in system.members]
    return [system.model, system.operator, system.view]

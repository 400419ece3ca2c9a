"""An earlier fit: its vertices found again by their ids, and its weights to begin with."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import FittedMember, has_folds
from graphfilter.estimators.targets import Target
from graphfilter.models import Fitted
from graphfilter.models.places import Known
from graphfilter.models.scaling import FeatureScaler
from graphfilter.splits import EARLIER, Split, stratified
from graphfilter.systems import System
from graphfilter.systems.networks import Start
from graphfilter.systems.prepared import NO_FOLD
from graphfilter.systems.system import Committee
from graphfilter.tables.columns import Features
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.words import count, listed_names

# Numbers that are kept of each vertex's features, to tell whether its id still means the same.
SKETCH = 4
# Features have changed where they are more than half as far from what they were as those of two
# vertices are from each other: of squared distances.
CHANGED = 0.25
# From this share of the known vertices on, changed features are not chance.
MANY_CHANGED = 0.01
NO_IDS = (
    "The model keeps no ids (`as_of` and `forget_ids` leave them out): every vertex counts as new, "
    "and members that know vertices by their links are not used."
)
# Pairs of vertices whose distance is the measure.
_PAIRS = 10_000
PARTS = ("train", "val", "test")
# A VertexEstimator: it is made of these parts, which therefore cannot import it.
FittedEstimator = Any


@dataclass(frozen=True, eq=False)
class KnownVertices:
    """The vertices that a model was fitted on: who they are, and a little of what they were.

    Attributes
    ----------
    ids : int64 array (n,)
        Hashes of their ids.
    sketch : float32 array (n, SKETCH)
        Their scaled features, projected.
    directed : bool
        Whether links had directions.
    """

    ids: NDArray[np.int64]
    sketch: NDArray[np.float32]
    directed: bool

    @classmethod
    def of(cls, graph: Graph, scaler: FeatureScaler) -> Self | None:
        """Return the vertices of a graph; None where two have the same id."""
        ids = hash_ids(graph.vertex_names or range(graph.n_vertices))
        if len(np.unique(ids)) < len(ids):
            return None
        return cls(ids, _sketch(graph, scaler), graph.directed)

    def recognise(self, graph: Graph) -> Known | None:
        """Return which vertices of a graph these are; None where none is, or it has no ids.

        The numbers 0, 1, … in order are places of rows, not ids.
        """
        names = graph.vertex_names
        if names is None or graph.directed != self.directed or names == (*range(len(names)),):
            return None
        ids = hash_ids(names)
        _check_once(names, ids)
        numbers = self._numbers(ids)
        return Known(numbers, len(self.ids)) if (numbers >= 0).any() else None

    def grown(self, known: Known, names: Sequence[str]) -> Known:
        """Return what is known of a graph with more vertices of these ids after its own."""
        more = self._numbers(hash_ids(names))
        return replace(known, numbers=np.append(known.numbers, more))

    def _numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of hashed ids; -1 of those that are not there."""
        place = np.searchsorted(self.ids, ids, sorter=self._order).clip(max=len(self.ids) - 1)
        numbers = self._order[place]
        return np.where(self.ids[numbers] == ids, numbers, -1)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.ids)

    def n_changed(self, graph: Graph, known: Known, scaler: FeatureScaler) -> int:
        """Return how many known vertices have features that are far from what they were."""
        old = self.sketch[known.numbers[known.is_known]]
        new = _sketch(graph, scaler)[known.is_known]
        moved = np.square(new.astype(np.float64) - old).sum(axis=1)
        rng = np.random.default_rng(0)
        one, other = rng.integers(len(self.sketch), size=(2, _PAIRS))
        apart = np.square(self.sketch[one].astype(np.float64) - self.sketch[other]).sum(axis=1)
        return int((moved > CHANGED * apart[one != other].mean()).sum()) if len(old) > 1 else 0

    def describe_changed(self, graph: Graph, known: Known | None, scaler: FeatureScaler) -> str:
        """Return what is to be said of ids whose features have changed; nothing of a few."""
        if known is None:
            return ""
        n_changed, n_known = self.n_changed(graph, known, scaler), int(known.is_known.sum())
        if n_changed < max(1, MANY_CHANGED * n_known):
            return ""
        return (
            f"the features of {n_changed:,} of {n_known:,} known vertices are far from what they "
            "were in the fit: their ids may name other vertices now. `forget_ids` ignores them."
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        return {"ids": self.ids, "sketch": self.sketch, "directed": np.array([self.directed])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """Return what :meth:`to_arrays` returned; None of nothing."""
        if not arrays:
            return None
        ids, sketch, directed = (arrays[name] for name in ("ids", "sketch", "directed"))
        right = ids.dtype == np.int64 and sketch.dtype == np.float32 and directed.dtype == np.bool_
        right &= ids.ndim == 1 and directed.shape == (1,) and sketch.shape == (len(ids), SKETCH)
        if not right or not len(ids) or not np.isfinite(sketch).all():
            raise ValueError("the ids of the vertices are damaged")
        return cls(ids, sketch, bool(directed[0]))


def describe_known(known: Known | None) -> str:
    """Return how many vertices of a graph a model knows, that would know some."""
    if known is None:
        return "No vertex is known by its id from the fit: members that need them are not used."
    n_known, n = int(known.is_known.sum()), len(known.numbers)
    return f"{n_known:,} of {n:,} vertices are known by id from the fit."


def named(graph: Graph, vertex_ids: Sequence[Any] | None) -> Graph:
    """Return a graph whose vertices have the ids given, each once."""
    if vertex_ids is None:
        return graph
    names = tuple(str(name) for name in vertex_ids)
    if len(names) != graph.n_vertices:
        n = graph.n_vertices
        raise GraphError(f"vertex_ids must be one per vertex ({n:,}); got {len(names):,}.")
    _check_once(names, hash_ids(names))
    return graph.replace(vertex_names=names)


def hash_ids(names: Iterable[Any]) -> NDArray[np.int64]:
    """Return a hash of 64 bits for each id: of its text, so that 7 and '7' are the same.

    Ids themselves are not kept with a model; who knows one can still ask whether it was there.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def _check_once(names: Sequence[Any], ids: NDArray[np.int64]) -> None:
    _, first = np.unique(ids, return_index=True)
    if len(first) < len(ids):
        twice = np.setdiff1d(np.arange(len(ids)), first)[0]
        name = str(names[twice])
        raise GraphError(f"vertex ids must name every vertex once; got {name!r} twice.")


def _sketch(graph: Graph, scaler: FeatureScaler) -> NDArray[np.float32]:
    """Return random projections of scaled features, the same ones for every graph."""
    assert graph.features is not None
    features: Features = scaler.transform(graph.features)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(features.shape[1], SKETCH))
    return np.asarray(features @ signs.astype(np.float32), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier fit, of vertices that the graph to be fitted has too.

    Attributes
    ----------
    estimator : VertexEstimator
        Fitted, or loaded.
    ids : sequence or None
        Of the vertices that it was fitted on, compared as text; None where they are not known.
    parts : text array or None
        The part of each of them: train, val, test, or another word.
    in_order : bool
        Whether the ids are in the order of the vertices then.
    name, checksum : str
        The folder it was saved in, and the checksum of its model; empty where it was not.
    """

    estimator: FittedEstimator
    ids: Sequence[Any] | None = None
    parts: NDArray[np.str_] | None = None
    name: str = ""
    checksum: str = ""
    in_order: bool = True

    @classmethod
    def saved(
        cls, estimator: FittedEstimator, ids: Sequence[str], parts: NDArray[np.str_], **about: Any
    ) -> Self:
        """Return an earlier fit with ids in any order: that of its vertices is known by hashes."""
        known: KnownVertices | None = estimator.known_
        hashes = hash_ids(ids)
        if known is None or not np.array_equal(np.sort(hashes), np.sort(known.ids)):
            return cls(estimator, ids, parts, in_order=False, **about)
        order = np.argsort(hashes)[np.argsort(np.argsort(known.ids))]
        return cls(estimator, [ids[i] for i in order.tolist()], parts[order], **about)

    @classmethod
    def of(cls, start_from: Any) -> Self | None:
        """Return the earlier fit that ``start_from`` names."""
        if start_from is None or isinstance(start_from, cls):
            return start_from
        if not (isinstance(start_from, BaseEstimator) and hasattr(start_from, "build_system")):
            name = type(start_from).__name__
            raise ConfigError(f"`start_from` must be a fitted estimator; got {name}.")
        check_is_fitted(start_from)
        estimator: Any = start_from
        graph: Graph | None = getattr(estimator, "graph_", None)
        if graph is None:
            return cls(estimator)
        return cls(estimator, ids_of(graph), estimator.split_.part_of(graph.n_vertices))

    def check(
        self,
        estimator: FittedEstimator,
        target: Target,
        split: Split,
        n_features: int,
        feature_names: Sequence[str] | None,
    ) -> None:
        """Raise unless the weights mean the same: kind, network, columns and classes."""
        chosen = estimator.choose(target, split)
        if getattr(estimator, "operator", None) == "auto":  # Then either one is trained.
            chosen["operator"] = self.estimator.system_.operator
        system = estimator.build_system(**chosen)
        old = self.estimator
        before, now = ([str(n) for n in names] for names in (old.target_names_, target.names))
        if old.task_.name != target.task.name or before != now:
            raise ConfigError(
                f"`start_from` must predict what is to be learned, {listed_names(now)}; it "
                f"predicts {listed_names(before)}. Fit without it."
            )
        if type(old) is not type(estimator) or _networks(old.system_) != _networks(system):
            raise ConfigError(
                "`start_from` must be of the model to be fitted, with its setting; it is "
                f"{type(old).__name__} of {old.system_.title}. Fit that, or fit without it."
            )
        known = getattr(old, "feature_names_in_", None)
        if known is not None and feature_names is not None and (*known,) != (*feature_names,):
            missing = [f"{name!r} is missing" for name in known if name not in set(feature_names)]
            problem = (*missing, "there are new ones, or they are in another order")[0]
            raise ConfigError(f"the features must be those that `start_from` has; {problem}.")
        if old.n_features_in_ != n_features:
            sizes = f"on the {n_features:,} features given; it was on {old.n_features_in_:,}"
            raise ConfigError(f"`start_from` must have been fitted {sizes}.")

    def start(self, graph: Graph) -> Start:
        """Return the networks to begin with on a graph."""
        networks = [(m.system, m.network) for m in self.estimator.fitted_members_]
        held_before = self.estimator.held_ if has_folds(self.estimator.held_) else None
        if self.ids is None or not self.in_order:
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
            raise ConfigError("`start_from` was loaded, without a split: pass split=...")
        known = (parts != "") & (codes >= 0)
        drawn = stratified(np.where(known, -1, codes), seed, fractions)
        whole = (
            np.concatenate([np.flatnonzero(known & (parts == part)), others])
            for part, others in zip(PARTS, (drawn.train, drawn.val, drawn.test), strict=True)
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
                f"{seen:,} vertices that the earlier fit was trained or validated on would be used "
                "for validation or testing now. Let them keep their parts, or fit without it."
            )

    def note(self, members: Sequence[FittedMember], start: Start) -> str:
        """Say how many networks began with weights of the earlier fit."""
        networks = [m for m in members if not isinstance(m.network, Fitted)]
        systems = {m.system.name: m.system for m in networks}
        counts = Counter(m.system.name for m in networks)
        n_begun = sum(min(n, start.n_carried(systems[name])) for name, n in counts.items())
        return f"{n_begun} of {count(len(networks), 'network')} started from the earlier weights."


def ids_of(graph: Graph) -> Sequence[Any]:
    """Return the ids of a graph's vertices: their names, or their numbers."""
    return range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names


def _networks(system: System) -> list[Any]:
    """Return what decides the shapes and the meaning of weights, not how they are trained."""
    if isinstance(system, Committee):
        return [_networks(member) for member in system.members]
    return [system.model, system.operator, system.view]

"""Reasons with names: columns of tables, neighbours, and what is known of them, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.contributions import Surrounding
from graphfilter.estimators.earlier import ids_of
from graphfilter.models.relations import FEW_VALUES
from graphfilter.tables.columns import MISSING_MARK
from graphfilter.util.words import count, listed, number

Array = NDArray[np.float64]

# From a vertex and a neighbour to what a table says of the edge between them.
EdgeWords = Callable[[int, int], str]
# Different labels that are counted apart.
MOST_LABELS = 3
# Features of a graph without names that are told one by one.
MOST_FEATURES = 40


@dataclass(frozen=True)
class Reason:
    """One part of an answer.

    Attributes
    ----------
    kind : str
        'column', 'neighbour', or 'others': several of either together.
    name : str
        The column, or the id of the neighbour.
    detail : str
        The value of the column; what is known of the neighbour, and of the edge. May be empty.
    contribution : float
        What it adds: to a probability (0.1 is ten points), or to a number in its unit.
    """

    kind: str
    name: str
    detail: str
    contribution: float

    @property
    def text(self) -> str:
        """The reason in words, without its size."""
        if self.kind == "neighbour":
            return f"{self.name} ({self.detail})" if self.detail else self.name
        return f"{self.name} {self.detail}".rstrip()


@dataclass(frozen=True)
class Part:
    """What is shown or hidden together: features of the vertex, or places of its neighbours."""

    features: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    together: bool = False


# What a feature is called: its column, and then a value, a statistic, or that it is missing.
_FEATURE = re.compile(r"^(?P<column>.*?)(=|: | \(|\[)(?P<rest>.*)$", re.DOTALL)
_DAYS = re.compile(r"days since (\d{4}-\d{2}-\d{2})\)$")
_ABOVE = re.compile(r"\(above ([-+.e\d]+)\)$")


def column_of(feature: str) -> str:
    """Return the column of a table that a feature was made of, by its name.

    >>> [column_of(n) for n in ("age", "age is missing", "job=clerk", "note: paid", "day (hours)")]
    ['age', 'age', 'job', 'note', 'day']
    >>> column_of("amount (mean, sent)"), column_of("amount (sum, received)")
    ('amount sent', 'amount received')
    """
    name = feature.removesuffix(MISSING_MARK)
    found = _FEATURE.match(name)
    if found is None:
        return name
    way = next((w for w in ("sent", "received") if found["rest"].endswith(f", {w})")), "")
    return f"{found['column']} {way}".rstrip()


def _value(feature: str, value: float) -> str:
    """Write the value of a feature beside the name of its column; nothing where it has none.

    >>> _value("age", 31.0), _value("job=clerk", 1.0), _value("job=cook", 0.0)
    ('31', 'clerk', '')
    >>> _value("opened (days since 2024-01-31)", 1.0), _value("amount (mean, sent)", 12.5)
    ('2024-02-01', 'mean 12.5')
    """
    found = _FEATURE.match(feature)
    if found is None:
        return number(value)
    if day := _DAYS.search(feature):
        return f"{date.fromisoformat(day[1]) + timedelta(days=value):%Y-%m-%d}"
    if above := _ABOVE.search(feature):
        return number(value + float(above[1]))
    word, _, statistic = found["rest"].removesuffix(")").rpartition("(")
    if found[2] in ("=", ": ") and not word:
        return found["rest"] if value else ""
    return f"{word}{statistic.partition(',')[0]} {number(value)}"


class Writer:
    """Names vertices, columns and their values."""

    def __init__(
        self, graph: Graph, labels: Sequence[str] | None, edge_words: EdgeWords | None
    ) -> None:
        self.graph, self.edge_words = graph, edge_words
        self.features: Any = graph.features
        self.names = ids_of(graph)
        if labels is None and graph.labels is not None:
            classes = [*map(str, graph.classes), ""]
            labels = [classes[code] for code in graph.labels.tolist()]
        self.labels = labels
        self.by_column: dict[str, list[int]] = {}
        for i, feature in enumerate(graph.feature_names or ()):
            self.by_column.setdefault(column_of(feature), []).append(i)

    def columns_of(self, vertex: int) -> dict[str, list[int]]:
        """Return the features of each column; of those without names, of those that it has."""
        if self.by_column:
            return self.by_column
        x, row = self.features, self._row(vertex)
        has = np.flatnonzero(row)
        if sp.issparse(x) and x.shape[0] == x.shape[1] and has.tolist() == [vertex]:
            return {"which vertex it is": [vertex]}
        has = has[np.argsort(-np.abs(row[has]), kind="stable")]
        named = {f"feature {i}": [i] for i in has[:MOST_FEATURES].tolist()}
        left = np.setdiff1d(np.arange(x.shape[1]), has[:MOST_FEATURES]).tolist()
        return named | ({"other features": left} if left else {})

    def by_interest(self, around: Surrounding) -> list[int]:
        """Return the places of the neighbours: those of whom something is known, then by id."""
        near = around.vertices[1 : 1 + around.n_near].tolist()
        known = [not self.label(u) for u in near]
        return sorted(range(around.n_near), key=lambda i: (known[i], i))

    def label(self, vertex: int) -> str:
        """Return what is known of a vertex."""
        return "" if self.labels is None else str(self.labels[vertex])

    def reason(self, part: Part, around: Surrounding, columns: dict[str, list[int]]) -> Reason:
        """Name a part."""
        vertex = int(around.vertices[0])
        if part.together or len(part.near) > 1:
            what = "other neighbour" if part.near else "other column"
            n = len(part.near) or len({self._column(f, columns) for f in part.features})
            return Reason("others", count(n, what), "", 0.0)
        if part.near:
            u = int(around.vertices[1 + part.near[0]])
            return Reason("neighbour", str(self.names[u]), self.neighbour(vertex, u), 0.0)
        name = self._column(part.features[0], columns)
        return Reason("column", name, self.value(vertex, part.features), 0.0)

    @staticmethod
    def _column(feature: int, columns: dict[str, list[int]]) -> str:
        return next(name for name, features in columns.items() if feature in features)

    def neighbour(self, vertex: int, u: int) -> str:
        """Say what is known of a neighbour, of the edge, and of others that it is joined to."""
        graph, said = self.graph, list[str]()
        if label := self.label(u):
            said.append(f"known: {label}")
        entry = int(graph.indptr[vertex]) + int(
            np.searchsorted(graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]], u)
        )
        if graph.kinds is not None:
            at = np.flatnonzero(graph.kinds.values[:, entry])
            said += [graph.kinds.names[k] for k in at.tolist()]
        if self.edge_words is not None and (words := self.edge_words(vertex, u)):
            said.append(words)
        if not label and self.labels is not None:
            beyond = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
            known = Counter(w for w in map(self.label, beyond.tolist()) if w)
            known.subtract([self.label(vertex)])
            counted = [f"{n:,} {name}" for name, n in known.most_common(2) if n > 0]
            said += (
                [f"joined to {listed(counted)}"] if counted and len(known) <= MOST_LABELS else []
            )
        return ", ".join(said)

    def value(self, vertex: int, features: Sequence[int]) -> str:
        """Write what a vertex has in a column: of several values, the most unusual one."""
        names = self.graph.feature_names
        row = self._row(vertex)
        if names is None:
            return f"{row[features[0]]:.4g}" if len(features) == 1 else ""
        if any(names[f].endswith(MISSING_MARK) and row[f] for f in features):
            return "missing"
        unusual = sorted(features, key=lambda f: -abs(row[f] - self.mean[f]) / self.spread[f])
        said = [words for f in unusual if (words := _value(names[f], float(row[f])))]
        is_text = ": " in names[features[0]] and "(" not in names[features[0]]
        shared = self._sharing(vertex, features, row) if len(features) > FEW_VALUES else ""
        return ", ".join(said[: 3 if is_text else 1]) + shared

    def _row(self, vertex: int) -> Array:
        own = self.features[[vertex]]
        return own.toarray()[0] if sp.issparse(own) else np.asarray(own)[0]

    @cached_property
    def mean(self) -> Array:
        return np.asarray(self.features.mean(axis=0), dtype=np.float64).ravel()

    @cached_property
    def spread(self) -> Array:
        x = self.features
        squares = x.multiply(x) if sp.issparse(x) else np.square(x)
        variance = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - self.mean**2
        return np.sqrt(np.maximum(variance, 1e-12))

    def _sharing(self, vertex: int, features: Sequence[int], row: Array) -> str:
        """Say how many of the known vertices have the same value of a category."""
        x, held = self.features, [f for f in features if row[f]]
        if self.labels is None or len(held) != 1 or not sp.issparse(x):
            return ""
        with_it = np.flatnonzero(x[:, held].toarray()[:, 0])
        known = Counter(w for u in with_it.tolist() if u != vertex and (w := self.label(u)))
        if len(known) > MOST_LABELS:  # Numbers: each is another one.
            return f", shared with {known.total():,} that are known"
        counted = [f"{n:,} known: {name}" for name, n in known.most_common(2)]
        return f", shared with {listed(counted)}" if counted else ""

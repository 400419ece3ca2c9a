"""What is decided before a fit: the features, the classes and the split. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphfilter.data import Columns
from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.run_folder.split_choice import STRATIFIED, SplitBy, choose_split, without_future
from graphfilter.splits import Split
from graphfilter.tables.encoding import TableEncoder


@dataclass(frozen=True, eq=False)
class Source:
    """A graph and how it was read, so that a new one can be read the same way."""

    graph: Graph
    encoder: TableEncoder | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph made ready for fitting, and what the user should know of it."""

    source: Source
    graph: Graph
    split: Split
    notes: tuple[str, ...]
    has_features: bool
    by: SplitBy = STRATIFIED


def plan_fit(source: Source, seed: int, by: SplitBy = STRATIFIED) -> Plan:
    """Check a graph for fitting and choose its split; nothing is written."""
    graph, feature_notes = with_features(source.graph)
    class_notes = check_classes(graph)
    split, split_notes = choose_split(graph, seed, by)
    graph, time_notes = without_future(graph, split, by)
    notes = (*graph.notes, *feature_notes, *class_notes, *split_notes, *time_notes)
    return Plan(source, graph, split, notes, has_features=not feature_notes, by=by)


def with_features(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Give a graph without features the identity of each vertex as one."""
    if graph.features is not None:
        return graph, ()
    identity = sp.eye_array(graph.n_vertices, dtype=np.float32, format="csr")
    note = (
        "There are no vertex features: each vertex is its own, so only this graph can be predicted."
    )
    return graph.replace(features=identity), (note,)


def check_classes(graph: Graph) -> tuple[str, ...]:
    """Raise unless two classes have labelled vertices; note those that have only one."""
    counts = np.zeros(0, dtype=int)
    if graph.labels is not None:
        counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.n_classes)
    n_present = int(np.count_nonzero(counts))
    if n_present == 0:
        raise GraphError("no vertex is labelled; name the column of the labels with --label.")
    if n_present == 1:
        only = graph.classes[int(counts.argmax())]
        raise GraphError(f"there must be at least two classes; every label is {str(only)!r}.")
    return tuple(
        f"class {str(name)!r} has one labelled vertex: it is trained on and cannot be tested."
        for name, n in zip(graph.classes, counts, strict=True)
        if n == 1
    )

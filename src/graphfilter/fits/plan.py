"""What is decided before a fit: the features, what is to be learned, the split and its diagnosis.

Nothing is written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data import Columns
from graphfilter.errors import GraphError
from graphfilter.estimators import Earlier, Target
from graphfilter.fits.labelled_side import Side, labelled_side
from graphfilter.fits.split_choice import STRATIFIED, SplitBy, choose_split, without_future
from graphfilter.graph import Graph
from graphfilter.spectral import Diagnosis, ValueDiagnosis, diagnose, diagnose_values
from graphfilter.splits import Split
from graphfilter.tables import TableEncoder
from graphfilter.training import CLASSIFICATION

UNLABELLED, UNUSED = "unlabelled", "unused"


@dataclass(frozen=True, eq=False)
class Source:
    """A graph and how it was read, so that a new one can be read the same way.

    Attributes
    ----------
    words : tuple of str
        Those of the command line that name the graph and what is asked of it.
    """

    graph: Graph
    encoder: TableEncoder | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph made ready for fitting, what is to be learned of it, and what a user should know.

    The labels of ``graph`` are the codes of ``target``, its classes their names. ``earlier`` is a
    fit whose weights are begun with.
    """

    source: Source
    graph: Graph
    target: Target
    split: Split
    seed: int
    notes: tuple[str, ...]
    has_features: bool = True
    by: SplitBy = STRATIFIED
    earlier: Earlier | None = None

    @property
    def names(self) -> list[str]:
        """The classes, the labels, or what the numbers are called."""
        return [str(name) for name in self.target.names]

    @property
    def truth(self) -> NDArray[Any]:
        """What is known of the vertices: class numbers (n,), or values (n, T)."""
        return self.target.codes if self.target.values is None else self.target.values

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Of which vertices it is known."""
        return self.target.codes >= 0

    @cached_property
    def parts(self) -> NDArray[np.str_]:
        """The part of each vertex: train, val, test, unlabelled, or unused (in no part)."""
        part = self.split.part_of(self.graph.n_vertices).astype("<U10")
        part[(part == "") & ~self.known] = UNLABELLED
        part[part == ""] = UNUSED
        return part

    @cached_property
    def diagnosis(self) -> Diagnosis | ValueDiagnosis:
        """What a filter sees of the classes, or of the labels or numbers."""
        if self.target.task.one_class:
            return diagnose(self.graph)
        return diagnose_values(self.graph, self.truth, self.names)

    @cached_property
    def frequency(self) -> dict[str, float]:
        """The graph frequency of every class, label or number; NaN where it has none."""
        found = self.diagnosis
        estimate = found.label_frequency if isinstance(found, Diagnosis) else found.frequency
        values = estimate.value if self.graph.n_edges else np.full(len(self.names), np.nan)
        return dict(zip(self.names, map(float, values), strict=True))

    @cached_property
    def side(self) -> Side:
        """Which vertices can have a label at all."""
        return labelled_side(self.graph, self.known)


def plan_fit(
    source: Source,
    seed: int,
    by: SplitBy = STRATIFIED,
    target: Target | None = None,
    earlier: Earlier | None = None,
) -> Plan:
    """Check a graph for fitting and choose its split; nothing is written.

    ``target`` is what is to be learned where it is not the classes of the graph.
    """
    graph, feature_notes = with_features(source.graph)
    notes = [*feature_notes]
    if target is None:
        notes += check_classes(graph)
        assert graph.labels is not None
        target = Target(CLASSIFICATION, graph.labels, graph.classes)
    else:
        notes += _check_target(graph, target)
        # Not Graph.replace, which would renumber the classes.
        graph = dataclasses.replace(graph, labels=target.codes.copy(), classes=target.names)
    split, split_notes = choose_split(graph, seed, by, earlier)
    graph, time_notes = without_future(graph, split, by)
    all_notes = (*graph.notes, *notes, *split_notes, *time_notes)
    return Plan(source, graph, target, split, seed, all_notes, not feature_notes, by, earlier)


def with_features(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Give a graph without features the identity of each vertex as one."""
    if graph.features is not None:
        return graph, ()
    identity = sp.eye_array(graph.n_vertices, dtype=np.float32, format="csr")
    note = (
        "There are no vertex features: the model uses the identity of each vertex, so it can "
        "predict this graph only."
    )
    return graph.replace(features=identity), (note,)


def check_classes(graph: Graph) -> tuple[str, ...]:
    """Raise unless two classes have labelled vertices; note those that have only one."""
    counts = np.zeros(0, dtype=int)
    if graph.labels is not None:
        counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.n_classes)
    n_present = int(np.count_nonzero(counts))
    if n_present == 0:
        if graph.labels is None:
            raise GraphError("no vertex is labelled; name the column of the labels with `label`.")
        raise GraphError(
            "no vertex is labelled: every label is blank, or is one that means unlabelled. Label "
            "some vertices of two classes, or name another column with `label`."
        )
    if n_present == 1:
        only = graph.classes[int(counts.argmax())]
        raise GraphError(
            f"there must be at least two classes; every label is {str(only)!r}. Label some "
            "vertices of another class, or name another column with `label`."
        )
    return tuple(
        f"class {str(name)!r} has one labelled vertex: it is used for training, so the class "
        "cannot be tested."
        for name, n in zip(graph.classes, counts, strict=True)
        if n == 1
    )


def _check_target(graph: Graph, target: Target) -> list[str]:
    """Raise where a target does not fit a graph; note what is left out."""
    n = graph.n_vertices
    if len(target) != n:
        raise GraphError(f"there must be one value per vertex ({n}); got {len(target)}.")
    notes = []
    if graph.labels is not None:
        notes.append("the labels of the graph are not used: other columns are predicted.")
    if n_unknown := int((target.codes < 0).sum()):
        notes.append(f"{n_unknown:,} of {n:,} vertices have no value; they are predicted.")
    return notes

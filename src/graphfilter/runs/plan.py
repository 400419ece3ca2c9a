"""What is decided before a fit: what is learned, the features, the split, and what it will take.

A :class:`FitRequest` is what a user wants of the answer, a :class:`Plan` what is decided before
training, a :class:`DryRun` what that takes. Nothing is written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.spectral import Diagnosis, ValueDiagnosis, diagnose, diagnose_values
from graphfilter.splits import Split, by_group, by_time, stratified
from graphfilter.systems import get_system
from graphfilter.systems.system import Cost, estimate_cost
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.training import CLASSIFICATION
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.machine import memory_of_process, pick_device
from graphfilter.util.words import Noun, say_bytes


@dataclass(frozen=True)
class FitRequest:
    """Wishes that change the answer, not the training.

    Attributes
    ----------
    threshold : str
        Of two classes: a probability, or what to choose it by on the validation vertices, one of
        :data:`~graphfilter.runs.answers.DECISION_METRICS`.
    costs : tuple of str
        Of errors, as ``true:predicted=cost``.
    positive : str
        Which of two classes is looked for; otherwise the one whose error the first cost is of, or
        the rarer one.
    title : str
        Of the report; the graph's name where empty.
    coverage : float or None
        How often a set or an interval shall hold the truth; none are made where None.
    keep_graph : bool or None
        Whether to keep the graph with the run; where None, if it is small.
    excel_safe : bool
        Whether text that a spreadsheet would run as a formula is written with an apostrophe.
    forget_ids : bool
        Whether to leave the ids of the vertices out of the model.
    """

    threshold: str = ""
    costs: tuple[str, ...] = ()
    positive: str = ""
    title: str = ""
    coverage: float | None = None
    keep_graph: bool | None = None
    excel_safe: bool = False
    forget_ids: bool = False


DEFAULT_REQUEST = FitRequest()


@dataclass(frozen=True, eq=False)
class SplitBy:
    """A column of the table of vertices to divide by, one entry per vertex; at most one of them.

    Attributes
    ----------
    column : str
        Its name.
    times : float array (n,) or None
        Train on the past, test on the latest; NaN where unknown.
    groups : int array (n,) or None
        No group in two parts; negative where unknown.
    """

    column: str = ""
    times: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None


STRATIFIED = SplitBy()
# Larger times are dates, in seconds since 1970; smaller ones are years, days or other counts.
_NO_YEAR = 1e7


def without_future(graph: Graph, split: Split, by: SplitBy) -> tuple[Graph, tuple[str, ...]]:
    """Return a graph of which training knows no edge of the times that are validated or tested on.

    Only where edges have times and vertices are divided by theirs.
    """
    history = graph.history
    if history is None:
        return graph, ()
    if by.times is None:
        unused = "The times of the edges are not used: give `as_of` or `split_by`."
        return graph, (unused,) if history.moment is None else ()
    first = float(np.nanmin(by.times[np.concatenate([split.val, split.test])]))
    largest = [np.nanmax(np.abs(times), initial=0) for times in (history.times, by.times)]
    if (largest[0] > _NO_YEAR) != (largest[1] > _NO_YEAR):
        raise GraphError(f"the times of edges and of {by.column!r} must both be dates, or numbers.")
    if history.moment is not None and history.moment <= first:
        return graph, ()
    graph = graph.as_of(first)
    assert graph.history is not None
    return graph, (graph.history.note(),)


def choose_split(
    graph: Graph, seed: int, by: SplitBy = STRATIFIED
) -> tuple[Split, tuple[str, ...]]:
    """Divide by a column if asked to, take the split of the tables, or draw the paper's."""
    assert graph.labels is not None
    of_tables = next((s for s in graph.splits if s.rule == "given"), None)
    if by is STRATIFIED and of_tables is None:
        split = stratified(graph.labels, seed)
        return split, (f"split drawn: {_sizes(split)} ({split.rule}, seed {seed}).",)
    if by is STRATIFIED:
        split = _complete(graph.labels, of_tables, seed)
        text = f"split read from the table: {_sizes(split)} ({split.rule})."
    elif of_tables is not None:
        raise ConfigError(
            f"the tables have a split column; `drop` leaves it out, to divide by {by.column!r}."
        )
    elif by.times is not None:
        split = by_time(graph.labels, by.times)
        text = f"split by the times of {by.column!r}, testing on the latest: {_sizes(split)}."
        first = np.nanmin(by.times[split.test], initial=np.inf)
        if _NO_YEAR < abs(first) < np.inf:
            # Which day and month dates were read as can be seen from it.
            day = np.datetime64(int(first), "s").astype("datetime64[D]")
            text = text.replace("latest", f"latest, from {day} on")
    else:
        assert by.groups is not None
        split = by_group(graph.labels, by.groups, seed)
        text = f"split by the groups of {by.column!r}, none in two parts: {_sizes(split)}."
    labelled = graph.labels >= 0
    notes = [
        f"class {str(graph.classes[c])!r} has no training vertex: it can never be predicted."
        for c in np.setdiff1d(graph.labels[labelled], graph.labels[split.train])
    ]
    if unused := int(labelled.sum()) - sum(map(len, (split.train, split.val, split.test))):
        notes.append(f"labelled vertices in no part: {unused:,}.")
    return split, (text, *notes)


def _complete(labels: NDArray[np.int64], split: Split | None, seed: int) -> Split:
    """Keep the labelled vertices of a split; draw validation vertices where it has none."""
    assert split is not None
    parts = (split.train, split.val, split.test)
    train, val, test = (part[labels[part] >= 0] for part in parts)
    if not len(train):
        raise GraphError("the split column must mark at least one labelled vertex as 'train'.")
    if len(val):
        return Split(train, val, test, rule="given")
    inner = np.full(len(labels), -1)
    inner[train] = labels[train]
    drawn = stratified(inner, seed, (0.75, 0.25, 0.0))
    return Split(drawn.train, drawn.val, test, rule="given; validation drawn from train")


def _sizes(split: Split) -> str:
    return f"{len(split.train):,} train, {len(split.val):,} val, {len(split.test):,} test"


UNLABELLED, UNUSED = "unlabelled", "unused"


@dataclass(frozen=True, eq=False)
class Source:
    """A graph and how it was read, so that a new one can be read the same way.

    Attributes
    ----------
    words : tuple of str
        Those of the command line that name the graph and what is asked of it.
    noun : str
        What a vertex is called, and several, as in "account,accounts"; found where empty.
    """

    graph: Graph
    encoder: TableEncoder | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None
    words: tuple[str, ...] = ()
    noun: str = ""

    @property
    def called(self) -> Noun:
        """What a vertex is called: as was given, or as the column of ids says."""
        column = None if self.encoder is None else dict(self.encoder.roles).get("id", "")
        return Noun.found(self.noun, column)


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph made ready for fitting, what is to be learned of it, and what a user should know.

    The labels of ``graph`` are the codes of ``target``, its classes their names.
    ``truth`` is what is known of the vertices, class numbers (n,) or values (n, T), and
    ``is_labelled`` says of which it is known.
    """

    source: Source
    graph: Graph
    target: Target
    split: Split
    seed: int
    notes: tuple[str, ...]
    has_features: bool = True
    by: SplitBy = STRATIFIED
    names: list[str] = field(init=False)
    truth: NDArray[Any] = field(init=False)
    is_labelled: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        target = self.target
        truth = target.codes if target.values is None else target.values
        said = {"names": [str(name) for name in target.names], "truth": truth}
        for name, value in {**said, "is_labelled": target.codes >= 0}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def noun(self) -> Noun:
        """What a vertex is called: as was given, or as the column of ids says."""
        return self.source.called

    def quote(self, name: str) -> str:
        """Return a class in quotation marks; yes, no and the like with the column they are of."""
        encoder = self.source.encoder
        column = dict(encoder.roles).get("label", "") if encoder else ""
        bare = len(name) < 3 or name.lower() in ("true", "false", "yes", "nein", "non")
        return f"“{column}: {name}”" if column and bare else f"“{name}”"

    @property
    def baselines(self) -> Mapping[str, str]:
        """Plain models to compare with, and what they are: without edges there is one."""
        return BASELINES if self.graph.n_edges else {NO_GRAPH: "a plain network"}

    @cached_property
    def parts(self) -> NDArray[np.str_]:
        """The part of each vertex: train, val, test, unlabelled, or unused (in no part)."""
        part = self.split.part_of(self.graph.n_vertices).astype("<U10")
        part[(part == "") & ~self.is_labelled] = UNLABELLED
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
        seen = self.diagnosis
        estimate = seen.label_frequency if isinstance(seen, Diagnosis) else seen.frequency
        values = estimate.value if self.graph.n_edges else np.full(len(self.names), np.nan)
        return dict(zip(self.names, map(float, values), strict=True))


def plan_fit(
    source: Source, seed: int, by: SplitBy = STRATIFIED, target: Target | None = None
) -> Plan:
    """Check a graph for fitting and choose its split; nothing is written.

    ``target`` is what is to be learned where it is not the classes of the graph.
    """
    graph, feature_notes = with_features(source.graph)
    if target is None:
        notes = check_classes(graph)
        assert graph.labels is not None
        target = Target(CLASSIFICATION, graph.labels, graph.classes)
    else:
        n, notes = graph.n_vertices, ()
        if len(target) != n:
            raise GraphError(f"there must be one value per vertex ({n}); got {len(target)}.")
        if graph.labels is not None:
            notes += ("the labels of the graph are not used: other columns are predicted.",)
        if n_unknown := int((target.codes < 0).sum()):
            notes += (f"{n_unknown:,} of {n:,} vertices have no value; they are predicted.",)
        # Not Graph.replace, which would renumber the classes.
        graph = dataclasses.replace(graph, labels=target.codes.copy(), classes=target.names)
    split, split_notes = choose_split(graph, seed, by)
    graph, time_notes = without_future(graph, split, by)
    notes = (*graph.notes, *feature_notes, *notes, *split_notes, *time_notes)
    return Plan(source, graph, target, split, seed, notes, not feature_notes, by)


def with_features(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Give a graph without features the identity of each vertex as one."""
    if graph.features is not None:
        return graph, ()
    identity = sp.eye_array(graph.n_vertices, dtype=np.float32, format="csr")
    note = "There are no vertex features, only identities: the model can predict this graph only."
    return graph.replace(features=identity), (note,)


def check_classes(graph: Graph) -> tuple[str, ...]:
    """Raise unless two classes have labelled vertices; note those that have only one."""
    counts = np.zeros(0, dtype=int)
    if graph.labels is not None:
        counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.n_classes)
    if not counts.any():
        column = "the column of the labels" if graph.labels is None else "another column"
        raise GraphError(f"no vertex is labelled; name {column} with `label`.")
    if np.count_nonzero(counts) == 1:
        only = str(graph.classes[int(counts.argmax())])
        raise GraphError(
            f"there must be at least two classes; every label is {only!r}. Label some vertices of "
            "another class, or name another column with `label`."
        )
    return tuple(
        f"class {str(name)!r} has one labelled vertex, for training: the class cannot be tested."
        for name, n in zip(graph.classes, counts, strict=True)
        if n == 1
    )


# APPNP is low-pass on every graph. SGC squares the adjacency, so that the highest frequency
# passes as well as the lowest: it is shown beside, and does not answer whether low-pass will do.
NO_GRAPH, LOW_PASS, TWO_STEPS = "mlp", "appnp", "sgc"
BASELINES = {
    NO_GRAPH: "a network that sees no connections",
    LOW_PASS: "a network that always averages over neighbours",
    TWO_STEPS: "an average over two steps, always the same",
}

# A fit is refused if it needs more memory than there is even if the estimate is this much too high.
ERROR = 0.2
# Bytes of a row of predictions: the id, the label, and what each class's probability takes.
_ROW_BYTES, _CELL_BYTES = 40, 9


_REMEDY = (
    "Try `model='sgf'`, a single network; `model='hop-mlp'` on a store, which reads vertices in "
    "batches; fewer features (`features`, `drop`); a smaller `hidden_size`; or a machine with more "
    "memory. If the measured memory is wrong, set GRAPHFILTER_MEMORY."
)


@dataclass(frozen=True)
class DryRun:
    """What a fit is expected to take.

    Attributes
    ----------
    cost : Cost
        Memory, of the largest member where there are several.
    available : int
        Bytes of memory that there are.
    disk : int
        Bytes of the run folder.
    device : str
        Where it is trained.
    """

    cost: Cost
    available: int
    disk: int
    device: str

    @property
    def fits(self) -> bool:
        return self.cost.peak <= self.available

    def within_memory(self, plan: Plan, *, baselines: bool) -> tuple[Plan, bool]:
        """Raise where the fit would be killed; leave out baselines that would be, and say so.

        Returns the plan, with its notes, and whether the baselines are trained.
        """
        if self.device != "cpu":
            return plan, baselines
        self.check()
        n_train = len(plan.split.train)
        for name in plan.baselines if baselines else ():
            cost = estimate_cost(get_system(name), plan.graph, n_train)
            if cost.peak * (1 - ERROR) > self.available:
                note = "the baselines do not fit in memory: left out."
                return replace(plan, notes=(*plan.notes, note)), False
        return plan, baselines

    def check(self) -> None:
        """Raise where the fit would be killed."""
        needed = self.cost.peak
        if needed * (1 - ERROR) <= self.available:
            return
        raise ConfigError(
            f"the fit would take about {say_bytes(needed)} of memory; there are "
            f"{say_bytes(self.available)}. {_REMEDY}"
        )


def plan_dry_run(plan: Plan, estimator: VertexEstimator) -> DryRun:
    """Estimate what fitting an estimator to a planned graph takes; nothing is allocated."""
    available, device = memory_of_process(), pick_device(estimator.device)
    graph, system = plan.graph, estimator.build_system()
    rows = graph.n_vertices * (_ROW_BYTES + _CELL_BYTES * graph.n_classes)
    cost = estimate_cost(system, graph, len(plan.split.train))
    return DryRun(cost, available, rows + 2 * cost.weights, device)

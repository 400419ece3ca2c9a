"""Which labelled vertices a fit trains, validates and tests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, GraphError
from graphfilter.estimators import Earlier
from graphfilter.graph import Graph
from graphfilter.splits import Split, by_group, by_time, stratified
from graphfilter.wording import count


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
        unused = (
            "The times of the edges are not used: give a moment with `as_of`, or a column with "
            "`split_by`."
        )
        return graph, (unused,) if history.moment is None else ()
    first = float(np.nanmin(by.times[np.concatenate([split.val, split.test])]))
    largest = [np.nanmax(np.abs(times), initial=0) for times in (history.times, by.times)]
    if (largest[0] > _NO_YEAR) != (largest[1] > _NO_YEAR):
        raise GraphError(
            f"the times of edges and of {by.column!r} must both be dates, or both be numbers such "
            "as years. Name other columns with `edge_time` and `split_by`."
        )
    if history.moment is not None and history.moment <= first:
        return graph, ()
    graph = graph.as_of(first)
    assert graph.history is not None
    return graph, (graph.history.note(),)


def choose_split(
    graph: Graph, seed: int, by: SplitBy = STRATIFIED, earlier: Earlier | None = None
) -> tuple[Split, tuple[str, ...]]:
    """Divide by a column if asked to, take the split of the tables, or draw the paper's.

    Vertices of an ``earlier`` fit whose weights are begun with keep their part in a drawn split;
    another one must not judge by those that it was trained on.
    """
    assert graph.labels is not None
    given = next((s for s in graph.splits if s.rule == "given"), None)
    if by is STRATIFIED and given is None and earlier is not None:
        split = earlier.draw_split(graph, graph.labels, seed, (0.6, 0.2, 0.2))
        return split, (f"split: {_sizes(split)} ({split.rule}, seed {seed}).",)
    if by is STRATIFIED and given is None:
        split = stratified(graph.labels, seed)
        return split, (f"split drawn: {_sizes(split)} ({split.rule}, seed {seed}).",)
    if by is STRATIFIED:
        split = _complete(graph, given, seed)
        text = f"split read from the table: {_sizes(split)} ({split.rule})."
    elif given is not None:
        raise ConfigError(
            f"the tables have a split column; drop it (`drop`) to divide by {by.column!r}."
        )
    elif by.times is not None:
        split = by_time(graph.labels, by.times)
        text = f"split by the times of {by.column!r}, testing on the latest: {_sizes(split)}."
    else:
        assert by.groups is not None
        split = by_group(graph.labels, by.groups, seed)
        text = f"split by the groups of {by.column!r}, none in two parts: {_sizes(split)}."
    if earlier is not None:
        earlier.check_split(split, graph)
    return split, (text, *_left_out(graph, split))


def _complete(graph: Graph, given: Split | None, seed: int) -> Split:
    """Keep the labelled vertices of a given split; draw validation vertices where it has none."""
    assert graph.labels is not None
    assert given is not None
    known = graph.labels >= 0
    train, val, test = (part[known[part]] for part in (given.train, given.val, given.test))
    if not len(train):
        raise GraphError("the split column must mark at least one labelled vertex as 'train'.")
    rule = "given"
    if not len(val):
        inner = np.full(graph.n_vertices, -1)
        inner[train] = graph.labels[train]
        drawn = stratified(inner, seed, (0.75, 0.25, 0.0))
        train, val = drawn.train, drawn.val
        rule = "given; validation drawn from train"
    return Split(train, val, test, rule=rule)


def _left_out(graph: Graph, split: Split) -> list[str]:
    assert graph.labels is not None
    known = graph.labels >= 0
    untrained = np.setdiff1d(graph.labels[known], graph.labels[split.train])
    notes = [
        f"class {str(graph.classes[c])!r} has no training vertex: it can never be predicted."
        for c in untrained
    ]
    unused = int(known.sum()) - sum(map(len, (split.train, split.val, split.test)))
    if unused:
        notes.append(f"{count(unused, 'labelled vertex is', 'labelled vertices are')} in no part.")
    return notes


def _sizes(split: Split) -> str:
    return f"{len(split.train):,} train, {len(split.val):,} val, {len(split.test):,} test"

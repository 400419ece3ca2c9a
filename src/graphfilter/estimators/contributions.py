r"""Contributions: what an answer would be if less were known, and how that is shared out.

A vertex is taken with what is near it: its neighbours, theirs, and those that share a value with
it. All members that answer for it are asked again about copies of this surrounding in which some of
the vertex's own columns are average, and some of its neighbours are average vertices of which
nothing is known: neither columns, nor label, nor who they are, nor who is behind them. Degrees stay
as they are: links that lead out of the surrounding lead to one average vertex, and those that lead
behind a hidden neighbour to another one.

What a column or a neighbour contributes is the mean of what it changes where it is shown first, and
where it is shown last: its Shapley value where answers are sums of what single parts, and pairs of
them, say. What more of them say together is told with what is farther away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.edges import EdgeKinds, index_type
from graphfilter.data.graph import Graph
from graphfilter.estimators.earlier import FittedEstimator
from graphfilter.estimators.members import FittedMember, MemberAnswers, shares_in
from graphfilter.models import ChannelNetwork, FilterNetwork
from graphfilter.models.places import Known
from graphfilter.models.relations import near_places, shared_values
from graphfilter.models.views import AROUND, BESIDE
from graphfilter.systems import Prepared
from graphfilter.systems.networks import own_torch_state
from graphfilter.tables.columns import MISSING_MARK
from graphfilter.util.errors import ConfigError

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Shown = NDArray[np.bool_]

# Vertices two steps away, and vertices that share a value, which are seen; neighbours always are.
MOST_SECOND, MOST_SHARING = 150, 60
# Vertices of all copies that are asked about together.
AT_ONCE = 10_000
# Above this share of stored values the average of a sparse column is told; below it, zero.
LEAST_FILLED = 0.5


@dataclass(frozen=True, eq=False)
class Surrounding:
    """A vertex, what is near it, and the links among them.

    Attributes
    ----------
    vertices : int array (b,)
        Numbers in the graph: the vertex, its ``n_near`` neighbours, then others. Average vertices
        follow: number b stands for all that is left out, b + 1 for what is behind hidden ones.
    n_near : int
    rows, columns : int arrays (m,)
        The ends of each link, in both directions.
    values : float32 array (k, m)
        What each weighs, and its arc and kinds where the graph has some.
    """

    vertices: Index
    n_near: int
    rows: Index
    columns: Index
    values: NDArray[np.float32]

    @property
    def size(self) -> int:
        return len(self.vertices) + 2


@dataclass(frozen=True, eq=False)
class Hidden:
    """Copies of a surrounding: which columns of the vertex, and which neighbours, each hides.

    ``columns`` is bool (s, d), ``near`` bool (s, n_near).
    """

    around: Surrounding
    columns: Shown
    near: Shown


class Questioner:
    """Asks the members that answer for a graph about copies of parts of it.

    Parameters
    ----------
    estimator : VertexEstimator
    prepared : Prepared
        The whole graph, ready for prediction.
    """

    def __init__(self, estimator: FittedEstimator, prepared: Prepared) -> None:
        if estimator.system_.keeps_graph:
            raise ConfigError(
                f"{estimator.system_.title} is bound to its graph and cannot be asked about a part "
                "of it: fit another model for explanations."
            )
        graph: Any = prepared.graph
        self.estimator, self.prepared, self.graph = estimator, prepared, graph
        self.members: list[FittedMember] = estimator.members_of(prepared)
        self.held, self.shares = estimator.held_in(prepared), shares_in(prepared)
        known, here = prepared.known, estimator.is_fitted_graph(graph)
        whole = Known(np.arange(graph.n_vertices), graph.n_vertices) if here else None
        self.known = known or whole
        n = graph.n_vertices
        values = [
            np.ones(len(graph.indices), np.float32) if graph.weights is None else graph.weights
        ]
        values += [] if graph.arcs is None else [graph.arcs]
        values += [] if graph.kinds is None else list(graph.kinds.values)
        self.values = np.stack(values)
        self.back = self.values
        if graph.arcs is not None:  # The links the other way weigh the same, but for their arcs.
            arcs = sp.csr_array((graph.arcs, graph.indices, graph.indptr), shape=(n, n))
            self.back = self.values.copy()
            self.back[1] = arcs.T.tocsr().data
        self.average = average_row(graph)
        told = any(member.system.view in (AROUND, BESIDE) for member in self.members)
        sharing = list(shared_values(graph, graph.features)) if told else []
        self.near = list(near_places(graph, prepared.scaled())) if told else []
        self.sharing = sp.csr_array(sp.hstack(sharing)) if sharing else None
        self.sharers_of = None if self.sharing is None else sp.csc_array(self.sharing)

    def around(self, vertex: int, most_second: int = MOST_SECOND) -> Surrounding:
        """Return what is near a vertex."""
        graph = self.graph
        near = np.asarray(graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]], np.int64)
        seen = np.append(near, vertex)
        second = np.zeros(0, dtype=np.int64)
        for u in near.tolist():
            reached = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
            second = np.union1d(second, np.setdiff1d(reached, seen))
            if len(second) > most_second:  # As many behind each, the first ones.
                second = second[:: -(-len(second) // most_second)]
        others = np.setdiff1d(self.sharers(vertex), np.append(seen, second))
        vertices = np.concatenate([[vertex], near, second, others]).astype(np.int64)
        order = np.argsort(vertices)
        sizes = np.diff(graph.indptr)[vertices]
        rows = np.repeat(np.arange(len(vertices)), sizes)
        at = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at += np.repeat(graph.indptr[vertices], sizes)
        ends = graph.indices[at]
        place = np.searchsorted(vertices, ends, sorter=order).clip(max=len(vertices) - 1)
        columns = np.where(vertices[order[place]] == ends, order[place], len(vertices))
        away = columns == len(vertices)
        return Surrounding(
            vertices, len(near), np.concatenate([rows, columns[away]]),
            np.concatenate([columns, rows[away]]),
            np.concatenate([self.values[:, at], self.back[:, at[away]]], axis=1),
        )  # fmt: skip

    def sharers(self, vertex: int) -> Index:
        """Return the vertices that share a value of a category with one, few of many; and near."""
        near = [links[[vertex]].indices for links in self.near]
        found = np.zeros(0, dtype=np.int64)
        if self.sharing is not None and self.sharers_of is not None:
            found = np.unique(self.sharers_of[:, self.sharing[[vertex]].indices].indices)
            found = found[found != vertex][:MOST_SHARING]
        return np.setdiff1d(np.concatenate([found, *near]), [vertex]).astype(np.int64)

    def ask(self, asked: Sequence[Hidden]) -> list[Array]:
        """Return the answers (s, C) for the vertex of each surrounding in its copies."""
        sizes = np.array([h.around.size for h in asked for _ in range(len(h.near))])
        starts = np.cumsum(sizes) - sizes
        graph, numbers, parts = self._copies(asked, starts)
        known = None
        if self.known is not None:
            known = Known(
                numbers, self.known.n_fitted, in_larger=self.known.share_present, parts=parts
            )
        ready = Prepared.of(
            graph, scaling=self.prepared.scaler, device=self.prepared.device,
            task=self.prepared.task, known=known,
        )  # fmt: skip
        which = np.concatenate([np.full(len(h.near), h.around.vertices[0]) for h in asked])
        answers = MemberAnswers(
            graph, self.estimator.task_, self.estimator.target_scales_, None, self.members,
            [member.answer(ready, starts) for member in self.members],
            None if self.shares is None else self.shares[which],
            None if self.held is None else self.held[which],
        )  # fmt: skip
        return np.split(answers.outputs(), np.cumsum([len(h.near) for h in asked])[:-1])

    def _copies(self, asked: Sequence[Hidden], starts: Index) -> tuple[Graph, Index, Index]:
        """Return all copies as one graph, the fitted numbers of its vertices, and their copies."""
        rows, columns, values = list[Index](), list[Index](), list[NDArray[np.float32]]()
        features, numbers, first = list[Any](), list[Index](), 0
        for hidden in asked:
            around, n_copies = hidden.around, len(hidden.near)
            size, start = around.size, starts[first : first + n_copies, None]
            first += n_copies
            gone = np.zeros((n_copies, size), dtype=bool)
            gone[:, 1 : 1 + around.n_near] = hidden.near
            u, v, outside = around.rows, around.columns, size - 2
            cut = (gone[:, u] | gone[:, v]) & (u != 0) & (v != 0)
            each = np.broadcast_to(around.values[:, None], (len(around.values), *cut.shape))
            # A link that is cut becomes two: from either end to an average vertex.
            from_u, to_v = cut & (u != outside), cut & (v != outside)
            rows += [(start + u)[~cut], (start + u)[from_u], (start + outside + gone[:, v])[to_v]]
            columns += [
                (start + v)[~cut],
                (start + outside + gone[:, u])[from_u],
                (start + v)[to_v],
            ]
            values += [each[:, ~cut], each[:, from_u], each[:, to_v]]
            features.append(self._features(hidden, gone))
            if self.known is not None:
                own = np.append(self.known.numbers[around.vertices], (-1, -1))
                numbers.append(np.where(gone, -1, own).ravel())
        n = int(starts[-1] + asked[-1].around.size)
        made = _graph_of(
            n,
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(values, axis=1),
            self.graph,
        )
        stack = (
            sp.vstack(features, format="csr") if sp.issparse(features[0]) else np.vstack(features)
        )
        sizes = np.diff(np.append(starts, n))
        return (
            replace(made, features=stack),
            np.concatenate(numbers) if numbers else np.zeros(0, np.int64),
            np.repeat(np.arange(len(starts)), sizes),
        )

    def _features(self, hidden: Hidden, gone: Shown) -> Any:
        """Return the features of all copies of a surrounding."""
        own = self.graph.features[hidden.around.vertices]
        is_sparse = sp.issparse(own)
        first = own[[0]].toarray() if is_sparse else own[:1]
        first = np.where(hidden.columns, self.average, first).astype(np.float32)
        average = np.stack([self.average, self.average]).astype(np.float32)
        stacked = [own, average, first]
        pool: Any = sp.vstack(stacked, format="csr") if is_sparse else np.vstack(stacked)
        n_copies, size = gone.shape
        index = np.where(gone, size - 1, np.arange(size))
        index[:, 0] = size + np.arange(n_copies)
        return pool[index.ravel()]


def average_row(graph: Graph) -> NDArray[np.float32]:
    """Return the features of an average vertex, of which no value is missing.

    Of sparse columns that most vertices lack, such as words and values of categories, it has none.
    """
    x: Any = graph.features
    mean = np.asarray(x.mean(axis=0), dtype=np.float32).ravel()
    if sp.issparse(x):
        filled = np.bincount(x.indices, minlength=x.shape[1]) / max(x.shape[0], 1)
        mean[filled < LEAST_FILLED] = 0
    for i, name in enumerate(graph.feature_names or ()):
        if name.endswith(MISSING_MARK):
            mean[i] = 0
    return mean


def _graph_of(
    n: int, rows: Index, columns: Index, values: NDArray[np.float32], like: Graph
) -> Graph:
    """Return a graph of n vertices from its links in both directions; repeats are added up."""
    order = np.argsort(rows * n + columns, kind="stable")
    keys = (rows * n + columns)[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    summed = np.add.reduceat(values[:, order], first, axis=1) if len(first) else values
    small = index_type(n)
    indptr = np.searchsorted(keys[first], np.arange(n + 1) * n).astype(index_type(len(first)))
    weights, *more = summed
    plain = like.weights is None and bool((weights == 1).all())
    arcs = None if like.arcs is None else more.pop(0)
    kinds = None if like.kinds is None else EdgeKinds(like.kinds.names, np.stack(more))
    return Graph(
        indptr, (keys[first] % n).astype(small), None if plain else weights, classes=like.classes,
        feature_names=like.feature_names, arcs=arcs, kinds=kinds,
    )  # fmt: skip


def embed_members(estimator: FittedEstimator, prepared: Prepared) -> NDArray[np.float32]:
    """Return the filtered hidden layers of the members that have one, side by side.

    Columns are scaled by the root of each member's weight, so that inner products of rows are the
    members' own, averaged by weight.
    """
    members: list[FittedMember] = estimator.members_of(prepared)
    total, parts = sum(member.weight for member in members), list[NDArray[np.float32]]()
    with own_torch_state(gradients=False):
        for member in members:
            network = member.network_on(prepared.device).eval()
            if member.weight and isinstance(network, FilterNetwork | ChannelNetwork):
                seen = prepared.seen_as(member.system.view)
                hidden = network.embed(prepared.operator(member.system.operator), seen.x)
                parts.append(hidden.cpu().numpy() * np.float32((member.weight / total) ** 0.5))
    if not parts:
        raise ConfigError("an embedding is the hidden layer of a filter; this model has none.")
    return np.concatenate(parts, axis=1)

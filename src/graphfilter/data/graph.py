"""Graph: edges, features, labels and splits. Validated once, immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from graphfilter.data.attributes import check_changes, count_vertices, number_names
from graphfilter.data.conversions import (
    check_direction,
    parts_of,
    parts_of_networkx,
    parts_of_pyg,
    parts_of_scipy,
    warn_of_directions,
)
from graphfilter.data.edge_attributes import EdgeHistory, EdgeKinds
from graphfilter.data.edges import align_arcs, as_pairs, build_csr, check_merge, check_weights
from graphfilter.data.structure import (
    GraphArrays,
    checksum_of,
    induced_subgraph,
    largest_component,
    say_links,
)
from graphfilter.splits import Split
from graphfilter.tables.build import GraphParts, read_frames, telling
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count


@dataclass(frozen=True, eq=False, repr=False)
class Graph(GraphArrays):
    """An undirected graph without self loops, and what is known of its vertices.

    Build one with :meth:`from_edges`, :meth:`from_frames`, :meth:`from_scipy`,
    :meth:`from_networkx`, :meth:`from_pyg`, or :meth:`of`. Construction reports what it cleaned
    in :attr:`notes` and never changes what it was given.

    Attributes
    ----------
    indptr, indices : integer arrays
        CSR adjacency, symmetric, sorted, each edge stored in both rows. int32 where the numbers
        fit, int64 where they do not.
    weights : float32 array or None
        One per stored entry; None where every edge weighs 1.
    features : float32 array (n, d), csr_array (n, d) or None
        Sparse features stay sparse.
    labels : int64 array (n,) or None
        Class numbers, -1 for unlabelled.
    classes : array (n_classes,)
        The names of the class numbers.
    vertex_names, feature_names : tuple or None
    splits : tuple of Split
        Fixed splits that come with a dataset.
    notes : tuple of str
        What was cleaned, in sentences.
    arcs : float32 array or None
        The direction of the edges, where it was asked for: per stored entry (u, v) the weight of
        the arc from u to v, 0 where there is only the one from v to u. Everything else is of the
        graph without directions.
    kinds : EdgeKinds or None
        How strongly each edge type joins two vertices, where types were given.
    history : EdgeHistory or None
        When each edge came to be, where times were given, and which of them training may know.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.Graph.from_edges([[0, 1], [1, 2]], labels=["x", "y", None])
    >>> g.n_vertices, g.n_edges, g.labels.tolist()
    (3, 2, [0, 1, -1])
    """

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        n_vertices: int | None = None,
        *,
        features: Any = None,
        labels: Any = None,
        weights: ArrayLike | None = None,
        vertex_names: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        splits: Sequence[Split] = (),
        name: str = "graph",
        directed: bool = False,
        kinds: Any = None,
        merge: str = "larger",
        times: Any = None,
    ) -> Self:
        """Build a graph from pairs of vertex numbers, or of names.

        Parameters
        ----------
        edges : integer array (m, 2) or (2, m), or pairs of names
            Names are those of ``vertex_names``; without it, the vertices are the names in the
            edges. Self loops are dropped and repeats merged. A (2, 2) array is two rows of pairs.
        n_vertices : int, optional
            Otherwise the number of feature rows or labels, or the largest number in ``edges``
            plus one.
        features : array or scipy sparse matrix (n, d), optional
        labels : sequence (n,), optional
            Any hashable; -1, None, NaN, '' or 'NA' is unlabelled (the rule is in full in
            :mod:`graphfilter.tables.labels`).
        weights : array (m,), optional
            Non-negative. An edge of weight 0 is no edge.
        directed : bool
            Remember beside the graph which way each edge goes, from the first vertex of a pair to
            the second: :meth:`out_links` and :meth:`in_links` then differ.
        kinds : sequence (m,), optional
            The type of each edge, kept beside the graph of all edges.
        merge : {'larger', 'sum', 'mean', 'max', 'last'}
            What repeats of an edge weigh together, whichever way they go; 'sum' without weights
            counts them. 'larger' adds those of one direction up and keeps the larger direction.
            Edges that are all listed in both directions, with equal weights, are listed twice by
            convention, and not added up.
        times : array (m,), optional
            When each edge came to be: numbers, or datetime64. :meth:`as_of` then says which of
            them training may know.

        Examples
        --------
        >>> g = Graph.from_edges([[0, 1], [1, 2], [2, 1], [2, 2]], labels=["a", "b", None])
        >>> g
        Graph('graph', 3 vertices, 2 edges, 2 classes)
        >>> g.notes
        ('1 self loop dropped.', '1 repeated edge merged.')
        """
        others_known = any(one is not None for one in (n_vertices, features, labels))
        numbered, vertex_names = number_names(edges, vertex_names, others_known=others_known)
        if n_vertices is None and numbered is not edges:
            n_vertices = len(vertex_names or ())
        pairs = as_pairs(numbered)
        n = count_vertices(pairs, n_vertices, features, labels)
        values = None if weights is None else check_weights(weights, len(pairs))
        if check_merge(merge, weighted=values is not None) == "sum" and values is None:
            values = np.ones(len(pairs), dtype=np.float32)
        indptr, indices, data, notes = build_csr(pairs, values, n, directed=directed, merge=merge)
        arcs = align_arcs(pairs, values, indptr, indices, merge) if directed else None
        own = None
        if kinds is not None:
            own = EdgeKinds.from_edges(kinds, pairs, values, indptr, indices, merge)
        past = None if times is None else EdgeHistory.of(pairs, values, kinds, times, merge)
        bare = cls(
            indptr, indices, data, notes=tuple(notes), name=str(name), arcs=arcs, kinds=own,
            history=past,
        )  # fmt: skip
        return bare.replace(
            features=features,
            labels=labels,
            vertex_names=vertex_names,
            feature_names=feature_names,
            splits=splits,
        )

    @classmethod
    def from_scipy(cls, matrix: Any, **attributes: Any) -> Self:
        """Build a graph from a square scipy sparse matrix; its values are the weights.

        A matrix whose stored values are all equal to 1 gives an unweighted graph.
        """
        warn_of_directions(matrix, attributes)
        return cls.from_edges(**parts_of_scipy(matrix), **attributes)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight", **attributes: Any) -> Self:
        """Build a graph from a networkx graph; vertices keep its node order and names.

        ``labels`` may be the name of a node attribute or a mapping from nodes; nodes without
        one are unlabelled. Edges without a ``weight`` attribute weigh 1.
        """
        warn_of_directions(graph, attributes)
        labels = attributes.pop("labels", None)
        check_direction(graph, attributes.get("directed", False))
        return cls.from_edges(**{**parts_of_networkx(graph, weight, labels), **attributes})

    @classmethod
    def from_pyg(cls, data: Any, **attributes: Any) -> Self:
        """Build a graph from a PyTorch Geometric ``Data``: edge_index, x, y, weights and masks.

        Masks of several columns, as its heterophilous datasets have, are one split per column.
        """
        return cls.from_edges(**{**parts_of_pyg(data), **attributes})

    @classmethod
    def from_frames(
        cls,
        vertices: Any,
        edges: Any,
        *,
        id: str | None = None,
        source: str | None = None,
        target: str | None = None,
        label: str | None = None,
        **options: Any,
    ) -> Self:
        """Build a graph from two DataFrames of pandas, polars or pyarrow, or dicts of columns.

        Columns that are not named are guessed by name and by what they hold, and every other one
        is a feature: numbers, dates, words and text are encoded, gaps are filled in and marked,
        as in files. The :attr:`notes` say how. Ids may be of any type.

        Parameters
        ----------
        vertices, edges : DataFrame
        id, label : str, optional
            Columns of ``vertices``.
        source, target : str, optional
            Columns of ``edges``.
        **options
            ``weight``, ``edge_kind``, ``split``, ``features``, ``categorical``, ``drop``: more
            columns; ``kinds``, a dict that says what columns are; ``unlabelled``, the spellings of
            a label that is none; ``allow_missing``, to leave out edges to other vertices;
            ``directed``; ``clean_ids``, to read ids without blanks around them and characters of
            no width.

        Examples
        --------
        >>> people = {"name": ["Ann", "Bob", "Eve"], "age": [31, None, 40], "team": ["a", "b", ""]}
        >>> calls = {"from": ["Ann", "Bob"], "to": ["Bob", "Eve"]}
        >>> graph = Graph.from_frames(people, calls, label="team")
        >>> graph.feature_names, graph.edges.tolist()
        (('age', 'age is missing'), [[0, 1], [1, 2]])
        """
        roles = {"id": id, "source": source, "target": target, "label": label}
        return cls.from_parts(read_frames(vertices, edges, roles, options))

    @classmethod
    def from_parts(cls, parts: GraphParts) -> Self:
        """Build a graph from what two tables say of it."""
        with telling(parts.notes):
            graph = cls.from_edges(
                parts.pairs, parts.n_vertices, weights=parts.weights, name=parts.name,
                directed=parts.directed, kinds=parts.kinds, merge=parts.merge,
                times=None if parts.times is None else parts.times.as_array(),
            )  # fmt: skip
            graph = graph.replace(
                features=parts.features, feature_names=parts.feature_names,
                vertex_names=parts.vertex_names, splits=parts.splits,
                notes=(*parts.notes, *say_links(graph), *graph.notes),
            )  # fmt: skip
        if parts.labels is None:
            return graph
        # Encoded already, word by word instead of row by row.
        return replace(graph, labels=parts.labels, classes=parts.classes)

    @classmethod
    def of(cls, source: Any, n_vertices: int | None = None, **attributes: Any) -> Self:
        """Build a graph from whatever holds one: edges, scipy sparse, networkx, PyG or a Graph.

        ``None`` gives a graph of ``n_vertices`` vertices without edges.
        """
        if isinstance(source, cls):
            graph = source.replace(**attributes)
        elif (parts := parts_of(source, attributes)) is not None:
            graph = cls.from_edges(**parts)
        else:
            edges = np.empty((0, 2), dtype=np.int64) if source is None else source
            return cls.from_edges(edges, n_vertices, **attributes)
        if n_vertices is not None and graph.n_vertices != n_vertices:
            raise GraphError(
                f"the graph must have {n_vertices} vertices, one per row of X; "
                f"got {graph.n_vertices}."
            )
        return graph

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other attributes, checked and converted; the edges stay."""
        return replace(self, **check_changes(changes, self.n_vertices, self))

    def as_of(self, moment: Any) -> Self:
        """Return the graph with this moment as the present of training.

        An estimator learns from the edges before it, and predicts with all. Edges without a time
        are not learned from.

        Parameters
        ----------
        moment : str, date or number
            A date where the times of the edges are dates, else a number.

        Examples
        --------
        >>> times = np.array(["2024-01-01", "2024-03-01"], dtype="datetime64[D]")
        >>> graph = Graph.from_edges([[0, 1], [1, 2]], times=times).as_of("2024-02-01")
        >>> graph.n_edges, graph.past.n_edges
        (2, 1)
        """
        if self.history is None:
            raise GraphError(
                "the edges must have times to go back to a moment; they have none. Pass times, or "
                "name their column with `edge_time`."
            )
        return replace(self, history=self.history.until(moment))

    @property
    def past(self) -> Self:
        """The graph that training may know: edges before :meth:`as_of`; all where none is said."""
        if self.history is None or self.history.moment is None:
            return self
        return replace(self, **self.history.links(self.n_vertices, directed=self.directed))

    def subgraph(self, index: ArrayLike) -> Self:
        """Return the graph induced by these vertices, in this order.

        Fixed splits are carried over, less the vertices that are gone.
        """
        return induced_subgraph(self, index)

    def checksum(self) -> str:
        """Return a checksum of the edges, weights, features, labels and fixed splits."""
        return checksum_of(self)

    def largest_component(self) -> Self:
        """Return the subgraph of the largest connected component."""
        return largest_component(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the graph itself: it is immutable, and scikit-learn's clone deep-copies."""
        return self

    def __repr__(self) -> str:
        parts = [count(self.n_vertices, "vertex", "vertices"), count(self.n_edges, "edge")]
        if self.arcs is not None:
            parts.append(count(int(np.count_nonzero(self.arcs)), "arc"))
        if self.kinds is not None:
            parts.append(count(len(self.kinds.names), "edge type"))
        if self.n_features:
            parts.append(count(self.n_features, "feature"))
        if self.n_classes:
            parts.append(count(self.n_classes, "class", "classes"))
        return f"Graph({self.name!r}, {', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from graphfilter.data.structure import graph_card

        return graph_card(self)

"""Graph: edges, features, labels and splits. Validated once, immutable."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data import attributes as inputs
from graphfilter.data.edges import EdgeHistory, EdgeKinds, build_links, check_merge, index_type
from graphfilter.splits import Split, check_vertices
from graphfilter.tables.build import GraphParts, read_frames, telling
from graphfilter.tables.columns import Features
from graphfilter.util.errors import DirectionsDroppedWarning, GraphError
from graphfilter.util.machine import blocks
from graphfilter.util.words import count

# Numbers that are hashed at a time: an array may be larger than memory.
_AT_ONCE = 1 << 22
# Vertices to start from, and the share of the graph that counts as having come far.
N_STARTS, FAR = 9, 0.1
# What is mapped from a store while the graph has the edges that it holds.
STRUCTURE = ("indptr", "indices", "weights")


class OpenedStore(NamedTuple):
    """A graph store, its arrays as the header had them, and as they were mapped."""

    folder: Path
    stored: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def holds(self, graph: Graph) -> bool:
        """Return whether the edges of a graph are those that were mapped."""
        return all(getattr(graph, role) is self.arrays.get(role) for role in STRUCTURE)


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
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
    opened : OpenedStore or None
        The graph store that its edges were opened from.
    n_vertices, n_edges, n_features, n_classes : int
        Of undirected edges, each is counted once.
    directed : bool
        Whether the graph remembers which way its edges go.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.Graph.from_edges([[0, 1], [1, 2]], labels=["x", "y", None])
    >>> g.n_vertices, g.n_edges, g.labels.tolist()
    (3, 2, [0, 1, -1])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float32] | None = None
    features: Features | None = None
    labels: NDArray[np.int64] | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    vertex_names: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    splits: tuple[Split, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = "graph"
    arcs: NDArray[np.float32] | None = None
    kinds: EdgeKinds | None = None
    history: EdgeHistory | None = None
    opened: OpenedStore | None = None
    n_vertices: int = field(init=False)
    n_edges: int = field(init=False)
    n_features: int = field(init=False)
    n_classes: int = field(init=False)
    directed: bool = field(init=False)

    def __post_init__(self) -> None:
        sizes = {
            "n_vertices": len(self.indptr) - 1,
            "n_edges": len(self.indices) // 2,
            "n_features": 0 if self.features is None else self.features.shape[1],
            "n_classes": len(self.classes),
            "directed": self.arcs is not None,
        }
        for name, value in sizes.items():
            object.__setattr__(self, name, value)
        if self.opened is not None and not self.opened.holds(self):
            object.__setattr__(self, "opened", None)
        x: Any = self.features
        arrays = [self.indptr, self.indices, self.weights, self.arcs, self.labels, self.classes]
        arrays += [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
        for array in arrays:
            if array is not None:
                array.flags.writeable = False

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Sum of the weights at each vertex (the number of neighbours where unweighted)."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        rows = np.repeat(np.arange(self.n_vertices), np.diff(self.indptr))
        counts = np.bincount(rows, weights=self.weights, minlength=self.n_vertices)
        return counts.astype(np.float64)

    @property
    def adjacency(self) -> sp.csr_array:
        """The weighted adjacency matrix in float64."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights.astype(float)
        shape = (self.n_vertices, self.n_vertices)
        return sp.csr_array((data, self.indices, self.indptr), shape=shape)

    @property
    def edges(self) -> NDArray[Any]:
        """Every edge once, as (m, 2) with u < v, sorted."""
        rows, upper = self._upper()
        return np.stack([rows[upper], self.indices[upper]], axis=1)

    @property
    def edge_weights(self) -> NDArray[np.float32] | None:
        """The weights of :attr:`edges`, or None where every edge weighs 1."""
        return None if self.weights is None else self.weights[self._upper()[1]]

    def _upper(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        rows = np.repeat(np.arange(self.n_vertices, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, rows < self.indices

    def out_links(self) -> sp.csr_array:
        """Return A (n, n) in float32: in row u, the vertices that u links to.

        An edge of a graph without directions goes both ways.
        """
        values = self.weights if self.arcs is None else self.arcs
        values = np.ones(len(self.indices), dtype=np.float32) if values is None else values
        shape = (self.n_vertices, self.n_vertices)
        links = sp.csr_array((values, self.indices, self.indptr), shape=shape, copy=True)
        links.eliminate_zeros()
        return links

    def in_links(self) -> sp.csr_array:
        """Return Aᵀ (n, n) in float32: in row u, the vertices that link to u."""
        return self.out_links().T.tocsr()

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
        numbered, vertex_names = inputs.number_names(edges, vertex_names, others_known=others_known)
        if n_vertices is None and numbered is not edges:
            n_vertices = len(vertex_names or ())
        pairs = inputs.as_pairs(numbered)
        n = inputs.count_vertices(pairs, n_vertices, features, labels)
        values = None if weights is None else inputs.check_weights(weights, len(pairs))
        attributes = inputs.check_changes(
            {
                "features": features, "labels": labels, "vertex_names": vertex_names,
                "feature_names": feature_names, "splits": splits,
            },
            n,
        )  # fmt: skip
        if check_merge(merge, weighted=values is not None) == "sum" and values is None:
            values = np.ones(len(pairs), dtype=np.float32)
        links = build_links(pairs, values, n, directed=directed, merge=merge)
        if kinds is not None:
            attributes["kinds"] = EdgeKinds.from_edges(kinds, pairs, values, links, merge)
        if times is not None:
            attributes["history"] = EdgeHistory.of(pairs, values, kinds, times, merge)
        return cls(
            links.indptr, links.indices, links.weights, notes=tuple(links.notes), name=str(name),
            arcs=links.arcs, **attributes,
        )  # fmt: skip

    @classmethod
    def from_scipy(cls, matrix: Any, **attributes: Any) -> Self:
        """Build a graph from a square scipy sparse matrix; its values are the weights.

        A matrix whose stored values are all equal to 1 gives an unweighted graph.
        """
        # Before scipy follows its indices.
        inputs.check_sparse(matrix, "an adjacency matrix")
        if len(getattr(matrix, "shape", ())) != 2:
            raise GraphError(f"an adjacency matrix must be a table; got a {type(matrix).__name__}.")
        if matrix.shape[0] != matrix.shape[1]:
            raise GraphError(f"an adjacency matrix must be square; got shape {matrix.shape}.")
        if "directed" not in attributes:
            above, below = sp.triu(matrix, 1), sp.tril(matrix, -1)
            # A triangular matrix lists every edge once; that says nothing of directions.
            if above.nnz and below.nnz and (above != below.T).nnz:
                _warn_of_directions("the matrix is not symmetric: its")
        entries = sp.coo_array(matrix)
        if entries.data.dtype.kind in "iu":  # Repeats are added up: small types would overflow.
            entries = entries.astype(np.float64)
        entries.sum_duplicates()
        if not np.isrealobj(entries.data):
            raise GraphError("an adjacency matrix must be real; got complex values.")
        parts: dict[str, Any] = {
            "edges": np.stack([entries.row, entries.col], axis=1),
            "n_vertices": matrix.shape[0],
            "weights": None if (entries.data == 1).all() else entries.data,
        }
        return cls.from_edges(**parts | attributes)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, weight: str = "weight", labels: Any = None, **attributes: Any
    ) -> Self:
        """Build a graph from a networkx graph; vertices keep its node order and names.

        ``labels`` may be the name of a node attribute or a mapping from nodes; nodes without
        one are unlabelled. Edges without a ``weight`` attribute weigh 1.
        """
        if not hasattr(graph, "nodes"):
            raise GraphError(f"a networkx graph must have nodes; got a {type(graph).__name__}.")
        if "directed" not in attributes and graph.is_directed():
            _warn_of_directions(f"a {type(graph).__name__}'s")
        if attributes.get("directed") and not graph.is_directed():
            raise GraphError(
                "directed=True needs a directed networkx graph; got an undirected one. Pass a "
                "DiGraph, or leave out directed=True."
            )
        nodes = list(graph.nodes)
        number = {node: i for i, node in enumerate(nodes)}
        triples = [(number[u], number[v], w) for u, v, w in graph.edges(data=weight, default=1.0)]
        try:
            weights = np.array([t[2] for t in triples], dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise GraphError(
                f"the edge attribute {weight!r} must be a number on every edge."
            ) from None
        if isinstance(labels, str):
            if not any(labels in graph.nodes[node] for node in nodes):
                raise GraphError(f"no node has the attribute {labels!r} to take labels from.")
            labels = {node: graph.nodes[node].get(labels) for node in nodes}
        if isinstance(labels, Mapping):
            labels = [labels.get(node) for node in nodes]
        parts: dict[str, Any] = {
            "edges": np.array([t[:2] for t in triples], dtype=np.int64).reshape(-1, 2),
            "n_vertices": len(nodes),
            "weights": None if (weights == 1).all() else weights,
            "labels": labels,
            "vertex_names": nodes,
        }
        return cls.from_edges(**parts | attributes)

    @classmethod
    def from_pyg(cls, data: Any, **attributes: Any) -> Self:
        """Build a graph from a PyTorch Geometric ``Data``: edge_index, x, y, weights and masks.

        Masks of several columns, as its heterophilous datasets have, are one split per column. Of a
        ``HeteroData`` each kind of vertex has columns of its own, and each relation is an edge
        type; vertices are called ``paper:3``.
        """
        if inputs.is_hetero(data):
            return cls.from_edges(**inputs.hetero_parts(data) | attributes)

        def array(name: str) -> Any:
            return inputs.on_host(getattr(data, name, None))

        pairs = array("edge_index")
        if pairs is None:
            raise GraphError("the PyG Data must have an edge_index; it has none.")
        parts: dict[str, Any] = {
            "edges": pairs.T,
            "n_vertices": data.num_nodes,
            "weights": array("edge_weight"),
            "features": array("x"),
            "labels": array("y"),
            "splits": inputs.pyg_splits(data, np.arange(data.num_nodes)),
        }
        return cls.from_edges(**parts | attributes)

    @classmethod
    def from_frames(cls, vertices: Any, edges: Any, **options: Any) -> Self:
        """Build a graph from two DataFrames of pandas, polars or pyarrow, or dicts of columns.

        Columns that are not named are guessed by name and by what they hold, and every other one
        is a feature: numbers, dates, words and text are encoded, gaps are filled in and marked,
        as in files. The :attr:`notes` say how. Ids may be of any type.

        Parameters
        ----------
        vertices, edges : DataFrame
        **options
            As :func:`~graphfilter.data.read_tables` takes them: ``id``, ``label``, ``source``,
            ``target``, ``weight``, ``edge_kind``, ``split``, ``features``, ``categorical``,
            ``drop``: columns; ``kinds``, a dict that says what columns are; ``unlabelled``, the
            spellings of a label that is none; ``allow_missing``, to leave out edges to other
            vertices; ``directed``; ``clean_ids``, to read ids without blanks around them and
            characters of no width.

        Examples
        --------
        >>> people = {"name": ["Ann", "Bob", "Eve"], "age": [31, None, 40], "team": ["a", "b", ""]}
        >>> calls = {"from": ["Ann", "Bob"], "to": ["Bob", "Eve"]}
        >>> graph = Graph.from_frames(people, calls, label="team")
        >>> graph.feature_names, graph.edges.tolist()
        (('age', 'age is missing'), [[0, 1], [1, 2]])
        """
        return cls.from_parts(read_frames(vertices, edges, **options))

    @classmethod
    def from_parts(cls, parts: GraphParts) -> Self:
        """Build a graph from what two tables say of it."""
        with telling(parts.notes):
            graph = cls.from_edges(**parts.content)
        graph = replace(graph, notes=(*parts.notes, *_say_links(graph), *graph.notes))
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
        elif sp.issparse(source):
            graph = cls.from_scipy(source, **attributes)
        elif hasattr(source, "nodes") and hasattr(source, "edges"):
            graph = cls.from_networkx(source, **attributes)
        elif inputs.is_hetero(source) or hasattr(source, "edge_index"):
            graph = cls.from_pyg(source, **attributes)
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
        return replace(self, **inputs.check_changes(changes, self.n_vertices, self))

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
        chosen = check_vertices(index, self.n_vertices)
        if not len(chosen):
            raise GraphError("a subgraph must have at least one vertex; got none.")
        shape = (self.n_vertices, self.n_vertices)
        places = sp.csr_array((np.arange(len(self.indices)), self.indices, self.indptr), shape)
        kept = places[chosen][:, chosen]
        kept.sort_indices()
        new_number = np.full(self.n_vertices, -1)
        new_number[chosen] = np.arange(len(chosen))

        def renumber(part: NDArray[Any]) -> NDArray[Any]:
            return new_number[part][new_number[part] >= 0]

        history = self.history
        if history is not None:
            pairs = new_number[history.pairs]
            history = history.rows(pairs, np.all(pairs >= 0, axis=1))
        names, kinds = self.vertex_names, self.kinds
        return replace(
            self,
            indptr=kept.indptr.astype(index_type(kept.nnz)),
            indices=kept.indices.astype(index_type(len(chosen))),
            weights=None if self.weights is None else self.weights[kept.data],
            arcs=None if self.arcs is None else self.arcs[kept.data],
            kinds=None if kinds is None else EdgeKinds(kinds.names, kinds.values[:, kept.data]),
            history=history,
            features=None if self.features is None else self.features[chosen],
            labels=None if self.labels is None else self.labels[chosen],
            vertex_names=None if names is None else tuple(names[i] for i in chosen),
            splits=tuple(
                Split(renumber(s.train), renumber(s.val), renumber(s.test), rule=s.rule)
                for s in self.splits
            ),
        )

    def checksum(self) -> str:
        """Return a checksum of edges, weights, features, labels, fixed splits and directions."""
        x: Any = self.features
        arrays = [self.indptr, self.indices, self.weights, self.labels]
        arrays += [x.indptr, x.indices, x.data] if sp.issparse(x) else [x]
        arrays += [part for s in self.splits for part in (s.train, s.val, s.test)]
        if self.arcs is not None:
            arrays.append(self.arcs)
        if self.kinds is not None:
            names = np.frombuffer("\n".join(self.kinds.names).encode(), dtype=np.uint8)
            arrays += [names, self.kinds.values]
        return _digest(arrays)

    def largest_component(self) -> Self:
        """Return the subgraph of the largest connected component."""
        _, component = sp.csgraph.connected_components(self.adjacency, directed=False)
        return self.subgraph(component == np.bincount(component).argmax())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the graph itself: it is immutable, and scikit-learn's clone deep-copies."""
        return self

    def __repr__(self) -> str:
        n_arcs = 0 if self.arcs is None else int(np.count_nonzero(self.arcs))
        n_kinds = 0 if self.kinds is None else len(self.kinds.names)
        parts = [count(self.n_vertices, "vertex", "vertices"), count(self.n_edges, "edge")]
        parts += [count(n_arcs, "arc")] if self.directed else []
        more = {"edge type": n_kinds, "feature": self.n_features}
        parts += [count(n, what) for what, n in more.items() if n]
        parts += [count(self.n_classes, "class", "classes")] if self.n_classes else []
        return f"Graph({self.name!r}, {', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return what it is, and what was cleaned, as a notebook shows it."""
        return f"<pre>{escape(chr(10).join([repr(self), *self.notes]))}</pre>"


def _warn_of_directions(what: str) -> None:
    """Warn where a graph has directions, and nothing says whether to keep them."""
    warnings.warn(
        f"{what} directions are dropped, so that every edge goes both ways. Keep them with "
        "Graph.of(graph, directed=True), or pass directed=False if this is intended.",
        DirectionsDroppedWarning,
        stacklevel=4,
    )


def links_checksum(graph: Graph) -> str:
    """Return a checksum of the edges alone: who is connected to whom."""
    # Whatever the width of the integers that hold it.
    return _digest([graph.indptr, graph.indices, graph.weights, graph.arcs], np.dtype(np.int64))


def _digest(arrays: Iterable[NDArray[Any] | None], whole: np.dtype[Any] | None = None) -> str:
    """Return the hash of the lengths and bytes of arrays, read a piece at a time.

    Whole numbers are read as ``whole``, where that is said.
    """
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update((1).to_bytes(8, "little") + b"-")
            continue
        dtype = array.dtype if whole is None or array.dtype.kind == "f" else whole
        digest.update((array.size * dtype.itemsize).to_bytes(8, "little"))
        contiguous = array.flags.c_contiguous
        flat = array.reshape(-1) if contiguous else np.ascontiguousarray(array).ravel()
        for piece in (flat[rows].astype(dtype, copy=False) for rows in blocks(len(flat), _AT_ONCE)):
            digest.update(piece.view(np.uint8).data)
    return digest.hexdigest()[:32]


def is_wide(graph: Graph, n_steps: int) -> bool:
    """Return whether so many steps from a vertex lead to a small part of the graph only.

    So it is of grids, meshes and roads; in most other graphs a few steps lead nearly everywhere. It
    is wide if most of a few vertices drawn at random reach neither a tenth of all vertices nor all
    that they are connected to.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([(i, i + 1) for i in range(199)])
    >>> is_wide(path, 6), is_wide(path, 30)
    (True, False)
    """
    rng = np.random.default_rng(0)
    starts = rng.integers(graph.n_vertices, size=N_STARTS)
    return 2 * sum(_stays_near(graph, start, n_steps) for start in starts.tolist()) > N_STARTS


def _stays_near(graph: Graph, start: int, n_steps: int) -> bool:
    reached = np.zeros(graph.n_vertices, dtype=bool)
    reached[start], n_reached = True, 1
    last = np.array([start])
    for _ in range(n_steps):
        ends = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in last.tolist()]
        neighbours = np.unique(np.concatenate(ends)) if ends else last[:0]
        last = neighbours[~reached[neighbours]]
        reached[last] = True
        n_reached += len(last)
        if not len(last) or n_reached >= FAR * graph.n_vertices:
            return False
    return True


def _say_links(graph: Graph) -> list[str]:
    """Return in sentences which way the edges go, and of what types they are."""
    sentences = []
    if graph.arcs is not None:
        sentences.append(say_arcs(int(np.count_nonzero(graph.arcs)), graph.n_edges))
    if graph.kinds is not None:
        sizes = np.count_nonzero(graph.kinds.values, axis=1) // 2
        pairs = zip(graph.kinds.names, sizes.tolist(), strict=True)
        sentences.append(f"Edge types: {', '.join(f'{name} {n:,}' for name, n in pairs)}.")
    return sentences


def say_arcs(n_arcs: int, n_edges: int) -> str:
    """Say how many edges go both ways."""
    both = count(n_arcs - n_edges, "edge goes", "edges go")
    return f"Directions kept: {count(n_arcs, 'arc')}; {both} both ways."

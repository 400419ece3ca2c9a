"""Graph: an undirected graph with features, labels and splits. Validated once, immutable."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.conversions import parts_of_networkx, parts_of_pyg, parts_of_scipy
from graphfilter.graph.edges import as_pairs, as_vertices, build_csr, check_weights, count, on_host
from graphfilter.graph.labels import encode_labels
from graphfilter.splits import Split

# A float32 array (n, d) or a scipy csr_array of the same; scipy ships no types to say so with.
Features = Any

# Beyond this, an edge list without n_vertices is taken to hold identifiers, not numbers.
MOST_VERTICES_PER_EDGE = 100


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph without self loops, and what is known of its vertices.

    Build one with :meth:`from_edges`, :meth:`from_scipy`, :meth:`from_networkx`,
    :meth:`from_pyg`, or :meth:`of`, which takes any of those. Construction reports what it
    cleaned in :attr:`notes` and never changes what it was given.

    Attributes
    ----------
    indptr, indices : integer arrays
        CSR adjacency, symmetric, sorted, each edge stored in both rows. int32 where the numbers
        fit, int64 where they do not.
    weights : float32 array or None
        One a stored entry; None where every edge weighs 1.
    features : float32 array (n, d), csr_array (n, d) or None
        Sparse features stay sparse.
    labels : int64 array (n,) or None
        Class numbers, -1 for unlabelled.
    classes : array (n_classes,)
        The names the class numbers stand for.
    vertex_names, feature_names : tuple or None
    splits : tuple of Split
        Fixed splits that come with a dataset.
    notes : tuple of str
        What was cleaned, in sentences.
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

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.weights, self.labels, self.classes):
            if array is not None:
                array.flags.writeable = False
        features = self.features
        if features is not None and sp.issparse(features):
            for array in (features.data, features.indices, features.indptr):
                array.flags.writeable = False
        elif features is not None:
            features.flags.writeable = False

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
    ) -> Self:
        """Build a graph from pairs of vertex numbers.

        Parameters
        ----------
        edges : integer array (m, 2) or (2, m)
            Direction is forgotten, self loops are dropped and repeats merged. A (2, 2) array is
            read as two rows of pairs.
        n_vertices : int, optional
            Otherwise the number of feature rows or labels, or the largest number in ``edges``
            plus one.
        features : array or scipy sparse matrix (n, d), optional
        labels : sequence (n,), optional
            Any hashable; -1, None, NaN or '' is unlabelled.
        weights : array (m,), optional
            Non-negative. Repeats of an edge in one direction add up; where the two directions
            then differ, the larger holds. An edge of weight 0 is no edge.

        Examples
        --------
        >>> g = Graph.from_edges([[0, 1], [1, 2], [2, 1], [2, 2]], labels=["a", "b", None])
        >>> g
        Graph('graph', 3 vertices, 2 edges, 2 classes)
        >>> g.notes
        ('1 self loop dropped.', '1 repeated edge merged.')
        """
        pairs = as_pairs(edges)
        n = _n_vertices(pairs, n_vertices, features, labels)
        values = None if weights is None else check_weights(weights, len(pairs))
        indptr, indices, data, notes = build_csr(pairs, values, n)
        bare = cls(indptr, indices, data, notes=tuple(notes), name=name)
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
        return cls.from_edges(**parts_of_scipy(matrix), **attributes)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight", **attributes: Any) -> Self:
        """Build a graph from a networkx graph; vertices keep its node order and names.

        ``labels`` may be the name of a node attribute or a mapping from nodes; nodes without
        one are unlabelled. Edges without a ``weight`` attribute weigh 1.
        """
        labels = attributes.pop("labels", None)
        parts = parts_of_networkx(graph, weight, labels)
        return cls.from_edges(**{**parts, **attributes})

    @classmethod
    def from_pyg(cls, data: Any, **attributes: Any) -> Self:
        """Build a graph from a PyTorch Geometric ``Data``: edge_index, x, y, weights and masks.

        Masks of several columns, as its heterophilous datasets have, are one split a column.
        """
        return cls.from_edges(**{**parts_of_pyg(data), **attributes})

    @classmethod
    def of(cls, source: Any, n_vertices: int | None = None, **attributes: Any) -> Self:
        """Build a graph from whatever holds one: edges, scipy sparse, networkx, PyG or a Graph.

        ``None`` gives a graph of ``n_vertices`` vertices without edges.
        """
        if isinstance(source, cls):
            graph = source.replace(**attributes)
        elif sp.issparse(source):
            graph = cls.from_scipy(source, **attributes)
        elif type(source).__module__.partition(".")[0] == "networkx" or (
            hasattr(source, "nodes") and hasattr(source, "edges")
        ):
            graph = cls.from_networkx(source, **attributes)
        elif hasattr(source, "edge_index"):
            graph = cls.from_pyg(source, **attributes)
        elif source is None:
            empty = np.empty((0, 2), dtype=np.int64)
            return cls.from_edges(empty, n_vertices, **attributes)
        else:
            return cls.from_edges(source, n_vertices, **attributes)
        if n_vertices is not None and graph.n_vertices != n_vertices:
            raise GraphError(
                f"the graph must have {n_vertices} vertices, one a row of X; "
                f"got {graph.n_vertices}."
            )
        return graph

    @property
    def n_vertices(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Undirected edges, each counted once."""
        return len(self.indices) // 2

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else self.features.shape[1]

    @property
    def n_classes(self) -> int:
        return len(self.classes)

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

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other attributes, checked and converted; the edges stay."""
        changed: dict[str, Any] = {k: v for k, v in changes.items() if k in ("name", "notes")}
        n = self.n_vertices
        features = self.features
        if "features" in changes:
            features = changed["features"] = _as_features(changes["features"], n)
        if "labels" in changes:
            if changes["labels"] is None:
                codes, classes = None, np.empty(0, dtype=np.int64)
            else:
                codes, classes = encode_labels(changes["labels"])
                _check_length("labels", len(codes), n)
            changed["labels"], changed["classes"] = codes, classes
        for key, expected in (
            ("vertex_names", n),
            ("feature_names", 0 if features is None else features.shape[1]),
        ):
            names = changes.get(key, getattr(self, key))
            if key in changes and names is not None:
                names = tuple(names)
                _check_length(key, len(names), expected)
            elif key == "feature_names" and names is not None and len(names) != expected:
                names = None  # they named the columns of the features that were replaced
            changed[key] = names
        if "splits" in changes:
            changed["splits"] = tuple(changes["splits"])
            for split in changed["splits"]:
                split.check(n)
        if unknown := set(changes) - set(changed):
            raise TypeError(f"a Graph has no attribute {sorted(unknown)[0]!r} to set")
        return replace(self, **changed)

    def subgraph(self, index: ArrayLike) -> Self:
        """Return the graph induced by these vertices, in this order.

        Fixed splits are carried over, less the vertices that are gone.
        """
        index = as_vertices(index, self.n_vertices)
        kept = self.adjacency[index][:, index].tocoo()
        new_number = np.full(self.n_vertices, -1)
        new_number[index] = np.arange(len(index))
        parts = [[new_number[p] for p in (s.train, s.val, s.test)] for s in self.splits]
        splits = [
            Split(*(p[p >= 0] for p in split), rule=s.rule)
            for split, s in zip(parts, self.splits, strict=True)
        ]
        indptr, indices, data, _ = build_csr(
            np.stack([kept.row, kept.col], axis=1),
            None if self.weights is None else kept.data.astype(np.float32),
            len(index),
        )
        names = self.vertex_names
        return replace(
            self,
            indptr=indptr,
            indices=indices,
            weights=data,
            features=None if self.features is None else self.features[index],
            labels=None if self.labels is None else self.labels[index],
            vertex_names=None if names is None else tuple(names[i] for i in index),
            splits=tuple(splits),
        )

    def checksum(self) -> str:
        """Return a checksum of the edges, weights, features, labels and fixed splits."""
        digest = hashlib.sha256()
        features = self.features
        arrays = [self.indptr, self.indices, self.weights, self.labels]
        if features is not None and sp.issparse(features):
            arrays += [features.indptr, features.indices, features.data]
        else:
            arrays.append(features)
        arrays += [part for s in self.splits for part in (s.train, s.val, s.test)]
        for array in arrays:
            content = b"-" if array is None else np.ascontiguousarray(array).tobytes()
            digest.update(len(content).to_bytes(8, "little") + content)
        return digest.hexdigest()[:32]

    def largest_component(self) -> Self:
        """Return the subgraph of the largest connected component."""
        _, component = sp.csgraph.connected_components(self.adjacency, directed=False)
        return self.subgraph(component == np.bincount(component).argmax())

    def _upper(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        rows = np.repeat(np.arange(self.n_vertices, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, rows < self.indices

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the graph itself: it is immutable, and scikit-learn's clone deep-copies."""
        return self

    def __repr__(self) -> str:
        parts = [count(self.n_vertices, "vertex", "vertices"), count(self.n_edges, "edge")]
        if self.n_features:
            parts.append(count(self.n_features, "feature"))
        if self.n_classes:
            parts.append(count(self.n_classes, "class", "classes"))
        return f"Graph({self.name!r}, {', '.join(parts)})"


def _n_vertices(pairs: NDArray[Any], n: int | None, features: Any, labels: Any) -> int:
    needed = int(pairs.max()) + 1 if len(pairs) else 0
    if n is None and features is not None:
        n = _length("features", features)
    if n is None and labels is not None:
        n = _length("labels", labels)
    if n is None:
        n = needed
        # Identifiers taken for numbers would ask for memory by the terabyte.
        if n > np.iinfo(np.int32).max and n > MOST_VERTICES_PER_EDGE * len(pairs):
            raise GraphError(
                f"{count(len(pairs), 'edge')} would make {n:,} vertices. Number the vertices from "
                "0 first, or pass n_vertices if this is meant."
            )
    try:
        n = operator.index(n)
    except TypeError:
        raise GraphError(f"n_vertices must be a whole number; got {n!r}.") from None
    if n < 1:
        raise GraphError("a graph must have at least one vertex; got none.")
    if n < needed:
        raise GraphError(
            f"an edge names vertex {needed - 1}, but there are only {n} vertices (0..{n - 1})."
        )
    return n


def _length(what: str, values: Any) -> int:
    try:
        return values.shape[0] if hasattr(values, "shape") else len(values)
    except (TypeError, IndexError):
        raise GraphError(f"{what} must have one entry a vertex; got {values!r}.") from None


def _as_features(features: Any, n: int) -> Features | None:
    if features is None:
        return None
    if not sp.issparse(features):
        try:
            features = np.asarray(on_host(features))
        except ValueError:
            raise GraphError(
                "features must be a table (n, d); got rows of unequal length."
            ) from None
    if features.dtype.kind == "c":
        raise GraphError("features must be real; got complex values.")
    try:
        with np.errstate(over="ignore"):
            matrix = features.astype(np.float32)
    except (TypeError, ValueError):
        raise GraphError("features must be numbers; encode text columns first.") from None
    values = matrix
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
        matrix.sum_duplicates()
        values = matrix.data
    if matrix.ndim != 2:
        raise GraphError(f"features must be a table (n, d); got shape {matrix.shape}.")
    _check_length("features", matrix.shape[0], n)
    if not np.isfinite(values).all():
        raise GraphError(
            "features must be finite in float32; got NaN, infinity or a larger number. Fill or "
            "drop those first."
        )
    return matrix


def _check_length(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise GraphError(f"{what} must have {expected} entries; got {got}.")

"""New rows joined to a graph that is known: vertices added or updated, edges added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.graph.graph import Graph
from graphfilter.graph.growing import grow
from graphfilter.tables import (
    Columns,
    Elsewhere,
    Features,
    GraphParts,
    TableEncoder,
    TextOptions,
    open_pair,
    read_parts,
)
from graphfilter.wording import count

_OF_EDGES = ("source", "target", "weight", "edge_kind", "edge_time")


@dataclass(frozen=True, eq=False)
class Joined:
    """A known graph with the rows of new tables.

    Attributes
    ----------
    graph : Graph
        The known vertices in their order, then the new ones. Labels are those of the new rows.
    rows : int array
        Which vertex each row of the new table is.
    n_updated : int
        Rows whose id was known: their features are those of the new table.
    notes : tuple of str
        What was found and guessed in the tables.
    """

    graph: Graph
    rows: NDArray[np.int64]
    n_updated: int
    notes: tuple[str, ...]

    def describe(self, known: Graph, title: str) -> str:
        """Say in one sentence what was joined to which graph."""
        added = [count(len(self.rows) - self.n_updated, "new vertex", "new vertices")]
        if self.n_updated:
            added.append(f"{self.n_updated:,} known with the features given")
        added.append(count(self.graph.n_edges - known.n_edges, "new edge"))
        size = f"{count(known.n_vertices, 'vertex', 'vertices')}, {count(known.n_edges, 'edge')}"
        return f"{title} ({size}), with {', '.join(added)}"


def join_tables(
    known: Graph,
    edges: Any,
    vertices: Any,
    *,
    title: str,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    text: TextOptions | None = None,
) -> Joined:
    """Read tables of new rows, whose edges may name known vertices, and join both.

    A row with the id of a known vertex replaces its features; an edge that is known is an earlier
    row of it: the two weigh their sum, the larger or the last, as the tables are merged.
    Arguments as in :func:`~graphfilter.graph.read_tables`; ``title`` names the known graph in
    errors, and ``edges`` may be None.
    """
    columns = columns or Columns()
    ids = [str(name) for name in known.vertex_names or range(known.n_vertices)]
    nothing = {"source": np.empty(0, dtype="U1"), "target": np.empty(0, dtype="U1")}
    if edges is None:
        columns = replace(columns, **dict.fromkeys(_OF_EDGES))
    tables = open_pair(nothing if edges is None else edges, vertices, columns, text)
    parts = read_parts(
        *tables, columns, allow_missing=allow_missing, encoder=encoder, directed=known.directed,
        elsewhere=Elsewhere(ids, title),
    )  # fmt: skip
    if edges is None:
        # What is said of a table that nobody gave.
        own = [note for note in parts.notes if not note.startswith(("edges:", "edges lists"))]
        parts = replace(parts, notes=(*own, "no table of edges: new vertices have no neighbours."))
    return join_parts(known, ids, parts)


def join_parts(known: Graph, ids: list[str], parts: GraphParts) -> Joined:
    """Join what tables say to a graph whose vertices have these ids."""
    place = {name: i for i, name in enumerate(ids)}
    own = [str(name) for name in parts.vertex_names]
    is_new = np.array([name not in place for name in own])
    new = [name for name, novel in zip(own, is_new, strict=True) if novel]
    place |= {name: len(ids) + i for i, name in enumerate(new)}
    rows = np.array([place[name] for name in own], dtype=np.int64)
    numbers = np.array([place[name] for name in (*own, *parts.others)], dtype=np.int64)
    features = parts.features if parts.features is not None else np.zeros((len(own), 0))
    updated = _updated(known.features, rows[~is_new], features[np.flatnonzero(~is_new)])
    base = replace(known, features=updated, vertex_names=tuple(ids), labels=None)
    grown = grow(
        base, features[np.flatnonzero(is_new)], numbers[parts.pairs], weights=parts.weights,
        kinds=None if parts.kinds is None else parts.kinds.tolist(), vertex_names=new,
        merge=parts.merge,
    )  # fmt: skip
    if parts.labels is not None:
        labels = np.full(grown.n_vertices, -1, dtype=np.int64)
        labels[rows] = parts.labels
        grown = replace(grown, labels=labels, classes=parts.classes)
    return Joined(grown, rows, int((~is_new).sum()), parts.notes)


def _updated(old: Features, rows: NDArray[np.int64], new: Features) -> Features:
    """Return features with other ones in some rows."""
    if not len(rows) or old is None:
        return old
    if not sp.issparse(old):
        made = np.array(old)
        made[rows] = new.toarray() if sp.issparse(new) else new
        return made
    keep = np.ones(old.shape[0], dtype=np.float32)
    keep[rows] = 0
    entries = sp.csr_array(new).tocoo()
    moved = sp.coo_array((entries.data, (rows[entries.row], entries.col)), shape=old.shape)
    made = sp.csr_array(sp.diags_array(keep) @ old + moved.tocsr()).astype(np.float32)
    made.eliminate_zeros()
    made.sort_indices()
    return made

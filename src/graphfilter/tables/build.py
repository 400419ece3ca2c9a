"""What a table of edges and a table of vertices say of a graph, in files or in memory."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphFilterError
from graphfilter.splits import Split
from graphfilter.tables.cells import distinct, index_in, is_text
from graphfilter.tables.columns import Columns, choose_merge
from graphfilter.tables.edges import Elsewhere, read_edges
from graphfilter.tables.encoded import Features
from graphfilter.tables.encoding import TableEncoder
from graphfilter.tables.labels import UNLABELLED
from graphfilter.tables.mismatch import note_near_ids
from graphfilter.tables.roles import choose_edge_roles
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.tables.times import Times
from graphfilter.tables.unused import say_unused
from graphfilter.tables.vertices import (
    VertexColumns,
    check_named,
    check_rows,
    read_attributes,
    repeated_id,
)

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class GraphParts:
    """What two tables say of a graph, in the form that one is built from.

    Attributes
    ----------
    pairs, weights, kinds, times : arrays
        The rows of the table of edges, as vertex numbers; None where nothing is said.
    merge : str
        What the rows of one edge weigh together.
    n_vertices : int
    directed : bool
        Whether to keep which way the edges go.
    vertex_names : list
        The ids, in the order of the table.
    features, feature_names : array or None, tuple of str or None
    labels, classes : arrays or None
        Encoded word by word, not vertex by vertex.
    splits : tuple of Split
    name : str
        That of the table of vertices.
    notes : tuple of str
        What was found and guessed.
    encoder : TableEncoder
        The one given, or the one fitted to the vertices.
    others : tuple of str
        Ids of vertices that are known from elsewhere and not in the table: numbered after its own.
    """

    pairs: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    kinds: NDArray[Any] | None
    times: Times | None
    merge: str
    n_vertices: int
    directed: bool
    vertex_names: list[Any]
    features: Features | None
    feature_names: tuple[str, ...] | None
    labels: NDArray[np.int64] | None
    classes: NDArray[Any] | None
    splits: tuple[Split, ...]
    name: str
    notes: tuple[str, ...]
    encoder: TableEncoder
    others: tuple[str, ...] = ()


@contextmanager
def telling(notes: Sequence[str]) -> Generator[None]:
    """Send with an error what was found and guessed until then, as its notes."""
    try:
        yield
    except GraphFilterError as error:
        for note in notes:
            error.add_note(note)
        raise


def read_parts(
    edges: TableSource,
    vertices: TableSource,
    columns: Columns,
    *,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    unlabelled: Sequence[str] | None = None,
    directed: bool = False,
    elsewhere: Elsewhere | None = None,
) -> GraphParts:
    """Read what two tables say of a graph; edges may name vertices that are known elsewhere."""
    import pyarrow as pa

    edges.cleans_ids = vertices.cleans_ids = columns.clean_ids
    unlabelled = unlabelled or columns.unlabelled or UNLABELLED
    notes = [*vertices.found, *edges.found]
    with telling(notes):
        own = VertexColumns(vertices, edges, columns, encoder)
        table = _read_vertices(vertices, own.needed, columns.drop if own.all_free else None)
        own.settle(table, notes)
        roles, remembered = own.roles, own.remembered
        if roles["id"] not in table.column_names:
            table = vertices.read([*table.column_names, roles["id"]])
        with reading_table(vertices):
            ids = _check_ids(vertices.as_ids(table.column(roles["id"])), vertices)
        notes += note_near_ids(ids, vertices)
        others = _others(elsewhere, ids)
        ends = pa.concat_arrays([ids, others]) if len(others) else ids
        edge_roles, text = choose_edge_roles(edges, vertices, ends, columns, remembered)
        notes += text if remembered else [*text, *say_unused(edges, edge_roles)]
        attributes = read_attributes(
            table, vertices, roles, unlabelled, notes, check=encoder is None
        )
        features, encoder = _encode(table, vertices, own, encoder, notes)
        rows = read_edges(edges, edge_roles, vertices, ends, roles["id"], allow_missing, elsewhere)
        notes += rows.notes
        if edge_roles.header:
            ends = {"source": edge_roles.source, "target": edge_roles.target}
            roles |= ends | ({"weight": edge_roles.weight} if edge_roles.weight else {})
        encoder = encoder if remembered else replace(encoder, roles=tuple(roles.items()))
        return GraphParts(
            rows.pairs,
            rows.weights,
            rows.kinds,
            rows.times,
            choose_merge(columns, edge_roles.weight),
            n_vertices=len(ids),
            directed=directed or columns.directed,
            vertex_names=_names(table, vertices, roles["id"], ids),
            features=features,
            feature_names=encoder.feature_names if encoder.columns else None,
            labels=attributes.get("labels"),
            classes=attributes.get("classes"),
            splits=attributes.get("splits", ()),
            name=vertices.name.split(".")[0],
            notes=tuple(notes),
            encoder=encoder,
            others=tuple(others.to_pylist()),
        )


def _names(table: pa.Table, source: TableSource, column: str, ids: pa.Array) -> list[Any]:
    """Return the ids as the table has them: values of their own type, or text."""
    typed = table.column(column)
    keep = source.is_typed and not (source.cleans_ids and is_text(typed.type))
    return (typed if keep else ids).to_pylist()


def _others(elsewhere: Elsewhere | None, ids: pa.Array) -> pa.Array:
    """Return the ids that are known from elsewhere and not in the table."""
    import pyarrow as pa

    known = pa.array([] if elsewhere is None else elsewhere.ids, pa.string())
    return known.filter(pa.array(index_in(pa.chunked_array([known]), ids) < 0))


def _read_vertices(
    source: TableSource, needed: Collection[str], drop: Collection[str] | None
) -> pa.Table:
    """Read the columns that are needed; all but those to drop where that is said."""
    names = source.usable_names
    wanted = needed if drop is None else {*needed, *names}.difference(drop)
    table = source.read([name for name in names if name in wanted or name in needed])
    check_rows(table.num_rows, source)
    return table


def _check_ids(ids: pa.ChunkedArray, source: TableSource) -> pa.Array:
    """Check that every vertex has an id of its own."""
    check_named(ids, source)
    if len(ids.unique()) < len(ids):
        words, codes = distinct(ids)
        first = np.unique(codes, return_index=True)[1].tolist()
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        raise repeated_id(source, row, first[codes[row]], words[codes[row]])
    return ids.combine_chunks()


def _encode(
    table: pa.Table,
    source: TableSource,
    own: VertexColumns,
    encoder: TableEncoder | None,
    notes: list[str],
) -> tuple[Any, TableEncoder]:
    """Encode the features as the encoder says, or as one does that is fitted to them."""
    if encoder is None:
        encoder = own.fit_encoder(table, notes)
        return encoder.transform(table, source) if encoder.columns else None, encoder
    matrix, found_notes = encoder.encode(table, source)
    notes += found_notes
    return matrix if encoder.columns else None, encoder

"""Reading a graph from two tables, one of edges and one of vertices: CSV, TSV or Parquet."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.encoding import (
    TableEncoder,
    as_text,
    at_row,
    distinct,
    index_in,
    is_parquet,
    missing_column,
    place_of_row,
    read_numbers,
)
from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.graph.edges import count
from graphfilter.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa

ID_NAMES = ("id", "vertex", "vertex_id", "node", "node_id", "name")
LABEL_NAMES = ("label", "class", "y", "category", "target")
SPLIT_NAMES = ("split",)
WEIGHT_NAMES = ("weight", "w")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"))

_PARTS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2, "": -1}
# Ids are looked up block by block in a hash table that is built for each block: large blocks
# are faster, small ones take less memory. A row must fit into a block.
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class Columns:
    """Which column holds what. None or empty: guess by name, and say so in ``graph.notes``.

    Attributes
    ----------
    id, label, split, source, target, weight : str or None
        The first three in the table of vertices, the others in that of edges.
    features : tuple of str
        The only columns to take as features; empty for all that are not taken otherwise.
    categorical : tuple of str
        Features to one-hot encode though they look like numbers or have very many values.
    drop : tuple of str
        Columns of the table of vertices to leave out.
    """

    id: str | None = None
    label: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    split: str | None = None
    features: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def read_tables(
    edges: str | PathLike[str],
    vertices: str | PathLike[str],
    *,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
) -> tuple[Graph, TableEncoder]:
    """Read a graph from a table of edges and a table of vertices.

    Parameters
    ----------
    edges, vertices : path
        .csv, .csv.gz, .tsv, .tsv.gz or .parquet. Ids are strings: '007' is not '7'. An edge
        file without a header is known by a vertex id standing where the header should be.
    columns : Columns, optional
    allow_missing : bool
        Leave out edges to vertices that are not in the table instead of raising.
    encoder : TableEncoder, optional
        Encode the features as this one does (for new vertices of a trained model).

    Returns
    -------
    graph : Graph
        Vertex names are the ids, in the order of the file. An empty label, NaN or -1 is
        unlabelled (but where the only labels are -1 and 1, both are classes). Classes are
        strings, ordered as numbers where all are numbers. A split column gives one split.
    encoder : TableEncoder
        The one given, or the one fitted to ``vertices``.
    """
    edges, vertices, columns = Path(edges), Path(vertices), columns or Columns()
    table, roles, encoder, notes = _read_vertices(vertices, columns, encoder)
    known: dict[str, Any] = {"feature_names": encoder.feature_names or None}
    with _reading(vertices):
        ids = _check_ids(as_text(table.column(roles["id"])), vertices)
        if "label" in roles:
            known["labels"], known["classes"] = _encode_labels(as_text(table[roles["label"]]))
        if "split" in roles:
            known["splits"] = _read_split(as_text(table[roles["split"]], trim=True), vertices)
    features = encoder.transform(table, vertices) if encoder.columns else None
    pairs, weights, edge_notes = _read_edges(edges, vertices, ids, columns, allow_missing)
    graph = Graph.from_edges(pairs, len(ids), weights=weights, name=vertices.name.split(".")[0])
    notes = (*notes, *edge_notes, *graph.notes)
    graph = graph.replace(features=features, vertex_names=ids.to_pylist(), notes=notes)
    # Not Graph.replace: it would sort the classes as strings, 10 before 9.
    return dataclasses.replace(graph, **known), encoder


def _read_vertices(
    path: Path, columns: Columns, encoder: TableEncoder | None
) -> tuple[pa.Table, dict[str, str], TableEncoder, Sequence[str]]:
    """Read the columns that are needed, find their roles, and fit the encoder if none is given."""
    names = _column_names(path)
    asked = {*columns.features, *columns.categorical}
    if encoder is not None:
        asked = {column.name for column in encoder.columns}
    for name in sorted(asked.union(columns.drop).difference(names)):
        raise missing_column(path, name, names)
    told = {"id": columns.id, "label": columns.label, "split": columns.split}
    usual = {"id": (*ID_NAMES, *names), "label": LABEL_NAMES, "split": SPLIT_NAMES}
    roles, notes = _choose(path, names, told, usual, not_free=asked.union(columns.drop))
    if not columns.features and encoder is None:
        # An unnamed column is the row number that pandas writes.
        asked |= set(names) - {"", *roles.values(), *columns.drop}
    table = _read_table(path, [n for n in names if n in asked or n in roles.values()])
    if table.num_rows == 0:
        raise DataFileError(path, "a table of vertices must have at least one row; got none.")
    if encoder is not None:
        return table, roles, encoder, [*notes, *encoder.unseen(table)]
    features = table.select([n for n in names if n in asked])
    encoder = TableEncoder.fit(features, path, columns.categorical, columns.features)
    return table, roles, encoder, [*notes, *encoder.notes]


def _choose(
    path: Path,
    names: Sequence[str],
    told: Mapping[str, str | None],
    usual: Mapping[str, Sequence[str]],
    not_free: Collection[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Give each role the column it was told, or else a free one by the first usual name."""
    chosen = {role: name for role, name in told.items() if name is not None}
    for name in sorted(set(chosen.values()).difference(names)):
        raise missing_column(path, name, names)
    for what, values in (("columns have the name", names), ("roles name", chosen.values())):
        most = Counter(values).most_common(1)
        if most and most[0][1] > 1:
            raise DataFileError(path, f"{most[0][1]} {what} {most[0][0]!r}; it must be one.")
    guessed = []
    for role in [role for role in usual if role not in chosen]:
        free = [n for n in names if n not in not_free and n not in chosen.values()]
        if (name := _find(free, usual[role])) is not None:
            chosen[role] = name
            guessed.append(f"{name!r} as the {role}")
        elif role in ("id", "source", "target"):
            raise DataFileError(path, f"no column is left for the {role}. Add one.")
    return chosen, [f"{path.name}: took column {', '.join(guessed)}."] if guessed else []


def _find(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    """Return the first candidate's column, whatever the case of its name."""
    by_key = {name.strip().lower(): name for name in reversed(names)}
    return next((by_key[k] for c in candidates if (k := c.strip().lower()) in by_key), None)


def _check_ids(ids: pa.ChunkedArray, path: Path) -> pa.Array:
    """Check that every vertex has an id of its own."""
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(path, row, "the vertex id is empty. Give every vertex an id of its own.")
    if len(ids.unique()) < len(ids):
        words, codes = distinct(ids)
        first = np.unique(codes, return_index=True)[1].tolist()
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        problem = f"{words[codes[row]]!r} is also on {place_of_row(path, first[codes[row]])}"
        raise at_row(path, row, f"vertex id {problem}. Keep one, or name another column by --id.")
    return ids.combine_chunks()


def _encode_labels(labels: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the classes as ``graph.labels`` does, but in the order of numbers if they are."""
    words, codes = distinct(labels)
    known = [word for word in words if word.strip().lower() not in ("", "-1", "nan")]
    if known == ["1"]:
        known += [word for word in words if word.strip() == "-1"]
    try:
        known.sort(key=lambda word: (float(word), word))
    except ValueError:
        known.sort()
    number = {word: i for i, word in enumerate(known)}
    code_of_word = np.array([number.get(word, -1) for word in words], dtype=np.int64)
    return code_of_word[codes], np.array(known, dtype=object)


def _read_split(text: pa.ChunkedArray, path: Path) -> tuple[Split, ...]:
    words, codes = distinct(text)
    part = np.array([_PARTS.get(word.lower(), -2) for word in words])[codes]
    if (part == -2).any():
        row = int((part == -2).argmax())
        got = f"got {words[codes[row]]!r}"
        raise at_row(path, row, f"the split must be train, val, test or empty; {got}.")
    split = Split(part == 0, part == 1, part == 2, rule="given")
    return (split,) if (part >= 0).any() else ()


def _read_edges(
    path: Path, vertices: Path, ids: pa.Array, columns: Columns, allow_missing: bool
) -> tuple[NDArray[np.int32], NDArray[np.float32] | None, list[str]]:
    """Read the edges in one pass, turning ids into numbers block by block."""
    import pyarrow as pa

    roles, header, notes = _edge_roles(path, ids, columns)
    remedy = "Mend it, or name another column with --weight."
    pairs, weights = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    row, first_line = 0, 2 if header else 1
    for batch in _read_batches(path, list(roles.values()), header):
        with _reading(path):
            ends = [as_text(batch.column(roles[role])) for role in ("source", "target")]
        numbers = index_in(pa.chunked_array(ends), ids).reshape(2, -1)
        known = (numbers >= 0).all(axis=0)
        if not (allow_missing or known.all()):
            bad = int(known.argmin())
            name = ends[int(numbers[0, bad] >= 0)][bad].as_py()
            problem = f"vertex {name!r} is not in {vertices.name}. Add it to {vertices.name}, or "
            problem = problem if name else "an end of the edge is empty. Fill it in, or "
            raise at_row(path, row + bad, f"{problem}pass --allow-missing.", first_line=first_line)
        pairs.append(numbers.T[known])
        if (name := roles.get("weight")) is not None:
            with _reading(path):
                column = pa.chunked_array([batch.column(name)])
                values = read_numbers(column, path, name, remedy, least=0, first_row=row)
            weights.append(values[known])
        row += len(batch)
    # Arrow keeps freed memory for itself, which would lie on top of what building the graph takes.
    pa.default_memory_pool().release_unused()
    if n_dropped := row - sum(map(len, pairs)):
        notes.append(f"{count(n_dropped, 'edge')} to vertices not in {vertices.name} dropped.")
    notes += [] if row else [f"{path.name} lists no edge."]
    return np.concatenate(pairs), np.concatenate(weights) if "weight" in roles else None, notes


def _edge_roles(
    path: Path, ids: pa.Array, columns: Columns
) -> tuple[dict[str, str], bool, list[str]]:
    """Find the two ends and the weight, and tell whether the first line is a header."""
    import pyarrow as pa

    names = _column_names(path)
    if len(names) < 2:
        problem = f"a table of edges must have two columns or more; got {len(names)}."
        raise DataFileError(path, f"{problem} Put commas between them in .csv, tabs in .tsv.")
    told = {"source": columns.source, "target": columns.target, "weight": columns.weight}
    keys = {name.strip().lower() for name in names}
    pair = next((pair for pair in END_NAMES if keys.issuperset(pair)), None)
    may_lack_header = not (pair or any(told.values()) or is_parquet(path))
    if may_lack_header and (index_in(pa.chunked_array([names[:2]]), ids) >= 0).any():
        note = f"{path.name} has no header: took its first two columns, and no other."
        return {"source": "f0", "target": "f1"}, False, [note]
    source, target = pair or names[:2]
    usual = {"source": (source, *names), "target": (target, *names), "weight": WEIGHT_NAMES}
    roles, notes = _choose(path, names, told, usual)
    return roles, True, notes


def _column_names(path: Path) -> list[str]:
    """Read the names of the columns, and find out whether the file can be read at all."""
    from pyarrow import csv, parquet

    if not path.is_file():
        raise DataFileError(path, "there is no such file. Check the path.")
    if not path.name.lower().endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")):
        raise DataFileError(path, "a table must be .csv, .csv.gz, .tsv, .tsv.gz or .parquet.")
    with _reading(path):
        if is_parquet(path):
            return parquet.read_schema(path).names
        with csv.open_csv(path, **_csv_options(path)) as reader:
            return reader.schema.names


def _read_table(path: Path, names: list[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv, parquet

    with _reading(path):
        if is_parquet(path):
            return parquet.ParquetFile(path).read(columns=names)
        try:
            return csv.read_csv(path, **_csv_options(path, names, use_threads=True))
        except pa.ArrowInvalid:
            # One thread alone knows the line of what is wrong.
            return csv.read_csv(path, **_csv_options(path, names))


def _read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv, parquet

    with _reading(path):
        if is_parquet(path):
            yield from parquet.ParquetFile(path).iter_batches(columns=names, batch_size=1 << 20)
        else:
            with csv.open_csv(path, **_csv_options(path, names, header=header)) as reader:
                yield from reader


def _csv_options(
    path: Path, names: list[str] | None = None, *, header: bool = True, use_threads: bool = False
) -> dict[str, Any]:
    """Read these columns, or all, as text: what the text means is decided here, not by Arrow."""
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(use_threads=use_threads, block_size=_BLOCK_BYTES)
    reading.autogenerate_column_names = not header
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    types = dict.fromkeys(names or (), pa.string())
    return {
        "read_options": reading,
        "parse_options": csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(include_columns=names, column_types=types),
    }


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what pyarrow and the system say about a broken file into our error."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())[:200]
        row = re.search(r"Row #(\d+): ", text)
        problem = f"cannot be read ({text}). Mend it, or write it again as UTF-8."
        problem = "the file is empty; it must have columns." if "Empty CSV" in text else problem
        raise DataFileError(path, problem, line=int(row[1]) if row else None) from None

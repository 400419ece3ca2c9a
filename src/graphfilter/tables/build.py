"""What a table of edges and a table of vertices say of a graph, in files or in memory.

:func:`understand_tables` decides what the columns are, the same way in memory and on disk;
:func:`read_parts` reads both tables by it. The edges are read block by block: ids become numbers
as they come, and where an end of an edge is not among the vertices, the usual causes are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import Split
from graphfilter.tables import cells as cell_values, roles as table_roles
from graphfilter.tables.attach import Beside, add_links, ways_of
from graphfilter.tables.dates import DateColumn, parse_times
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table
from graphfilter.tables.labels import UNLABELLED, encode_labels, read_labels, read_split
from graphfilter.tables.near import NEAR
from graphfilter.tables.numbers import check_numbers, check_signs, parse_numbers
from graphfilter.tables.rows import Rows
from graphfilter.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.util.arrow import pa, pc
from graphfilter.util.errors import DataFileError, GraphFilterError, check_name
from graphfilter.util.words import count, listed_names


@dataclass(frozen=True, eq=False)
class GraphParts:
    """What two tables say of a graph, in the form that one is built from.

    Attributes
    ----------
    content : dict
        What :meth:`~graphfilter.data.graph.Graph.from_edges` takes: edges as vertex numbers, their
        weights, kinds and times, features, ids in the order of the table, splits, ...
    labels, classes : arrays or None
        Encoded word by word, not vertex by vertex.
    notes : tuple of str
        What was found and guessed.
    encoder : TableEncoder
        The one given, or the one fitted to the vertices.
    others : tuple of str
        Ids of vertices that are known from elsewhere and not in the table: numbered after its own.
    """

    content: dict[str, Any]
    labels: NDArray[np.int64] | None
    classes: NDArray[Any] | None
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


@dataclass(frozen=True)
class Elsewhere:
    """Where vertices may be that edges name and the table of vertices does not list.

    Attributes
    ----------
    ids : sequence of str
        Those that are known from elsewhere.
    title : str
        What knows them; empty where there is nothing.
    remedy : str
        What else can be done about an end that nobody knows.
    """

    ids: Sequence[str] = ()
    title: str = ""
    remedy: str = "pass `allow_missing=True`"


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """Rows of a table of edges that were read together.

    Attributes
    ----------
    row : int
        The number of the first, from 0.
    ends : pair of Arrow arrays of text
        The ids of the sources and of the targets.
    weights : float32 array or None
    kinds, times : Arrow arrays or None
        The edge types are text; the times are as in the table.
    batch : Arrow batch
        All columns that were read.
    """

    row: int
    ends: tuple[Any, Any]
    weights: NDArray[np.float32] | None
    kinds: Any
    times: Any
    batch: Any = None


def read_edge_blocks(
    table: TableSource, roles: table_roles.EdgeRoles, others: Collection[str] = ()
) -> Iterator[EdgeBlock]:
    """Read the edges piece by piece, with other columns beside those of the roles."""
    row, decimal, unit = 0, table.decimal or roles.written[:1] or ".", roles.written[1:]
    for batch in table.read_batches(list(dict.fromkeys([*roles.names, *others])), roles.header):
        with reading_table(table):
            ends = (roles.source, roles.target)
            source, target = (table.as_ids(batch.column(name)) for name in ends)
        weights = kinds = None
        if roles.weight is not None:
            cells = cell_values.Cells(
                pa.chunked_array([batch.column(roles.weight)]), roles.weight, table
            )
            with reading_table(table):
                remedy = "Fix it, or name another column with `weight`."
                read = parse_numbers(cells, decimal, unit)
                check_signs(cells, read, decimal, row)
                weights = check_numbers(cells, read, remedy, least=0, first_row=row)
        if roles.kind is not None:
            kinds = cell_values.Cells(batch.column(roles.kind), roles.kind, table).text
        times = None if roles.time is None else batch.column(roles.time)
        if times is not None and not DateColumn.can_hold(times.type):
            times = cell_values.Cells(times, roles.time or "", table).text
        yield EdgeBlock(row, (source, target), weights, kinds, times, batch)
        row += len(batch)


class Meaning(NamedTuple):
    """What the columns of two tables are.

    Attributes
    ----------
    table : Arrow table, or what reads like one
        The columns of the vertices that are used.
    roles : dict of str
        The column of each role.
    edge_roles : EdgeRoles
    labels, classes, splits : arrays or None, tuple of Split
        As read from the columns of these roles.
    encoder : TableEncoder
        The one given, or the one fitted to the vertices; it remembers the roles.
    """

    table: Any
    roles: dict[str, str]
    edge_roles: table_roles.EdgeRoles
    labels: NDArray[np.int64] | None
    classes: NDArray[Any] | None
    splits: tuple[Split, ...]
    encoder: TableEncoder


def understand_tables(
    edges: TableSource,
    vertices: TableSource,
    columns: table_roles.Columns,
    encoder: TableEncoder | None,
    notes: list[str],
    read: Callable[[list[str]], Any],
    take_ids: Callable[[Any], Any],
    *,
    without: Collection[str] = (),
    rows: Sequence[TableSource] = (),
) -> Meaning:
    """Decide what the columns of two tables are, and say so in ``notes``.

    Parameters
    ----------
    read : callable
        From names to a table of these columns, or to one that is read where it is asked.
    take_ids : callable
        Is given the column of ids, to check and keep; returns the ids by which to find the ends of
        edges.
    without : names
        Arguments that are not offered for what edges have beside.
    rows : tables
        That belong to vertices too, whose columns may be named.
    """
    fitted = encoder is not None
    remembered = dict(encoder.roles) if encoder is not None else {}
    roles, features, table = table_roles.choose_vertex_roles(
        vertices, edges, columns, encoder, read, notes, rows
    )
    with reading_table(vertices):
        ids = vertices.as_ids(table.column(roles["id"]))
    ends = take_ids(ids)
    notes += note_near_ids(ids, vertices)
    del ids
    edge_roles, text = table_roles.choose_edge_roles(edges, vertices, ends, columns, remembered)
    notes += (
        text
        if remembered
        else [*text, *table_roles.say_unused(edges, edge_roles, columns.drop, without=without)]
    )
    labels = classes = None
    splits: tuple[Split, ...] = ()
    with reading_table(vertices):
        if "label" in roles:
            column = table.column(roles["label"])
            none = columns.unlabelled or UNLABELLED
            labels, classes, text = read_labels(
                column, roles["label"], none, check=not (fitted or columns.label_anyway),
                same=columns.same_label,
            )  # fmt: skip
            if vertices.is_typed and not cell_values.is_text(column.type):
                labels, classes = encode_labels(column.to_pylist(), unlabelled=none)
            notes += text
        if "split" in roles:
            splits = read_split(table.column(roles["split"]), vertices)
    if encoder is None:
        encoder = TableEncoder.fit(
            table.select(features), vertices, columns.categorical, columns.features,
            kinds={**dict.fromkeys(columns.near, "number"), **dict(columns.kinds)},
            decimal=vertices.decimal, hint=vertices.decimal_hint,
            vertex_kind=columns.vertex_kind or vertices.kind_column,
        )  # fmt: skip
        notes += encoder.notes
        labelled = "label" in roles or bool(columns.predicted)
        notes += table_roles.suggest(table, encoder, vertices, labelled=labelled)
    if edge_roles.header:
        roles |= {"source": edge_roles.source, "target": edge_roles.target}
        if edge_roles.weight:
            roles |= {"weight": edge_roles.weight, "written": edge_roles.written}
    if not remembered:
        encoder = replace(encoder, roles=tuple(roles.items()))
    return Meaning(table, roles, edge_roles, labels, classes, splits, encoder)


def read_parts(
    edges: TableSource | None,
    vertices: TableSource,
    columns: table_roles.Columns,
    *,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    elsewhere: Elsewhere | None = None,
    rows: Sequence[TableSource] = (),
) -> GraphParts:
    """Read what two tables say of a graph; edges may name vertices that are known elsewhere.

    Without edges, and where columns are to link them, vertices that share a value are joined.
    ``rows`` are tables that name a vertex in each row.
    """
    told = edges is not None
    nothing = pa.array([], pa.string())
    if edges is None:
        edges = frame_table(dict.fromkeys(("source", "target"), nothing), "edges")
        columns = replace(columns, **dict.fromkeys(table_roles.OF_EDGES))
    edges, vertices = (table.cleaning(columns.clean_ids) for table in (edges, vertices))
    elsewhere = elsewhere or Elsewhere()
    notes = [*vertices.notes, *edges.notes]
    ids, others = pa.array([], pa.string()), pa.array(elsewhere.ids, pa.string())

    def read(names: list[str]) -> pa.Table:
        table = vertices.read(names)
        check_rows(table.num_rows, vertices)
        return table

    def take_ids(column: Any) -> pa.Array:
        """Check that every vertex has an id of its own; return all that edges may name."""
        nonlocal ids, others
        check_named(column, vertices)
        if len(column.unique()) < len(column):
            words, codes = cell_values.distinct(column)
            first = np.unique(codes, return_index=True)[1].tolist()
            again = np.setdiff1d(np.arange(len(codes)), first)
            row, names = int(again[0]), dict.fromkeys(words[i] for i in codes[again])
            text = f"; {len(again):,} rows repeat an id: {listed_names(list(names), 5)}"
            text *= len(again) > 1
            raise repeated_id(vertices, row, first[codes[row]], words[codes[row]], text)
        ids = column.combine_chunks()
        others = others.filter(pa.array(cell_values.index_in(pa.chunked_array([others]), ids) < 0))
        return pa.concat_arrays([ids, others]) if len(others) else ids

    with telling(notes):
        meaning = understand_tables(
            edges, vertices, columns, encoder, notes, read, take_ids, rows=rows
        )
        table, roles, edge_roles = meaning.table, meaning.roles, meaning.edge_roles
        fitted = encoder is not None
        beside = Beside(columns, vertices, meaning.encoder, fitted, ids, roles["id"], notes)
        if not fitted:
            beside.choose_near(told=told)
        parts, said = beside.encoder.encode_columns(table, vertices)
        notes += said if fitted else ()
        of_edges = beside.of_edges(edges, edge_roles) if told else None
        attached = beside.attached(rows)
        links: dict[str, NDArray[np.int32]] = {}
        if columns.link or beside.encoder.links or not (told or fitted or columns.no_link):
            links = beside.find_links(table)
        ends = pa.concat_arrays([ids, others]) if len(others) else ids
        known = _read_edges(edges, edge_roles, beside, ends, elsewhere, of_edges, allow_missing)
        if of_edges is not None and not fitted:
            ways = ways_of(edge_roles, known["pairs"], columns.directed)
            of_edges.encoder = replace(of_edges.encoder, ways=ways)
        sums = beside.sum_up([one for one in (of_edges, *attached) if one is not None])
        if known["kinds"] is not None:
            words, codes = known["kinds"]
            n_more = len(links) + (beside.encoder.near is not None)
            words = beside.merge_kinds(words, codes, n_more)
            known["kinds"] = np.array(words, dtype=object)[codes]
        features = beside.encoder.assemble(parts, table.num_rows, sums)
        strengths: dict[str, NDArray[np.float32]] = {}
        if beside.encoder.near is not None and not elsewhere.ids:
            links[NEAR], strengths[NEAR] = beside.join_near(features)
        add_links(known, links, strengths, told=told, both_ways=columns.directed)
        if not told:
            # What is said of a table that nobody gave.
            notes[:] = [one for one in notes if not one.startswith(("edges:", "edges lists"))]
            if not links and beside.encoder.near is None:
                new = "new " if elsewhere.ids else ""
                notes.append(f"no table of edges: {new}vertices have no neighbours.")
        # The ids as the table has them: values of their own type, or text.
        typed = table.column(roles["id"])
        names = ids.to_pylist()
        if vertices.is_typed and not (vertices.cleans_ids and cell_values.is_text(typed.type)):
            with suppress(OverflowError):  # Not every date is one of Python's.
                names = typed.to_pylist()
        pairs, times = known.pop("pairs"), known.pop("times")
        content = {
            **known,
            "edges": pairs,
            "times": None if times is None else times.as_array(),
            "merge": table_roles.choose_merge(columns, edge_roles.weight),
            "n_vertices": len(ids),
            "directed": columns.directed,
            "vertex_names": names,
            "features": features if features.shape[1] else None,
            "feature_names": beside.encoder.feature_names or None,
            "splits": meaning.splits,
            "name": vertices.name.split(".")[0],
        }
        told_elsewhere = tuple(others.to_pylist())
        return GraphParts(
            content, meaning.labels, meaning.classes, tuple(notes), beside.encoder, told_elsewhere
        )


def _read_edges(
    table: TableSource,
    roles: table_roles.EdgeRoles,
    beside: Beside,
    ids: Any,
    elsewhere: Elsewhere,
    rows: Rows | None,
    allow_missing: bool,
) -> dict[str, Any]:
    """Read pairs of vertex numbers, and weights, kinds and times, block by block."""
    vertices = beside.vertices
    pairs, weights = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    kinds, times, n_rows = list[Any](), list[Any](), 0
    others = [] if rows is None else [column.name for column in rows.encoder.columns]
    unknown, problem, n_unknown = dict[str, None](), None, 0
    for block in read_edge_blocks(table, roles, others):
        numbers = cell_values.index_in(pa.chunked_array(block.ends), ids).reshape(2, -1)
        if rows is not None:
            rows.add(block.batch, numbers)
        known = (numbers >= 0).all(axis=0)
        if not allow_missing and not known.all():
            n_unknown += int((~known).sum())
            for end, found in zip(block.ends, numbers >= 0, strict=True):
                unknown |= dict.fromkeys(end.filter(pa.array(~found)).unique().to_pylist())
            try:
                id_column = beside.id_column
                check_ends(table, roles, block, numbers, vertices, ids, id_column, elsewhere)
            except DataFileError as error:
                problem = problem or error
        pairs.append(numbers.T[known])
        if block.weights is not None:
            weights.append(block.weights[known])
        for found, values in ((kinds, block.kinds), (times, block.times)):
            if values is not None:
                found.append(values.filter(pa.array(known)))
        n_rows += known.size
    if problem is not None:
        if n_unknown > 1:
            what = f"{n_unknown:,} edges name {count(len(unknown), 'such vertex', 'such vertices')}"
            problem.args = (f"{problem} {what}: {listed_names(list(unknown), 5)}.",)
        raise problem
    # Arrow keeps freed memory for itself, which would lie on top of what building the graph takes.
    pa.default_memory_pool().release_unused()
    beside.notes += note_rows(table, vertices, n_rows, sum(map(len, pairs)))
    timed = roles.time is not None and times
    return {
        "pairs": np.concatenate(pairs),
        "weights": np.concatenate(weights) if roles.weight is not None else None,
        "kinds": cell_values.distinct(pa.chunked_array(kinds, type=pa.string()))
        if roles.kind is not None
        else None,
        "times": parse_times(pa.chunked_array(times), table, roles.time or "") if timed else None,
    }


def check_rows(n_rows: int, source: TableSource) -> None:
    """Raise where a table of vertices has no row."""
    if n_rows == 0:
        raise DataFileError(source, "a table of vertices must have at least one row; got none.")


def check_named(ids: Any, source: TableSource) -> None:
    """Raise where a vertex has no id."""
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(source, row, "the vertex id is empty. Give every vertex an id of its own.")


def repeated_id(
    source: TableSource, row: int, first: int, word: str, others: str = ""
) -> DataFileError:
    """Return the error about an id that stands in two rows, and what is known of ``others``."""
    place, number = place_of_row(source, first)
    problem = f"vertex id {word!r} is also on {place} {number}{others}"
    remedy = "Keep one of each, name another column with `id`, or, where rows are the same in all "
    return at_row(source, row, f"{problem}. {remedy}columns, pass `drop_duplicates=True`.")


def note_rows(table: TableSource, vertices: TableSource, n_rows: int, n_known: int) -> list[str]:
    """Say how many edges were left out; raise where none is left."""
    notes = [] if n_rows else [f"{table.name} lists no edge."]
    if n_dropped := n_rows - n_known:
        notes.append(f"{count(n_dropped, 'edge')} to vertices not in {vertices.name} dropped.")
    if n_rows and n_dropped == n_rows:
        raise DataFileError(
            table,
            f"at least one edge must join two vertices of {vertices.name}; none does. Check `id`, "
            "`source` and `target`.",
        )
    return notes


def _plainest(name: str) -> str:
    """Return an id without what two tables may write differently."""
    name = normalize("NFC", re.sub(cell_values.WITHOUT_WIDTH, "", name)).strip()
    return (re.sub(r"\.0+$", "", name).lstrip("0") or "0").casefold()


def note_near_ids(ids: Any, table: TableSource) -> list[str]:
    """Say how many vertices have an id that looks like another's, and how they become one.

    All ids must differ. Memory is taken for those that cleaning changes, which are few.
    """
    changed, cleaned = [pa.array([], pa.string())], [pa.array([], pa.string())]
    for chunk in ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]:
        clean = cell_values.clean_ids(chunk)
        differs = pc.not_equal(clean, chunk)
        changed.append(chunk.filter(differs).cast(pa.string()))
        cleaned.append(clean.filter(differs).cast(pa.string()))
    before, after = pa.concat_arrays(changed), pa.concat_arrays(cleaned)
    # One that looks like an id that cleaning leaves as it is, or like another that it changes.
    plain = cell_values.only_in(ids, after) if len(after) else after
    n_alike = len(before) + len(plain) - len(after.unique())
    if not n_alike:
        return []
    seen = {name: name for name in plain.to_pylist()}
    alike = zip(before.to_pylist(), after.to_pylist(), strict=True)
    example = next(
        f"{seen[key]!a} and {name!a}" for name, key in alike if seen.setdefault(key, name) != name
    )
    number = count(n_alike, "id differs", "ids differ")
    return [
        f"{table.name}: {number} from another only by blanks around it, characters of no width or "
        f"its Unicode form ({example}): different vertices. `clean_ids=True` reads them as one."
    ]


def check_ends(
    table: TableSource,
    roles: table_roles.EdgeRoles,
    block: EdgeBlock,
    numbers: NDArray[Any],
    vertices: TableSource,
    ids: Any,
    id_column: str,
    elsewhere: Elsewhere | None = None,
) -> None:
    """Raise for the first edge of a block to a vertex that is not there, with the likely cause."""
    found = numbers >= 0
    if found.all():
        return
    elsewhere = elsewhere or Elsewhere()
    bad = int(found.all(axis=0).argmin())
    name = block.ends[int(found[0, bad])][bad].as_py()
    any_found = bool(block.row or found.any())
    problem = _explain_missing(name, ids, vertices, id_column, any_found, elsewhere.title)
    row = block.row + bad
    raise at_row(table, row, f"{problem}, or {elsewhere.remedy}.", header=roles.header)


def _explain_missing(
    name: str, ids: Any, vertices: TableSource, id_column: str, any_found: bool, elsewhere: str
) -> str:
    """Say that a vertex is missing and the likely cause; a remedy can follow after a comma."""
    if not name:
        return "an end of the edge is empty. Fill it in"
    if name in vertices.names:
        return (
            f"vertex {name!r} is not in {vertices.name}, but a column has that name: its first "
            "line may be a vertex. Write names of columns above it"
        )
    words = ids.to_pylist()
    if vertices.kind_column and (full := [word for word in words if word.endswith(f":{name}")]):
        return (
            f"vertex {name!r} is not in {vertices.name}, but {' and '.join(map(repr, full))} are: "
            "ids repeat between kinds. Write the kind before each end of the edges"
        )
    key = _plainest(name)
    if (alike := next((word for word in words if _plainest(word) == key), None)) is not None:
        return (
            f"vertex {name!a} is not in {vertices.name}, but {alike!a} is: blanks, invisible "
            "characters, upper case, zeros in front and decimals must be the same in both tables. "
            "Write ids in one way, or, for blanks and invisible characters, pass `clean_ids=True`"
        )
    if any_found:
        nor = f", nor in {elsewhere}" if elsewhere else ""
        return f"vertex {name!r} is not in {vertices.name}{nor}. Add it to {vertices.name}"
    column = "the unnamed column" if id_column == "" else f"column {id_column!r}"
    return (
        f"vertex {name!r} is not in {vertices.name}, nor is any other before it: {column} may not "
        "be the id. Name the column of the ids with `id`"
    )


def named_columns(names: Mapping[str, Any], of: str = "read_tables") -> dict[str, Any]:
    """Return fields of :class:`Columns`, given as one name, several, or kinds by name.

    >>> named_columns({"label": "team", "drop": "x", "kinds": {"age": "number"}, "id": None})
    {'label': 'team', 'drop': ('x',), 'kinds': (('age', 'number'),)}
    """
    for name in names:
        check_name(f"option of {of}", name, [field.name for field in fields(table_roles.Columns)])
    values = {name: value for name, value in names.items() if value is not None}
    for field in fields(table_roles.Columns):
        if isinstance(field.default, tuple) and field.name in values:
            value = values[field.name]
            value = value.items() if isinstance(value, Mapping) else value
            values[field.name] = (value,) if isinstance(value, str) else tuple(value)
    return values


def read_frames(
    vertices: Any, edges: Any, *, allow_missing: bool = False, **names: Any
) -> GraphParts:
    """Read what two frames say of a graph; ``names`` are fields of :class:`Columns`."""
    columns = table_roles.Columns(**named_columns(names, "from_frames"))
    tables = frame_table(edges, "edges"), frame_table(vertices, "vertices")
    return read_parts(*tables, columns, allow_missing=allow_missing)

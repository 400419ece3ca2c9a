"""What lies beside vertices and pairs: columns of edges, attached tables, values that join.

Rare types of edges are one; vertices that share a value, a device, a street, are joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, commonest, index_in, is_missing
from graphfilter.tables.dates import parse_moment
from graphfilter.tables.encoder import MOST_KINDS, OTHER_KIND, TableEncoder
from graphfilter.tables.near import TOLD, Near, find_coordinates, read_places
from graphfilter.tables.roles import NO_WAYS, Columns, EdgeRoles, find_key, is_index, key_of
from graphfilter.tables.rows import MOST_SHARES, SAMPLE_ROWS, Rows, RowsEncoder
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.util.arrow import pa
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count, listed_names


def rows_of_edges(
    edges: TableSource, columns: Columns, roles: EdgeRoles
) -> tuple[RowsEncoder | None, list[str]]:
    """Understand the columns of edges, where there are more than their ends and a weight."""
    names = _free_names(edges, columns, (roles.source, roles.target)) if roles.header else []
    if not set(names) - {roles.weight}:
        return None, []
    encoder = RowsEncoder(time=roles.time or "", counted=roles.kind or "")
    encoder, notes = _fit_rows(edges, names, columns, encoder)
    used = {column.name for column in encoder.columns} - {roles.weight}
    return (encoder, notes) if used else (None, [])


def ways_of(roles: EdgeRoles, pairs: NDArray[np.int32], directed: bool) -> tuple[str, ...]:
    """Return whether what is sent and received differs: not where no vertex does both."""
    has_ways = directed or (key_of(roles.source), key_of(roles.target)) not in NO_WAYS
    both = len(np.intersect1d(*pairs.T)) > 0 if has_ways else False
    return ("sent", "received") if both else ("",)


def read_attached(
    source: TableSource,
    title: str,
    encoder: RowsEncoder | None,
    columns: Columns,
    ids: Any,
    id_column: str,
) -> tuple[Rows, list[str]]:
    """Read a table that names a vertex in each row."""
    notes: list[str] = list(source.notes)
    if encoder is None:
        key = find_key(source, ids, id_column)
        names = _free_names(source, columns, (key,))
        encoder, text = _fit_rows(source, names, columns, RowsEncoder(title=title, key=key))
        times = [one.name for one in encoder.columns if "days" in getattr(one, "parts", ())]
        encoder = replace(encoder, time=times[0] if times else "")
        notes += [f"{source.name}: column {key!r} names the vertex of each row.", *text]
    rows, n_unknown = Rows(encoder, source), 0
    wanted = [encoder.key, *(column.name for column in encoder.columns)]
    for batch in source.read_batches(wanted, True):
        with reading_table(source):
            numbers = index_in(source.as_ids(batch.column(encoder.key)), ids)
        n_unknown += int((numbers < 0).sum())
        rows.add(batch, [numbers])
    n_rows = sum(map(len, rows.ends[0])) if rows.ends else 0
    if n_rows and n_unknown == n_rows:
        raise DataFileError(
            source, f"column {encoder.key!r} must name vertices; none of its values is an id. "
            "Leave the table out, or give it a column of ids.",
        )  # fmt: skip
    if n_unknown:
        notes.append(f"{source.name}: {count(n_unknown, 'row')} of vertices that are not there.")
    if columns.as_of is not None and not encoder.time:
        notes.append(f"{source.name}: no column is a date: rows after `as_of` count too.")
    return rows, notes


def open_rows(
    edges: TableSource | None,
    tables: Sequence[TableSource],
    columns: Columns,
    roles: EdgeRoles,
    encoder: TableEncoder | None,
    ids: Any,
    id_column: str,
) -> tuple[Rows | None, list[Rows], list[str]]:
    """Understand the columns of edges, and read attached tables; those of the fit as they were."""
    known = {} if encoder is None else {one.title: one for one in encoder.rows}
    own, notes = known.get(""), list[str]()
    if encoder is None and edges is not None:
        own, notes = rows_of_edges(edges, columns, roles)
    attached: list[Rows] = []
    titles = [source.name.split(".")[0] for source in tables]
    for source, title in zip(tables, titles, strict=True):
        if titles.count(title) > 1:
            raise DataFileError(source, f"two attached tables are called {title!r}. Rename one.")
        if encoder is not None and title not in known:
            notes.append(f"{source.name} is left out: the model was fitted without it.")
            continue
        rows, text = read_attached(source, title, known.get(title), columns, ids, id_column)
        attached.append(rows)
        notes += text
    given = {rows.encoder.title for rows in attached}
    notes += [
        f"no rows of {title!r} are given, which the model was fitted with: as if there were none."
        for title in known
        if title and title not in given
    ]
    return None if own is None or edges is None else Rows(own, edges), attached, notes


def sum_up(
    read: Sequence[Rows], encoder: TableEncoder, n: int, columns: Columns, *, fitted: bool
) -> tuple[TableEncoder, list[NDArray[np.float32] | None], list[str]]:
    """Return the features of all rows, and their encoders, which learn medians unless fitted."""
    notes: list[str] = []
    sums: dict[str, NDArray[np.float32]] = {}
    made: list[RowsEncoder] = []
    for rows in read:
        own, moment = rows.encoder, None
        notes += rows.join(n)
        if columns.as_of is not None and own.time:
            kind = next(column.kind for column in own.columns if column.name == own.time)
            moment = parse_moment(columns.as_of, are_dates=kind == "date")
        sums[own.title] = own.sum_up(rows, n, moment)
        made.append(own.filled_by(sums[own.title]))
    if not fitted:
        encoder = replace(encoder, rows=tuple(made))
    return encoder, [sums.get(one.title) for one in encoder.rows], notes


def merge_kinds(
    words: list[str], codes: NDArray[np.int32], encoder: TableEncoder, *, fitted: bool, n_more: int
) -> tuple[list[str], tuple[str, ...], list[str]]:
    """Return the type that each word stands for: of very many, the rare ones are one.

    ``n_more`` types are added by links.
    """
    kept, most = encoder.edge_kinds, MOST_KINDS - n_more
    if not fitted and len(words) > most:
        kept = commonest(words, codes, most - 1)
    if not kept:
        return words, (), []
    rare = [word for word in words if word not in kept]
    note = (
        f"{count(len(rare), 'rare type')} of edges read as {OTHER_KIND!r} ({listed_names(rare)})."
    )
    return [word if word in kept else OTHER_KIND for word in words], kept, [note] if rare else []


def _free_names(source: TableSource, columns: Columns, taken: Sequence[str]) -> list[str]:
    left_out = {*taken, *columns.drop, *(name for name, kind in columns.kinds if kind == "drop")}
    names = [name for name in source.usable_names if name not in left_out and not is_index(name)]
    return [name for name in names if not columns.features or name in columns.features]


def _fit_rows(
    source: TableSource, names: list[str], columns: Columns, encoder: RowsEncoder
) -> tuple[RowsEncoder, list[str]]:
    """Understand columns by the first rows; text, lists and what is left out have no features."""
    batches, n_rows = list[Any](), 0
    for batch in source.read_batches(names, True) if names else ():
        batches.append(batch)
        n_rows += len(batch)
        if n_rows >= SAMPLE_ROWS:
            break
    sample = pa.Table.from_batches(batches).slice(0, SAMPLE_ROWS) if batches else pa.table({})
    told, found, notes = dict(columns.kinds), [], list[str]()
    for name in sample.column_names:
        try:
            fitted = TableEncoder.fit(
                sample.select([name]), source, kinds={name: told[name]} if name in told else None,
                decimal=source.decimal, hint=source.decimal_hint, most=MOST_SHARES,
            )  # fmt: skip
        except DataFileError as error:
            notes.append(f"{error} Column {name!r} is left out.")
            continue
        found += [one for one in fitted.columns if one.kind not in ("text", "list")][:1]
    names = [column.name for column in found]
    times = {encoder.time, encoder.counted}.difference(names)
    encoder = replace(encoder, columns=tuple(found), **{
        role: "" for role in ("time", "counted") if getattr(encoder, role) in times
    })  # fmt: skip
    made = encoder.feature_names
    if names:
        notes.append(
            f"{source.name}: {listed_names(names)} became features of the vertices, such as "
            f"{made[1]!r} (to leave a column out: `drop={(names[0],)}`)."
        )
    return encoder, notes


# So many vertices that share a value are all joined; each of more with eight others.
_ALL_JOINED = 9
_STEPS = 4
# A value that a larger share of the vertices has says little of them, nor does a column whose
# values join fewer than these.
_MOST_SHARE = 0.03
_LEAST_SHARE = 0.05


def join_shared(cells: Cells, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return pairs of vertices (m, 2) that share a value of a column, each pair once.

    Vertices of a value that few share are joined all with all; of one that more share, along
    circles of four step sizes, in the ``order`` of the vertices, so that the number of edges grows
    with the vertices and each is a few steps from all. A value that more than three in a hundred
    vertices have joins none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> join_shared(Cells(pa.array(["a", "b", "a", "a", ""])), np.arange(5)).tolist()
    [[0, 2], [2, 3], [0, 3]]
    """
    n_cells = np.bincount(cells.codes, minlength=len(cells.words))
    is_value = np.array([not is_missing(word) for word in cells.words], dtype=bool)
    most = max(_ALL_JOINED, _MOST_SHARE * len(cells))
    rows = order[((n_cells > 1) & (n_cells <= most) & is_value)[cells.codes[order]]]
    rows = rows[np.argsort(cells.codes[rows], kind="stable")]
    codes = cells.codes[rows]
    size = n_cells[codes]
    start = np.searchsorted(codes, codes)
    place = np.arange(len(rows)) - start
    pairs = [np.empty((0, 2), np.int64)]
    for step in range(1, _ALL_JOINED):
        own = np.flatnonzero((size <= _ALL_JOINED) & (place + step < size))
        pairs.append(np.stack([rows[own], rows[own + step]], axis=1))
    large = np.flatnonzero(size > _ALL_JOINED)
    half = (size[large] - 1) // 2
    for k in range(_STEPS):
        steps = np.maximum(k + 1, np.round(half ** (k / (_STEPS - 1)))).astype(np.int64)
        others = start[large] + (place[large] + steps) % size[large]
        pairs.append(np.stack([rows[large], rows[others]], axis=1))
    return np.concatenate(pairs).astype(np.int32)


def find_links(
    table: Any, names: Sequence[str], encoder: TableEncoder, ids: Any
) -> dict[str, NDArray[np.int32]]:
    """Return the pairs that columns join; without names, of categories that few vertices share."""
    order = np.argsort(np.asarray(ids.to_numpy(zero_copy_only=False), dtype=str), kind="stable")
    if names:
        return {name: join_shared(Cells(table.column(name)), order) for name in names}
    found: dict[str, NDArray[np.int32]] = {}
    for name in dict.fromkeys(one.name for one in encoder.columns if one.kind == "category"):
        pairs = join_shared(Cells(table.column(name)), order)
        if len(np.unique(pairs)) >= _LEAST_SHARE * len(ids):
            found[name] = pairs
    return found


def say_links(links: dict[str, NDArray[np.int32]]) -> list[str]:
    """Say which columns join how many vertices."""
    return [
        f"vertices that share a value of {name!r} are joined: {count(len(pairs), 'edge')} (to "
        "change this: `link`, `no_link`)."
        if len(pairs)
        else f"column {name!r} joins no vertices: no value is shared by two of them, or few enough."
        for name, pairs in links.items()
    ]


def choose_near(
    columns: Columns, encoder: TableEncoder, source: TableSource, *, told: bool
) -> tuple[TableEncoder, list[str]]:
    """Choose the coordinates that join vertices: those named, or found where no edges are told."""
    numbers = [column.name for column in encoder.columns if column.kind == "number"]
    found = [[numbers[i] for i in pair] for pair in find_coordinates(numbers)]
    if columns.near:
        if (name := next((n for n in columns.near if n not in numbers), None)) is not None:
            problem = f"`near` must name columns of numbers that are features; {name!r} is none"
            raise DataFileError(source, f"{problem}. Keep it as one, or name others.")
        names = next((pair for pair in found if {*pair} == {*columns.near}), list(columns.near))
    elif not found or columns.no_link:
        return encoder, []
    elif told:
        may = f"`near={tuple(found[0])}` also joins vertices with the nearest"
        return encoder, [f"{source.name}: {listed_names(found[0])} are coordinates; {may}."]
    else:
        names = found[0]
    # A row without a place is told from one in the middle.
    marked = [
        replace(one, marks_missing=True, of_kinds=()) if one.name in names else one
        for one in encoder.columns
    ]
    return replace(encoder, columns=tuple(marked), near=Near(tuple(names))), []


def join_near(
    features: Any, encoder: TableEncoder, source: TableSource, *, fitted: bool, asked: bool
) -> tuple[Near, NDArray[np.int32], NDArray[np.float32], str]:
    """Return the pairs of vertices that are near each other, and weights, by the encoder's rule.

    Unless that is ``fitted``, it learns what coordinates are and how far the nearest. Impossible
    degrees are an error where the columns were ``asked`` for, else missing.
    """
    assert encoder.near is not None
    near, names = encoder.near, encoder.near.columns
    places = read_places(features, encoder.feature_names, names)
    near = near if fitted else near.measured(places)
    outside = near.outside(places)
    if asked and outside.any():
        row, column = np.argwhere(outside)[0].tolist()
        problem = f"{names[column]!r} must hold degrees; got {places[row, column]:g}"
        raise at_row(source, row, f"column {problem}. Fix it, or leave the cell empty.")
    pairs, distance = near.join(places)
    if not fitted and distance.any():
        near = replace(near, reach=float(np.median(distance[distance > 0])))
    note = near.say(len(pairs), int((outside | np.isnan(places)).any(axis=1).sum()))
    return near, pairs, near.weigh(distance), note


def add_links(
    edges: dict[str, Any],
    links: dict[str, NDArray[np.int32]],
    *,
    told: bool,
    both_ways: bool,
    strengths: Mapping[str, NDArray[np.float32]] | None = None,
) -> None:
    """Put what columns join after the edges of a table, each column as a type of edges.

    Their edges have a weight of 1, but those of ``strengths``.
    """
    for name, pairs in links.items():
        weights = (strengths or {}).get(name, np.ones(len(pairs), np.float32))
        if both_ways:
            pairs, weights = np.concatenate([pairs, pairs[:, ::-1]]), np.tile(weights, 2)
        n, known = len(pairs), len(edges["pairs"])
        if edges["kinds"] is None:
            edges["kinds"] = np.full(known, TOLD, dtype=object)
        edges["pairs"] = np.concatenate([edges["pairs"], pairs])
        edges["kinds"] = np.concatenate([edges["kinds"], np.full(n, name, dtype=object)])
        if edges["weights"] is None and name in (strengths or {}):
            edges["weights"] = np.ones(known, np.float32)
        if edges["weights"] is not None:
            edges["weights"] = np.concatenate([edges["weights"], weights])
        if (times := edges["times"]) is not None:
            # Links were always there.
            first = np.nanmin(times.values) if known else 0.0
            edges["times"] = times._replace(values=np.append(times.values, np.full(n, first)))
    if not told and len(links) == 1:
        edges["kinds"] = None

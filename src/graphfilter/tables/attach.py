"""What lies beside vertices and pairs: columns of edges, attached tables, values that join.

Rare types of edges are one; vertices that share a value, a device, a street, are joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

Sums = NDArray[np.float32]


@dataclass
class Beside:
    """Reads what lies beside the columns of the vertices, in steps that add to encoder and notes.

    Attributes
    ----------
    columns : Columns
    vertices : TableSource
    encoder : TableEncoder
        The one that is given, or that was fitted to the vertices: rows, links and kinds of edges
        are added to that.
    fitted : bool
        Whether it is given: everything is then read as it was.
    ids : Arrow array of text
        Of the vertices.
    id_column : str
    notes : list of str
        What was found and guessed.
    """

    columns: Columns
    vertices: TableSource
    encoder: TableEncoder
    fitted: bool
    ids: Any
    id_column: str
    notes: list[str]

    def of_edges(self, edges: TableSource, roles: EdgeRoles) -> Rows | None:
        """Understand the columns of edges, where there are more than their ends and a weight."""
        if self.fitted:
            known = [one for one in self.encoder.rows if not one.title]
            return Rows(known[0], edges) if known else None
        names = self._free_names(edges, (roles.source, roles.target)) if roles.header else []
        if not set(names) - {roles.weight}:
            return None
        encoder = RowsEncoder(time=roles.time or "", counted=roles.kind or "")
        encoder, notes = self._fit_rows(edges, names, encoder)
        if not {column.name for column in encoder.columns} - {roles.weight}:
            return None
        self.notes += notes
        return Rows(encoder, edges)

    def attached(self, tables: Sequence[TableSource]) -> list[Rows]:
        """Read the tables that name a vertex in each row; those of the fit as they were."""
        known = {one.title: one for one in self.encoder.rows if one.title} if self.fitted else {}
        titles = [source.name.split(".")[0] for source in tables]
        found: dict[str, Rows] = {}
        for source, title in zip(tables, titles, strict=True):
            if titles.count(title) > 1:
                problem = f"two attached tables are called {title!r}. Rename one."
                raise DataFileError(source, problem)
            if self.fitted and title not in known:
                text = "is left out: the model was fitted without it."
                self.notes.append(f"{source.name} {text}")
                continue
            found[title] = self._read_attached(source, title, known.get(title))
        self.notes += [
            f"no rows of {title!r} are given, which the model was fitted with: as if there were "
            "none."
            for title in known
            if title not in found
        ]
        return list(found.values())

    def _read_attached(self, source: TableSource, title: str, encoder: RowsEncoder | None) -> Rows:
        self.notes += source.notes
        if encoder is None:
            key = find_key(source, self.ids, self.id_column)
            names = self._free_names(source, (key,))
            encoder, notes = self._fit_rows(source, names, RowsEncoder(title=title, key=key))
            times = [one.name for one in encoder.columns if "days" in getattr(one, "parts", ())]
            encoder = replace(encoder, time=times[0] if times else "")
            self.notes += [f"{source.name}: column {key!r} names the vertex of each row.", *notes]
        rows, n_rows, n_unknown = Rows(encoder, source), 0, 0
        wanted = [encoder.key, *(column.name for column in encoder.columns)]
        for batch in source.read_batches(wanted, True):
            with reading_table(source):
                numbers = index_in(source.as_ids(batch.column(encoder.key)), self.ids)
            n_rows, n_unknown = n_rows + len(numbers), n_unknown + int((numbers < 0).sum())
            rows.add(batch, [numbers])
        if n_rows and n_unknown == n_rows:
            raise DataFileError(
                source, f"column {encoder.key!r} must name vertices; none of its values is an id. "
                "Leave the table out, or give it a column of ids.",
            )  # fmt: skip
        if n_unknown:
            unknown = count(n_unknown, "row")
            self.notes.append(f"{source.name}: {unknown} of vertices that are not there.")
        if self.columns.as_of is not None and not encoder.time:
            text = "no column is a date: rows after `as_of` count too."
            self.notes.append(f"{source.name}: {text}")
        return rows

    def _free_names(self, source: TableSource, taken: Sequence[str]) -> list[str]:
        columns = self.columns
        dropped = (name for name, kind in columns.kinds if kind == "drop")
        left_out = {*taken, *columns.drop, *dropped}
        names = [n for n in source.usable_names if n not in left_out and not is_index(n)]
        return [name for name in names if not columns.features or name in columns.features]

    def _fit_rows(
        self, source: TableSource, names: list[str], encoder: RowsEncoder
    ) -> tuple[RowsEncoder, list[str]]:
        """Understand columns by the first rows; text and lists have no features."""
        batches, n_rows = list[Any](), 0
        for batch in source.read_batches(names, True) if names else ():
            batches.append(batch)
            n_rows += len(batch)
            if n_rows >= SAMPLE_ROWS:
                break
        sample = pa.Table.from_batches(batches).slice(0, SAMPLE_ROWS) if batches else pa.table({})
        told, found, notes = dict(self.columns.kinds), [], list[str]()
        for name in sample.column_names:
            try:
                fitted = TableEncoder.fit(
                    sample.select([name]), source, decimal=source.decimal, hint=source.decimal_hint,
                    kinds={name: told[name]} if name in told else None, most=MOST_SHARES,
                )  # fmt: skip
            except DataFileError as error:
                notes.append(f"{error} Column {name!r} is left out.")
                continue
            found += [one for one in fitted.columns if one.kind not in ("text", "list")][:1]
        names = [column.name for column in found]
        time, counted = (one if one in names else "" for one in (encoder.time, encoder.counted))
        encoder = replace(encoder, columns=tuple(found), time=time, counted=counted)
        if names:
            notes.append(
                f"{source.name}: {listed_names(names)} became features of the vertices, such as "
                f"{encoder.feature_names[1]!r} (to leave a column out: `drop={(names[0],)}`)."
            )
        return encoder, notes

    def sum_up(self, read: Sequence[Rows]) -> list[Sums | None]:
        """Return the features of all rows; their encoders learn medians unless fitted."""
        sums: dict[str, Sums] = {}
        made: list[RowsEncoder] = []
        for rows in read:
            own, moment = rows.encoder, None
            self.notes += rows.join(len(self.ids))
            if self.columns.as_of is not None and own.time:
                kind = next(column.kind for column in own.columns if column.name == own.time)
                moment = parse_moment(self.columns.as_of, are_dates=kind == "date")
            sums[own.title] = own.sum_up(rows, len(self.ids), moment)
            made.append(own.filled_by(sums[own.title]))
        if not self.fitted:
            self.encoder = replace(self.encoder, rows=tuple(made))
        return [sums.get(one.title) for one in self.encoder.rows]

    def merge_kinds(self, words: list[str], codes: NDArray[np.int32], n_more: int) -> list[str]:
        """Return the type that each word stands for: of very many, the rare ones are one.

        ``n_more`` types are added by links.
        """
        kept, most = self.encoder.edge_kinds, MOST_KINDS - n_more
        if not self.fitted and len(words) > most:
            kept = commonest(words, codes, most - 1)
        self.encoder = replace(self.encoder, edge_kinds=kept)
        rare = [word for word in words if word not in kept] if kept else []
        if rare:
            many = count(len(rare), "rare type")
            note = f"{many} of edges read as {OTHER_KIND!r} ({listed_names(rare)})."
            self.notes.append(note)
        return [OTHER_KIND if word in rare else word for word in words]

    def find_links(self, table: Any) -> dict[str, NDArray[np.int32]]:
        """Return the pairs that columns join, and say how many vertices.

        Unless they are named, the columns are categories that few vertices share.
        """
        order = np.argsort(np.asarray(self.ids.to_numpy(False), dtype=str), kind="stable")
        found: dict[str, NDArray[np.int32]] = {}
        named = self.columns.link or self.encoder.links
        categories = [one.name for one in self.encoder.columns if one.kind == "category"]
        for name in dict.fromkeys(named or categories):
            pairs = join_shared(Cells(table.column(name)), order)
            if not named and len(np.unique(pairs)) < _LEAST_SHARE * len(self.ids):
                continue
            found[name] = pairs
            edges, change = count(len(pairs), "edge"), "(to change this: `link`, `no_link`)"
            self.notes.append(
                f"vertices that share a value of {name!r} are joined: {edges} {change}."
                if len(pairs)
                else f"column {name!r} joins no vertices: no value is shared by two of them, or "
                "few enough."
            )
        if found:
            self.encoder = replace(self.encoder, links=tuple(found))
        return found

    def choose_near(self, *, told: bool) -> None:
        """Choose the coordinates that join vertices: those named, or found without edges."""
        columns = self.encoder.columns
        numbers = [column.name for column in columns if column.kind == "number"]
        found = [[numbers[i] for i in pair] for pair in find_coordinates(numbers)]
        if near := self.columns.near:
            if half := [pair for pair in found if {*near} < {*pair}]:
                what = f"`near` must name both coordinates of a place; got {near[0]!r} alone"
                raise DataFileError(self.vertices, f"{what}. Name {listed_names(half[0])}.")
            if (name := next((n for n in near if n not in numbers), None)) is not None:
                what = f"`near` must name columns of numbers that are features; {name!r} is none"
                raise DataFileError(self.vertices, f"{what}. Keep it as one, or name others.")
            names = next((pair for pair in found if {*pair} == {*near}), list(near))
        elif not found or self.columns.no_link:
            return
        elif told:
            may = f"`near={tuple(found[0])}` also joins vertices with the nearest"
            are = f"{self.vertices.name}: {listed_names(found[0])} are coordinates"
            self.notes.append(f"{are}; {may}.")
            return
        else:
            names = found[0]
        # A row without a place is told from one in the middle.
        marked = [
            replace(one, marks_missing=True, of_kinds=()) if one.name in names else one
            for one in columns
        ]
        self.encoder = replace(self.encoder, columns=tuple(marked), near=Near(tuple(names)))

    def join_near(self, features: Any) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the pairs of vertices that are near each other, and weights, by the rule.

        Unless that is fitted, it learns what coordinates are and how far the nearest. Impossible
        degrees are an error where the columns were named, else missing.
        """
        assert self.encoder.near is not None
        near, names = self.encoder.near, self.encoder.near.columns
        places = read_places(features, self.encoder.feature_names, names)
        near = near if self.fitted else near.measured(places)
        outside = near.outside(places)
        if self.columns.near and outside.any():
            row, column = np.argwhere(outside)[0].tolist()
            problem = f"{names[column]!r} must hold degrees; got {places[row, column]:g}"
            problem = f"column {problem}. Fix it, or leave the cell empty."
            raise at_row(self.vertices, row, problem)
        pairs, distance = near.join(places)
        if not self.fitted and distance.any():
            near = replace(near, reach=float(np.median(distance[distance > 0])))
        n_without = int((outside | np.isnan(places)).any(axis=1).sum())
        self.notes.append(near.say(len(pairs), n_without))
        self.encoder = replace(self.encoder, near=near)
        return pairs, near.weigh(distance)


def ways_of(roles: EdgeRoles, pairs: NDArray[np.int32], directed: bool) -> tuple[str, ...]:
    """Return whether what is sent and received differs: not where no vertex does both."""
    has_ways = directed or (key_of(roles.source), key_of(roles.target)) not in NO_WAYS
    return ("sent", "received") if has_ways and len(np.intersect1d(*pairs.T)) else ("",)


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


def add_links(
    edges: dict[str, Any],
    links: dict[str, NDArray[np.int32]],
    strengths: Mapping[str, NDArray[np.float32]],
    *,
    told: bool,
    both_ways: bool,
) -> None:
    """Put what columns join after the edges of a table, each column as a type of edges.

    Their edges have a weight of 1, but those of ``strengths``.
    """
    for name, pairs in links.items():
        weights = strengths.get(name, np.ones(len(pairs), np.float32))
        if both_ways:
            pairs, weights = np.concatenate([pairs, pairs[:, ::-1]]), np.tile(weights, 2)
        n, known = len(pairs), len(edges["pairs"])
        if edges["kinds"] is None:
            edges["kinds"] = np.full(known, TOLD, dtype=object)
        if edges["weights"] is None and name in strengths:
            edges["weights"] = np.ones(known, np.float32)
        more = {"pairs": pairs, "kinds": np.full(n, name, dtype=object), "weights": weights}
        for what, values in more.items():
            if edges[what] is not None:
                edges[what] = np.concatenate([edges[what], values])
        if (times := edges["times"]) is not None:
            # Links were always there.
            first = np.nanmin(times.values) if known else 0.0
            edges["times"] = times._replace(values=np.append(times.values, np.full(n, first)))
    if not told and len(links) == 1:
        edges["kinds"] = None

"""Tables as they are given, opened and ready to be understood.

Several tables, one per kind of vertex, are stacked into one with a column that names the kind. Rows
that repeat another are left out, and infinite numbers are missing values, where that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.tables.cells import as_text, distinct, is_usable
from graphfilter.tables.formats import open_table
from graphfilter.tables.roles import ID_NAMES, Columns, find_name
from graphfilter.tables.source import HeldTable, TableSource, place_of_row, reading_table
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.arrow import pa, pc
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count

_MOST_SHOWN = 5


def open_pair(
    edges: Any,
    vertices: Any,
    columns: Columns,
    text: TextOptions | None = None,
    *,
    allow_missing: bool = False,
) -> tuple[TableSource | None, TableSource]:
    """Open a table of edges, if there is one, and one of vertices, each a file or a frame."""
    check_not_same(edges, vertices, columns)
    opened = None if edges is None else open_table(edges, text, "edges")
    return opened, open_vertices(vertices, columns, text, allow_missing=allow_missing)


def open_rows(rows: Any, text: TextOptions | None = None) -> list[TableSource]:
    """Open attached tables: files, or frames by their titles."""
    if isinstance(rows, str | PathLike) or hasattr(rows, "columns"):
        rows = [rows]
    titled = rows.items() if isinstance(rows, Mapping) else [("rows", table) for table in rows]
    return [open_table(table, text, title) for title, table in titled]


def check_not_same(edges: Any, vertices: Any, columns: Columns) -> None:
    """Raise where one file is given for both tables, and not told what is an edge in it."""
    if not all(isinstance(table, str | PathLike) for table in (edges, vertices)):
        return
    if (
        not (columns.source and columns.target)
        and Path(edges).resolve() == Path(vertices).resolve()
    ):
        # Guessed by position, the ends of an edge could be a vertex and its label.
        raise DataFileError(
            edges,
            "must be a table of edges; it is the table of vertices. Give another file, or another "
            "sheet (book.xlsx#sheet), or name its columns with `source` and `target`.",
        )


def open_vertices(
    vertices: Any, columns: Columns, text: TextOptions | None = None, *, allow_missing: bool = False
) -> TableSource:
    """Open a table of vertices, or one per kind: files, or frames by the names of their kinds."""
    if isinstance(vertices, Mapping) and all(hasattr(t, "columns") for t in vertices.values()):
        tables = [open_table(table, text, str(kind)) for kind, table in vertices.items()]
    elif isinstance(vertices, list | tuple):
        tables = [open_table(table, text, "vertices") for table in vertices]
    else:
        tables = [open_table(vertices, text, "vertices")]
    table = tables[0] if len(tables) == 1 else stack_kinds(tables, columns.id)
    if not columns.drop_duplicates and not allow_missing:
        return table
    with reading_table(table):
        return _tidied(table, drop=columns.drop_duplicates, infinite=allow_missing)


def stack_kinds(tables: Sequence[TableSource], id_column: str | None = None) -> HeldTable:
    """Return several tables of vertices as one: the kind of each row is the name of its table."""
    kinds = [table.name.partition(".")[0] for table in tables]
    if len(set(kinds)) < len(kinds):
        raise DataFileError(tables[0], f"each kind must have one table; got {', '.join(kinds)}.")
    parts, ids, notes = list[Any](), list[set[str]](), list[str]()
    every = [name for table in tables for name in table.usable_names]
    kind_column = "kind of vertex" if "kind" in every else "kind"
    for table, kind in zip(tables, kinds, strict=True):
        names = table.usable_names
        usual = (*([id_column] if id_column else ()), *ID_NAMES, f"{kind}_id", f"{kind[:-1]}_id")
        name = find_name(names, usual) or names[0]
        with reading_table(table):
            rows = table.read(names)
            column = table.as_ids(rows[name])
        ids.append(set(column.unique().to_pylist()))
        rows = rows.drop_columns([name]).add_column(0, id_column or "id", column)
        parts.append(rows.append_column(kind_column, pa.array([kind] * len(rows), pa.string())))
        notes.append(f"{table.name}: {kind!r} is the kind of {len(rows):,} vertices by {name!r}.")
    twice = set[str]().union(*(a & b for i, a in enumerate(ids) for b in ids[:i]))
    if twice:
        example = min(twice)
        notes.append(
            f"{count(len(twice), 'id')} such as {example!r} stand in several tables: vertices are "
            f"called {kinds[0]}:{example} here, and the edges must call them so."
        )
        parts = [
            part.set_column(0, id_column or "id", pa.array([f"{kind}:{one}" for one in names]))
            for part, kind in zip(parts, kinds, strict=True)
            for names in [part.column(0).to_pylist()]
        ]
    # What one table has as words is words in all.
    common: dict[str, Any] = {}
    for field in (field for part in parts for field in part.schema):
        same = common.setdefault(field.name, field.type) == field.type
        common[field.name] = field.type if same else pa.string()
    parts = [
        part.cast(pa.schema([(name, common[name]) for name in part.column_names])) for part in parts
    ]
    made = HeldTable(" and ".join(table.label for table in tables), pa.concat_tables(
        parts, promote_options="default"
    ))  # fmt: skip
    made.kind_column, made.notes = kind_column, (*tables[0].notes, *notes)
    made.decimal, made.decimal_hint = tables[0].decimal, tables[0].decimal_hint
    return made


def _tidied(table: TableSource, *, drop: bool, infinite: bool) -> TableSource:
    """Return a table without rows that repeat another, or with infinite numbers missing."""
    rows, notes = table.read(table.usable_names), list[str]()
    kept = np.arange(len(rows))

    def where(numbers: Any) -> str:
        word, _ = place_of_row(table, 0)
        shown = [f"{place_of_row(table, int(row))[1]:,}" for row in numbers[:_MOST_SHOWN]]
        return f"{word}s {', '.join(shown)}{', ...' if len(numbers) > _MOST_SHOWN else ''}"

    for i, name in enumerate(rows.column_names):
        column = rows.column(i)
        if not (infinite and is_usable(column.type)):
            continue
        words, codes = distinct(as_text(column, trim=True))
        if (bad := np.array([_is_infinite(word) for word in words], bool)).any():
            mask = bad[codes]
            rows = rows.set_column(i, name, pc.if_else(pa.array(mask), None, column))
            cells = count(int(mask.sum()), "infinite number")
            notes.append(
                f"{table.name}: {cells} of {name!r} missing ({where(np.flatnonzero(mask))})."
            )
    if drop:
        key = np.zeros(len(rows), dtype=np.int64)
        for column in rows.columns:
            usable = is_usable(column.type)
            text = as_text(column) if usable else pa.array(map(str, column.to_pylist()))
            words, codes = distinct(text)
            _, key = np.unique(key * (len(words) + 1) + codes, return_inverse=True)
        _, first = np.unique(key, return_index=True)
        dropped, kept = np.setdiff1d(kept, first), np.sort(first)
        if len(dropped):
            what = count(len(dropped), "row that repeats", "rows that repeat")
            notes.append(f"{table.name}: {what} another left out ({where(dropped)}).")
    if not notes:
        return table
    made = HeldTable(table.label, rows.take(pa.array(kept)))
    for name in ("decimal", "decimal_hint", "is_typed", "row_word", "first_row", "kind_column"):
        setattr(made, name, getattr(table, name))
    made.notes, made.kept = (*table.notes, *notes), kept
    return made


def _is_infinite(word: str) -> bool:
    try:
        return isinf(float(word))
    except ValueError:
        return False

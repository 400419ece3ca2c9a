"""Guessing the roles of two tables together: ids are what the edges join."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import index_in, is_text, only_in, value_type
from graphfilter.tables.columns import (
    END_NAMES,
    ID_NAMES,
    LABEL_NAMES,
    SPLIT_NAMES,
    WEIGHT_NAMES,
    Columns,
    Guess,
    check_names,
    find_name,
    guess_by_name,
    is_index,
    key_of,
    say_guesses,
)
from graphfilter.tables.edges import EdgeRoles
from graphfilter.tables.hashes import all_differ
from graphfilter.tables.source import TableSource, reading_table

# A column holds ends of edges, or ids, where so many of the edges' cells are among them.
_MATCH = 0.5


def guess_vertex_roles(
    table: TableSource,
    columns: Columns,
    remembered: Mapping[str, str],
    not_free: Collection[str],
) -> tuple[dict[str, str], list[Guess]]:
    """Find the id, the label and the split by name; return the roles told, and those guessed."""
    told = {"id": columns.id, "label": columns.label, "split": columns.split}
    chosen = check_names(table, table.names, {**told, "kind": columns.vertex_kind})
    chosen.pop("kind", None)
    usual = {"id": ID_NAMES, "label": LABEL_NAMES, "split": SPLIT_NAMES}
    usual = {role: usual[role] for role in usual if role not in chosen}
    return chosen, guess_by_name(
        table.names, usual, remembered, {*not_free, *chosen.values()}
    )  # fmt: skip


def choose_edge_roles(
    table: TableSource,
    vertices: TableSource,
    ids: Any,
    columns: Columns,
    remembered: Mapping[str, str],
) -> tuple[EdgeRoles, list[str]]:
    """Find the two ends and the weight; the first line may turn out to be no header."""
    import pyarrow as pa

    names = table.names
    if len(names) < 2:
        problem = f"a table of edges must have two columns or more; got {len(names)}."
        raise DataFileError(table, f"{problem} Set what separates them with `delimiter`.")
    told = {"source": columns.source, "target": columns.target, "weight": columns.weight}
    told |= {"kind": columns.edge_kind, "time": columns.edge_time}
    pair = _usual_ends(names)
    may_lack_header = table.may_lack_header and not (pair or any(told.values()))
    if may_lack_header and (index_in(pa.chunked_array([names[:2]]), ids) >= 0).any():
        note = f"{table.name} has no header: only its first two columns are used."
        return EdgeRoles("f0", "f1", header=False), [note]
    chosen = check_names(table, names, told)
    usual = {"source": pair[:1], "target": pair[1:], "weight": WEIGHT_NAMES}
    usual = {role: usual[role] for role in usual if role not in chosen}
    guesses = guess_by_name(names, usual, remembered, set(chosen.values()))
    found = {**chosen, **{guess.role: guess.column for guess in guesses}}
    missing = [role for role in ("source", "target") if role not in found]
    if missing:
        more = _guess_ends(table, ids, found, missing)
        _check_not_vertices(table, vertices, found, more)
        guesses = [*more, *guesses]
    elif not columns.source and set(names) == set(vertices.names):
        raise _is_vertex_table(table, vertices)
    found |= {guess.role: guess.column for guess in guesses}
    roles = EdgeRoles(
        found["source"], found["target"], found.get("weight"), found.get("kind"),
        time=found.get("time"),
    )  # fmt: skip
    return roles, say_guesses(table.name, guesses)


def _usual_ends(names: Sequence[str]) -> tuple[str, ...]:
    keys = {key_of(name) for name in names}
    return next((pair for pair in END_NAMES if keys.issuperset(pair)), ())


def guess_id(
    table: TableSource,
    cells: Any,
    edges: TableSource,
    columns: Columns,
    by_name: Guess | None,
    free: Sequence[str],
) -> Guess:
    """Take the column of a usual name, unless the edges join those of another; else the first.

    ``cells`` are the columns of the table that have been read already, ``free`` those that may be.
    """
    ends = _sample_ends(edges, columns)
    if by_name is not None and (
        not ends or _share_in(table, cells[by_name.column], ends) >= _MATCH
    ):
        return by_name
    more = [name for name in free if name not in cells.column_names]
    rest = table.read(more) if more else cells
    columns_by_name = {name: (rest if name in more else cells)[name] for name in free}
    shares = {name: _share_in(table, column, ends) for name, column in columns_by_name.items()}
    # Among equals, an index that pandas wrote comes last: the other column was intended.
    best = max(free, key=lambda name: (shares[name], not is_index(name)))
    if shares[best] >= _MATCH:
        return Guess("id", best, f"its values are in {edges.name}")
    if by_name is not None:
        return by_name
    first = next((name for name in free if not is_index(name)), free[0])
    return Guess("id", first, "the first column")


def _sample_ends(edges: TableSource, columns: Columns) -> list[Any]:
    """Return the beginning of the two ends of edges as one text, or of each that may be one."""
    import pyarrow as pa

    with reading_table(edges):
        sample = edges.peek()
    told = [name for name in (columns.source, columns.target) if name in sample.column_names]
    usual = _usual_ends(sample.column_names)
    named = [find_name(sample.column_names, [name]) for name in usual]
    known = told or [name for name in named if name is not None]
    names = [name for name in known or sample.column_names if _may_be_id(sample[name])]
    ends = [edges.as_ids(sample[name]) for name in names] if sample.num_rows else []
    chunks = [chunk for end in ends for chunk in end.chunks]
    return [pa.chunked_array(chunks, type=pa.string())] if known and ends else ends


def _share_in(table: TableSource, column: Any, ends: list[Any]) -> float:
    """Return the largest share of an end's cells that a column holds, if its own all differ."""
    if not _may_be_id(column):
        return 0.0
    ids = table.as_ids(column)
    if not all_differ(ids):
        return 0.0
    shares = [float(np.mean(index_in(end, only_in(ids, end)) >= 0)) for end in ends]
    return max(shares, default=0.0)


def _may_be_id(column: Any) -> bool:
    import pyarrow as pa

    kind = value_type(column)
    return is_text(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _guess_ends(
    table: TableSource, ids: Any, found: Mapping[str, str], missing: list[str]
) -> list[Guess]:
    """Take the columns that hold ids, else the first ones."""
    sample = table.peek()
    free = [name for name in sample.column_names if name not in found.values()]
    why = "its values are ids"
    if sample.num_rows:
        usable = [name for name in free if _may_be_id(sample[name])]
        shares = {n: float(np.mean(index_in(table.as_ids(sample[n]), ids) >= 0)) for n in usable}
        fitting = [name for name in usable if shares[name] >= _MATCH and not is_index(name)]
        if len(fitting) >= len(missing):
            free = fitting
        else:
            why = "by its position"
    else:
        why = "by its position"
    free = [name for name in free if not is_index(name)] or free
    if len(free) < len(missing):
        raise DataFileError(table, f"no column is left for the {missing[-1]}. Add one.")
    return [Guess(role, name, why) for role, name in zip(missing, free, strict=False)]


def _check_not_vertices(
    table: TableSource, vertices: TableSource, found: Mapping[str, str], guesses: list[Guess]
) -> None:
    """Refuse to guess ends in a table that has the columns of the vertices."""
    ends = {*(guess.column for guess in guesses), *found.values()}
    if ends <= set(vertices.names):
        raise _is_vertex_table(table, vertices)


def _is_vertex_table(table: TableSource, vertices: TableSource) -> DataFileError:
    return DataFileError(
        table,
        f"must be a table of edges; it has the columns of {vertices.name}, the table of vertices. "
        "Give another file, or name its columns with `source` and `target`.",
    )

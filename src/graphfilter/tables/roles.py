"""Which column of a table holds what: as the user says, by its name, or by what it holds.

The roles of two tables are guessed together: ids are what the edges join.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np

from graphfilter.tables.cells import (
    all_differ,
    index_in,
    is_text,
    missing_column,
    only_in,
    value_type,
)
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.util.errors import DataFileError

ID_NAMES = ("id", "vertex", "vertex_id", "node", "node_id", "name")
LABEL_NAMES = ("label", "class", "y", "category", "target", "klasse", "kategorie")
SPLIT_NAMES = ("split",)
WEIGHT_NAMES = ("weight", "w", "gewicht")
END_NAMES = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"),
    ("source_id", "target_id"), ("from_id", "to_id"), ("src_id", "dst_id"), ("von", "nach"),
    ("quelle", "ziel"), ("sender", "receiver"), ("sender", "recipient"), ("payer", "payee"),
    ("node1", "node2"), ("id1", "id2"), ("vertex1", "vertex2"),
)  # fmt: skip
# Weights of which two are not worth more than one: repeats of such an edge are not added up.
_NOT_AMOUNTS = re.compile(
    r"similar|score|strength|prob|dist|ratio|share|percent|pct|rate\b|corr|cosine|confidence"
)
# The row number that pandas writes, and the column it keeps an index in.
_INDEX_NAME = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class Columns:
    """Which column holds what. None or empty: guess, and say so in ``graph.notes``.

    Attributes
    ----------
    id, label, split, vertex_kind, source, target, weight, edge_kind, edge_time : str or None
        The first four in the table of vertices, the others in that of edges. Kinds and times are
        not guessed; a column that all vertices of a type lack is not missing on them.
    merge : str or None
        What the rows of one edge weigh together: 'sum', 'mean', 'max' or 'last'. Where not given,
        amounts, minutes and counts add up; of a column named like a similarity the largest holds,
        and of one named 'weight' the sum of the larger direction.
    directed : bool
        Whether edges go from their source to their target.
    features : tuple of str
        The only columns to take as features; empty for all that are not taken otherwise.
    categorical : tuple of str
        Features to one-hot encode though they look like numbers or have very many values.
    drop : tuple of str
        Columns of the table of vertices to leave out.
    kinds : tuple of (name, kind)
        What features are, where it should not be guessed: number, boolean, category, date, text
        or drop.
    predicted : tuple of str
        Numbers or labels that the caller reads and predicts, where no column is the label.
    unlabelled : tuple of str
        The spellings of a label that mean *unlabelled*; empty for the usual ones.
    clean_ids : bool
        Whether ids are read without blanks around them and characters of no width, and in one
        Unicode form, in both tables.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.data.Columns(id="customer", label="fraud", drop=("comment",)).label
    'fraud'
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
    kinds: tuple[tuple[str, str], ...] = ()
    unlabelled: tuple[str, ...] = ()
    edge_kind: str | None = None
    directed: bool = False
    vertex_kind: str | None = None
    merge: str | None = None
    edge_time: str | None = None
    clean_ids: bool = False
    predicted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Guess:
    """A column that was guessed for a role, and why."""

    role: str
    column: str
    why: str

    def __str__(self) -> str:
        text = "the unnamed column" if self.column == "" else f"column {self.column!r}"
        return f"{text} as the {self.role} ({self.why})"


def is_index(name: str) -> bool:
    """Return whether a column has the name that pandas gives to row numbers."""
    return _INDEX_NAME.fullmatch(name.strip()) is not None


def choose_merge(columns: Columns, weight: str | None) -> str:
    """Return how repeated edges are merged: as told, else by the name of their weight.

    >>> choose_merge(Columns(), "minutes"), choose_merge(Columns(), "similarity")
    ('sum', 'max')
    """
    if columns.merge is not None or weight is None or key_of(weight) in WEIGHT_NAMES:
        return columns.merge or "larger"
    return "max" if _NOT_AMOUNTS.search(key_of(weight)) else "sum"


def check_names(
    where: str | PathLike[str], names: Sequence[str], told: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the columns that were named, by role; each must be there, once, in one role."""
    chosen = {role: name for role, name in told.items() if name is not None}
    for name in sorted(set(chosen.values()).difference(names)):
        raise missing_column(where, name, names)
    # Excel leaves empty columns behind, which have no name.
    named = [name for name in names if name or name in chosen.values()]
    for what, values in (("columns have the name", named), ("roles name", chosen.values())):
        most = Counter(values).most_common(1)
        if most and most[0][1] > 1:
            problem = f"{most[0][1]} {what} {most[0][0]!r}; it must be one"
            raise DataFileError(where, f"{problem}. Rename the others, or name other columns.")
    return chosen


def guess_by_name(
    names: Sequence[str],
    usual: Mapping[str, Sequence[str]],
    remembered: Mapping[str, str],
    not_free: Collection[str],
) -> list[Guess]:
    """Give each role a free column: the one of the fit, else one of a usual name."""
    guesses: list[Guess] = []
    for role in usual:
        free = [n for n in names if n not in not_free and n not in {g.column for g in guesses}]
        if remembered.get(role) in free:
            guesses.append(Guess(role, remembered[role], "as in the fit"))
        elif (name := find_name(free, usual[role])) is not None:
            guesses.append(Guess(role, name, "by its name"))
    return guesses


def find_name(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    """Return the first candidate's column, whatever the case of its name."""
    by_key = {key_of(name): name for name in reversed(names)}
    return next((by_key[k] for c in candidates if (k := key_of(c)) in by_key), None)


@lru_cache(1 << 16)
def key_of(name: str) -> str:
    """Return a name without what people spell differently.

    >>> key_of(" Node ID"), key_of("vertex-id")
    ('node_id', 'vertex_id')
    """
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def say_guesses(where: str, guesses: Sequence[Guess]) -> list[str]:
    """Return the guesses in one sentence, if there are any."""
    options = ", ".join(f"`{guess.role}`" for guess in guesses)
    took = f"{where}: using {', '.join(map(str, guesses))}; to change this: {options}."
    return [took] if guesses else []


@dataclass(frozen=True)
class EdgeRoles:
    """Which columns of a table of edges are what, and whether its first line is a header."""

    source: str
    target: str
    weight: str | None = None
    kind: str | None = None
    header: bool = True
    time: str | None = None

    @property
    def names(self) -> list[str]:
        others = [name for name in (self.weight, self.kind, self.time) if name is not None]
        return list(dict.fromkeys([self.source, self.target, *others]))


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

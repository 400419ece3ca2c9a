"""Which column of a table holds what: as the user says, by its name, or by what it holds.

The roles of two tables are guessed together: ids are what the edges join. What a user may have
missed is said: a column that could be the label, the vertex type, or of use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables import cells as cell_values
from graphfilter.tables.encoder import MOST_KINDS, TableEncoder
from graphfilter.tables.labels import MOST_CLASSES, MOST_FRACTIONS
from graphfilter.tables.numbers import guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.tables.words import FEW_ROWS, reads_like_names
from graphfilter.util.arrow import is_type, pa
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import listed_names

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
# Those that say nothing of a direction, and the roles that a table of edges has.
NO_WAYS = (("u", "v"), ("node1", "node2"), ("id1", "id2"), ("vertex1", "vertex2"))
OF_EDGES = ("source", "target", "weight", "edge_kind", "edge_time")
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
    link : tuple of str
        Columns of the vertices whose values join those that share one, each a type of edges.
    no_link : bool
        Whether no columns are chosen for those where there is no table of edges.
    as_of : str or None
        The moment from which rows of edges and attached tables are not summed up.
    same_label : tuple of str
        Spellings that mean one label: ``("yes=Yes,ja,JA",)``.
    label_anyway : bool
        Whether the label is one though its column measures, or has very many classes.
    drop_duplicates : bool
        Whether rows of vertices that are the same in all columns count once.
    near : tuple of str
        Columns of coordinates, latitude and longitude or of a plane, by which each vertex is
        joined with the nearest ones.

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
    link: tuple[str, ...] = ()
    no_link: bool = False
    as_of: str | None = None
    same_label: tuple[str, ...] = ()
    label_anyway: bool = False
    drop_duplicates: bool = False
    near: tuple[str, ...] = ()


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
        raise cell_values.missing_column(where, name, names)
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


# A column holds ends of edges, or ids, where so many of the edges' cells are among them.
_MATCH, _LEAST_DIFFERENT = 0.5, 0.9


def choose_vertex_roles(
    source: TableSource,
    edges: TableSource,
    columns: Columns,
    encoder: TableEncoder | None,
    read: Callable[[list[str]], Any],
    notes: list[str],
    rows: Sequence[TableSource] = (),
) -> tuple[dict[str, str], list[str], Any]:
    """Find the id, the label, the split and the features, first by name, then by what cells hold.

    ``read`` gives the table of some columns, or one that is read where it is asked. Returned are
    the columns by role, those of the features, and the table, which has all of these.
    """
    names, usable = source.names, source.usable_names
    asked = {*columns.near}.difference(columns.drop)
    asked |= {*columns.features, *columns.categorical, *dict(columns.kinds)}
    asked |= set() if columns.vertex_kind is None else {columns.vertex_kind}
    if encoder is not None:
        asked = {column.name for column in encoder.columns} | {encoder.vertex_kind} - {""}
    beside = {*edges.names, *(name for table in rows for name in table.names)}
    beside -= asked if encoder is not None else set()
    for name in sorted(asked.union(columns.drop, columns.link).difference(names, beside)):
        raise cell_values.missing_column(source, name, names)
    asked &= set(names)
    told = {"id": columns.id, "label": columns.label, "split": columns.split}
    chosen = check_names(source, names, {**told, "kind": columns.vertex_kind})
    chosen.pop("kind", None)
    remembered = {} if encoder is None else dict(encoder.roles)
    # The words of ids may be features too, or dropped: they are ids all the same.
    features = {*columns.features, *columns.categorical, *chosen.values()}
    guesses = guess_by_name(
        names, {} if "id" in chosen else {"id": ID_NAMES}, remembered, features
    )  # fmt: skip
    not_free = asked.union(columns.drop, chosen.values(), (guess.column for guess in guesses))
    usual = {"label": LABEL_NAMES, "split": SPLIT_NAMES}
    usual = {role: usual[role] for role in usual if role not in chosen}
    guesses += guess_by_name(names, usual, remembered, not_free)
    needed = asked.union(chosen.values(), (guess.column for guess in guesses))
    all_free = not columns.features and encoder is None
    if all_free:
        table = read([n for n in usable if n in needed or n not in columns.drop])
    else:
        table = read([n for n in usable if n in needed])
    if "id" not in chosen:
        by_name = next((guess for guess in guesses if guess.role == "id"), None)
        guesses = [guess for guess in guesses if guess.role != "id"]
        taken = asked.union(columns.drop, chosen.values(), (guess.column for guess in guesses))
        free = [name for name in usable if name not in taken]
        free = free or ([] if by_name is None else [by_name.column])
        if not free:
            raise DataFileError(source, "no column is left for the id. Add an id column.")
        guesses.insert(0, _guess_id(source, table, edges, columns, by_name, free))
    roles = {**chosen, **{guess.role: guess.column for guess in guesses}}
    notes += say_guesses(source.name, guesses)
    if roles["id"] not in table.column_names:
        table = read([*table.column_names, roles["id"]])
    if all_free:
        id_cells = table[roles["id"]]
        told = {*columns.drop, *(name for name, _ in columns.kinds)}
        if roles["id"] not in told and FEW_ROWS < len(id_cells) <= _MOST_ROWS:
            cells = cell_values.Cells(id_cells)
            if cells.is_text and reads_like_names(cells):
                asked.add(roles["id"])
                notes.append(
                    f"{source.name}: the ids read like names: their words are features (to leave "
                    f"them out: `drop={(roles['id'],)}`)."
                )
        taken = {*roles.values(), *columns.drop}
        asked |= {n for n in table.column_names if n not in taken and not is_index(n)}
    return roles, [name for name in table.column_names if name in asked], table


def _guess_id(
    source: TableSource,
    table: Any,
    edges: TableSource,
    columns: Columns,
    by_name: Guess | None,
    free: Sequence[str],
) -> Guess:
    """Take the column of a usual name, unless the edges join those of another; else the first."""
    with reading_table(edges):
        sample = edges.peek()
    told = [name for name in (columns.source, columns.target) if name in sample.column_names]
    usual = [find_name(sample.column_names, [name]) for name in _usual_ends(sample.column_names)]
    named = told or [name for name in usual if name is not None]
    # The ends of edges as one text, or each column that may be one.
    names = [name for name in named or sample.column_names if _may_be_id(sample[name])]
    ends = [edges.as_ids(sample[name]) for name in names] if sample.num_rows else []
    if named and ends:
        chunks = [chunk for end in ends for chunk in end.chunks]
        ends = [pa.chunked_array(chunks, type=pa.string())]

    def share_in(column: Any) -> float:
        # The largest share of an end's cells that a column holds, if its own differ, but for rows
        # that are repeated by mistake.
        if not _may_be_id(column):
            return 0.0
        ids = source.as_ids(column)
        first = ids.slice(0, _MOST_ROWS)
        if len(first.unique()) < _LEAST_DIFFERENT * len(first):
            return 0.0
        return max((_share(end, cell_values.only_in(ids, end)) for end in ends), default=0.0)

    if by_name is not None and (not ends or share_in(table[by_name.column]) >= _MATCH):
        return by_name
    more = [name for name in free if name not in table.column_names]
    rest = source.read(more) if more else table
    shares = {name: share_in((rest if name in more else table)[name]) for name in free}
    # Among equals, an index that pandas wrote comes last: the other column was intended.
    best = max(free, key=lambda name: (shares[name], not is_index(name)))
    if shares[best] >= _MATCH:
        return Guess("id", best, f"its values are in {edges.name}")
    first = next((name for name in free if not is_index(name)), free[0])
    return by_name or Guess("id", first, "the first column")


def find_key(source: TableSource, ids: Any, id_column: str) -> str:
    """Return the column of a table that names a vertex in each row: most of its cells are ids."""
    with reading_table(source):
        sample = source.peek()
        usable = [n for n in sample.column_names if _may_be_id(sample[n]) and not is_index(n)]
        shares = {name: _share(source.as_ids(sample[name]), ids) for name in usable}
    key = max(usable, key=lambda n: (shares[n], key_of(n) == key_of(id_column)), default="")
    if not shares.get(key):
        problem = "must have a column that names a vertex in each row; none holds ids such as"
        raise DataFileError(source, f"{problem} {ids[0].as_py()!r}. Leave it out, or add one.")
    return key


def _share(ids: Any, of: Any) -> float:
    """Return the share of ids that are among others."""
    return float(np.mean(cell_values.index_in(ids, of) >= 0))


def _may_be_id(column: Any) -> bool:
    kind = cell_values.value_type(column)
    return cell_values.is_text(kind) or is_type.is_integer(kind) or is_type.is_floating(kind)


def _usual_ends(names: Sequence[str]) -> tuple[str, ...]:
    keys = {key_of(name) for name in names}
    return next((pair for pair in END_NAMES if keys.issuperset(pair)), ())


@dataclass(frozen=True)
class EdgeRoles:
    """Which columns of a table of edges are what, and whether its first line is a header.

    ``written`` is how weights were written when a model was fitted: decimal sign, and unit if any.
    """

    source: str
    target: str
    weight: str | None = None
    kind: str | None = None
    header: bool = True
    time: str | None = None
    written: str = ""

    @property
    def names(self) -> list[str]:
        """The columns that are used, each once."""
        others = [name for name in (self.weight, self.kind, self.time) if name is not None]
        return list(dict.fromkeys([self.source, self.target, *others]))


def choose_edge_roles(
    table: TableSource,
    vertices: TableSource,
    ids: Any,
    columns: Columns,
    remembered: Mapping[str, str],
) -> tuple[EdgeRoles, list[str]]:
    """Find the two ends and the weight; the first line may turn out to be no header."""
    names = table.names
    if len(names) < 2:
        problem = f"a table of edges must have two columns or more; got {len(names)}."
        raise DataFileError(table, f"{problem} Set what separates them with `delimiter`.")
    told = {"source": columns.source, "target": columns.target, "weight": columns.weight}
    told |= {"kind": columns.edge_kind, "time": columns.edge_time}
    if (end := told["target"]) and end not in names and end in vertices.names:
        raise DataFileError(
            table,
            f"`target` must name the column of one end of the edges; {end!r} is a column of "
            f"{vertices.name}. Predict its words with `label`, its numbers with `number`.",
        )
    pair = _usual_ends(names)
    may_lack_header = table.may_lack_header and not (pair or any(told.values()))
    if may_lack_header and (cell_values.index_in(pa.chunked_array([names[:2]]), ids) >= 0).any():
        note = f"{table.name} has no header: only its first two columns are used."
        return EdgeRoles("f0", "f1", header=False), [note]
    roles = check_names(table, names, told)
    usual = {"source": pair[:1], "target": pair[1:], "weight": WEIGHT_NAMES}
    usual = {role: usual[role] for role in usual if role not in roles}
    guesses = guess_by_name(names, usual, remembered, set(roles.values()))
    roles |= {guess.role: guess.column for guess in guesses}
    missing = [role for role in ("source", "target") if role not in roles]
    guesses = [*_guess_ends(table, ids, roles, missing), *guesses] if missing else guesses
    roles |= {guess.role: guess.column for guess in guesses}
    # Ends that are guessed in a table with the columns of the vertices may be no ends.
    if missing:
        doubt = set(roles.values()) <= set(vertices.names)
    else:
        doubt = not columns.source and set(names) == set(vertices.names)
    if doubt:
        raise DataFileError(
            table,
            f"must be a table of edges; it has the columns of {vertices.name}, the table of "
            "vertices. Give another file, or name its columns with `source` and `target`.",
        )
    if weight := roles.get("weight"):
        roles["written"] = remembered.get("written") or _how_written(table, weight)
    known: Any = roles
    return EdgeRoles(**known), say_guesses(table.name, guesses)


def _how_written(table: TableSource, weight: str) -> str:
    """Return the decimal sign of the weights that a table begins with, and their unit if any."""
    with reading_table(table):
        for batch in table.read_batches([weight], True):
            cells = cell_values.Cells(pa.chunked_array([batch.column(weight)]), weight, table)
            decimal = guess_decimal(cells, table)
            return decimal + parse_numbers(cells, decimal).unit
    return ""


def _guess_ends(
    table: TableSource, ids: Any, roles: Mapping[str, str], missing: list[str]
) -> list[Guess]:
    """Take the columns that hold ids, else the first ones."""
    sample = table.peek()
    free = [name for name in sample.column_names if name not in roles.values()]
    usable = [n for n in free if sample.num_rows and _may_be_id(sample[n]) and not is_index(n)]
    fitting = [name for name in usable if _share(table.as_ids(sample[name]), ids) >= _MATCH]
    why = "its values are ids"
    if len(fitting) < len(missing):
        fitting, why = [name for name in free if not is_index(name)] or free, "by its position"
    if len(fitting) < len(missing):
        raise DataFileError(table, f"no column is left for the {missing[-1]}. Add one.")
    return [Guess(role, name, why) for role, name in zip(missing, fitting, strict=False)]


_SAMPLE = 1000
_MOST_ROWS = 1_000_000
_MOST_NAMED = 5
_MOST_TYPES = 20


def suggest(table: Any, encoder: TableEncoder, source: TableSource, *, labelled: bool) -> list[str]:
    """Say which columns could be the label, and the vertex type, as far as none is known.

    First are those with gaps that no vertex type explains.
    """
    if labelled and encoder.vertex_kind:
        return []
    few: dict[str, cell_values.Cells] = {}
    gaps: dict[str, NDArray[np.bool_]] = {}
    sizes: dict[str, int] = {}
    kinds = {column.name: column for column in encoder.columns if column.kind != "list"}
    for name, column in kinds.items():
        full = ("date", "number", "boolean") if labelled else ("date",)
        if column.kind in full and not column.marks_missing:
            continue
        cells = cell_values.Cells(table.column(name).slice(0, _MOST_ROWS), name)
        sample = cells.column.slice(0, _SAMPLE)
        several = len(sample) > MOST_CLASSES and len(cell_values.Cells(sample).words) > MOST_CLASSES
        if column.marks_missing or not several:
            n_values = sum(not cell_values.is_missing(word) for word in cells.words)
            if 2 <= n_values <= MOST_CLASSES:
                few[name], sizes[name] = cells, n_values
            if (blank := cells.blank).any():
                gaps[name] = blank
    types = [n for n in few if kinds[n].kind == "category" and n not in gaps]
    types = [name for name in types if sizes[name] <= MOST_KINDS][:_MOST_TYPES]
    explained: dict[str, list[str]] = {name: [] for name in types}
    unexplained = {name: int(blank.sum()) for name, blank in gaps.items()}
    for kind in types:
        codes = few[kind].codes
        for name, blank in gaps.items():
            has = np.bincount(codes[~blank], minlength=codes.max() + 1) > 0
            explained[kind] += [] if has.all() else [name]
            unexplained[name] = min(unexplained[name], int((blank & has[codes]).sum()))
    notes: list[str] = []
    if not labelled:
        labels = [
            name for name in few
            if kinds[name].kind in ("boolean", "category")
            or (kinds[name].kind == "number" and sizes[name] <= MOST_FRACTIONS)
        ]  # fmt: skip
        labels.sort(key=lambda name: -unexplained.get(name, 0))
        numbers = [n for n in unexplained if kinds[n].kind == "number" and unexplained[n]]
        offers = [
            f"{option} may name {listed_names(names, _MOST_NAMED)}"
            for option, names in (
                ("`label`", labels), ("`number`", [n for n in numbers if n not in labels])
            ) if names
        ]  # fmt: skip
        notes += [f"{source.name}: no column is the label; {'; '.join(offers)}."] if offers else []
    kind = max(types, key=lambda name: len(explained[name]), default="")
    if not encoder.vertex_kind and kind and explained[kind]:
        notes.append(
            f"{source.name}: column {kind!r} may be the vertex type: on one type or more, all of "
            f"{listed_names(explained[kind], _MOST_NAMED)} is empty. With `vertex_kind={kind!r}` "
            "such gaps are not missing values."
        )
    return notes


def say_unused(
    table: TableSource, roles: EdgeRoles, dropped: Collection[str], *, without: Collection[str] = ()
) -> list[str]:
    """Name the columns that are not used, and the arguments that would use one.

    ``without`` are arguments that are not offered: of a store, which sums nothing up.
    """
    names = table.usable_names if roles.header else []
    left = [name for name in names if name not in roles.names and not is_index(name)]
    if not left:
        return []
    free = {"weight": roles.weight, "edge_kind": roles.kind, "edge_time": roles.time}
    offers = [f"`{role}`" for role, name in free.items() if not name and role not in without]
    wanted = not set(left) <= set(dropped)
    how = "not used but for features of the vertices" if wanted and not without else "not used"
    may = f" ({', '.join(offers)} may name one)" if offers and wanted else ""
    return [f"{table.name}: {how}: {listed_names(left, _MOST_NAMED)}{may}."]

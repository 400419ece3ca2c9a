"""Which column of a table holds what: as the user says, by its name, or by what it holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import missing_column

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

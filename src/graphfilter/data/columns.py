"""Which column of a table holds what: as the user says, or by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfilter.data.cells import missing_column
from graphfilter.errors import DataFileError

ID_NAMES = ("id", "vertex", "vertex_id", "node", "node_id", "name")
LABEL_NAMES = ("label", "class", "y", "category", "target")
SPLIT_NAMES = ("split",)
WEIGHT_NAMES = ("weight", "w")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"))


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


def choose_columns(
    path: Path,
    names: Sequence[str],
    told: Mapping[str, str | None],
    usual: Mapping[str, Sequence[str]],
    not_free: Collection[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Give each role the column that was named, or else a free one by the first usual name."""
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

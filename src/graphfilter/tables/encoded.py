"""One column of a table, and how it becomes features: what a run remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import check_name
from graphfilter.tables import dates

# A float32 array (n, d) or a scipy csr_array of the same; scipy ships no types to say so with.
Features = Any

# Behind the name of a column, in that of the feature that says where its value is missing.
MISSING_MARK = " is missing"
KINDS = ("number", "boolean", "category", "date", "text", "list")
_PARTS = (("days",), ("hours",), ("days", "hours"))


@dataclass(frozen=True)
class EncodedColumn:
    """A column that is used, and how.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    categories : tuple of str
        The words of a category, one 0/1 feature each; or of a text, one TF-IDF feature each.
    decimal, unit : str
        Of numbers in text: the decimal sign, and the currency or ``'%'``.
    fill : tuple of float
        The replacement for a missing value, one number per feature.
    marks_missing : bool
        Whether one more feature says where the value is missing.
    spelling : str
        Of dates in text, as strptime has it.
    parts : tuple of str
        Of a date: ``'days'`` since ``origin``, ``'hours'`` of the day, or both.
    origin : int
        The day that days are counted from, in days since 1970.
    told : bool
        Whether the user named the kind: what cannot be read as it is then missing.
    weights : tuple of float
        The inverse document frequency of each word of a text.
    of_kinds : tuple of str
        The vertex types that have the column, where not all do: on others it is not missing.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    decimal: str = "."
    unit: str = ""
    fill: tuple[float, ...] = ()
    marks_missing: bool = False
    spelling: str = ""
    parts: tuple[str, ...] = ()
    origin: int = 0
    told: bool = False
    weights: tuple[float, ...] = ()
    of_kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("kind of column", self.kind, KINDS)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature, the mark of missing values last."""
        names = (self.name,)
        if self.kind == "category":
            names = tuple(f"{self.name}={category}" for category in self.categories)
        elif self.kind == "text":
            names = tuple(f"{self.name}: {word}" for word in self.categories)
        elif self.kind == "list":
            names = tuple(f"{self.name}[{i}]" for i in range(len(self.fill)))
        elif self.kind == "date":
            day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=self.origin)
            titles = {"days": f"days since {day:%Y-%m-%d}", "hours": "hour of the day"}
            names = tuple(f"{self.name} ({titles[part]})" for part in self.parts)
        return (*names, f"{self.name}{MISSING_MARK}") if self.marks_missing else names

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; those left at their defaults are left out."""
        default = type(self)(self.name, self.kind)
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        values = {k: v for k, v in own.items() if v != getattr(default, k)}
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {"name": self.name, "kind": self.kind, "categories": [], **values}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Make a column from what :meth:`to_dict` gave.

        Raises
        ------
        KeyError, TypeError, ValueError, OverflowError
            The values are damaged.
        """
        given = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        given["name"], given["kind"] = str(values["name"]), values["kind"]
        for name, kind in (
            ("categories", str),
            ("parts", str),
            ("fill", float),
            ("weights", float),
            ("of_kinds", str),
        ):
            given[name] = tuple(map(kind, given.get(name, ())))
        if "categories" not in values:
            raise KeyError("categories")
        for name in ("marks_missing", "told"):
            if not isinstance(given.get(name, False), bool):
                raise TypeError(f"{name} of column {given['name']!r}")
        for name, kind in (("decimal", str), ("unit", str), ("spelling", str), ("origin", int)):
            if name in given and not isinstance(given[name], kind):
                raise TypeError(f"{name} of column {given['name']!r}")
        column = cls(**given)
        column.check()
        return column

    def check(self) -> None:
        """Raise a ValueError unless the fields go together."""
        n_filled = {"date": len(self.parts), "list": len(self.fill), "category": 0, "text": 0}
        whole = len(self.fill) == n_filled.get(self.kind, 1)
        whole &= self.kind != "list" or len(self.fill) > 0
        whole &= len(self.weights) == (len(self.categories) if self.kind == "text" else 0)
        whole &= self.parts in (_PARTS if self.kind == "date" else ((),))
        # Without one, the cells were dates, not text.
        whole &= self.spelling == "" or (self.kind == "date" and dates.is_spelling(self.spelling))
        whole &= self.decimal in (".", ",") and dates.can_be_written(self.origin)
        whole &= all(map(isfinite, (*self.fill, *self.weights)))
        whole &= len(set(self.categories)) == len(self.categories)
        if not whole:
            raise ValueError(f"column {self.name!r}")


def with_gaps(features: Features, feature_names: Sequence[str] | None) -> NDArray[np.float32]:
    """Return dense features with NaN where a value was missing, as models want them that know gaps.

    A feature that says where follows those it speaks of; scaled or not, the larger of its two
    values says that one is missing.

    Examples
    --------
    >>> with_gaps(np.array([[1.0, 0], [5.0, 1]]), ["age", "age is missing"])
    array([[ 1.,  0.],
           [nan,  1.]], dtype=float32)
    """
    matrix = features.toarray() if hasattr(features, "toarray") else features
    matrix = np.array(matrix, dtype=np.float32)
    names = list(feature_names or ())
    for mark, name in enumerate(names):
        if not name.endswith(MISSING_MARK) or not len(matrix):
            continue
        column = name.removesuffix(MISSING_MARK)
        parts = (f"{column} (", f"{column}[")
        at = [i for i in range(mark) if names[i] == column or names[i].startswith(parts)]
        low, high = matrix[:, mark].min(), matrix[:, mark].max()
        missing = matrix[:, mark] > (low + high) / 2
        matrix[np.ix_(missing, at)] = np.nan
    return matrix

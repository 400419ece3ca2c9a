"""The features of new vertices: JSON in, the columns that the model was fitted on out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from graphfilter.tables.columns import Features
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import listed_names
from graphfilter.web.asked import NewVertex, is_number, kind_of, short
from graphfilter.web.limits import RequestError

_LARGEST = float(np.finfo(np.float32).max)
_WHERE = "vertices"


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """What a request says of a vertex, and how it becomes the features of the model.

    Attributes
    ----------
    encoder : TableEncoder or None
        Of a run on tables: features are named and spelled as in the table of vertices.
    names : tuple of str or None
        Of a run on another graph whose features have names: numbers by name, or a list of all.
    n_features : int
        Without names: a list of so many numbers.
    """

    encoder: TableEncoder | None
    names: tuple[str, ...] | None
    n_features: int

    def listed(self) -> list[dict[str, Any]]:
        """Return the columns with the kind of each, as a description of the endpoint has them."""
        if self.encoder is not None:
            return [_described(column) for column in self.encoder.columns]
        return [{"name": name, "kind": "number"} for name in self.names or ()]

    def encode(self, vertices: Sequence[NewVertex]) -> tuple[Features, tuple[str, ...]]:
        """Return the features (m, d) of new vertices, and what there is to say of them."""
        if self.encoder is not None:
            return self._encode_cells(self.encoder, vertices)
        rows = [self._numbers(one.features, i) for i, one in enumerate(vertices)]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.n_features), ()

    def _numbers(self, given: Mapping[str, Any] | Sequence[Any], row: int) -> list[float]:
        where = f"vertices[{row}].features"
        if isinstance(given, Mapping):
            if self.names is None:
                _refuse(
                    f"{where} must be a list of {self.n_features:,} numbers; got an object.",
                    "The features of this graph have no names.",
                )
            _check_columns(given, self.names, where)
            values, places = [given[name] for name in self.names], self.names
        else:
            values, places = given, range(len(given))
            if len(values) != self.n_features:
                _refuse(
                    f"{where} must hold {self.n_features:,} numbers; got {len(values):,}.",
                    "Give one number per feature, in the order of the model.",
                )
        for place, value in zip(places, values, strict=True):
            if not is_number(value) or abs(value) > _LARGEST:
                _refuse(
                    f"{where}[{short(place)}] must be a number that float32 holds; got "
                    f"{short(value) if isinstance(value, int | float) else kind_of(value)}.",
                    "Fill in missing values as for the fit.",
                )
        return list(map(float, values))

    def _encode_cells(
        self, encoder: TableEncoder, vertices: Sequence[NewVertex]
    ) -> tuple[Features, tuple[str, ...]]:
        import pyarrow as pa

        wanted = dict.fromkeys(column.name for column in encoder.columns)
        if encoder.vertex_kind:
            wanted[encoder.vertex_kind] = None
        for i, vertex in enumerate(vertices):
            where = f"vertices[{i}].features"
            if not isinstance(vertex.features, Mapping):
                _refuse(
                    f"{where} must be an object; got a list.",
                    f"Name the columns: {listed_names(list(wanted))}.",
                )
            _check_columns(vertex.features, list(wanted), where)
        cells = {
            name: _as_column(name, [dict(one.features)[name] for one in vertices])
            for name in wanted
        }
        try:
            return encoder.encode(pa.table(cells), _WHERE)
        except DataFileError as error:
            raise RequestError(
                422,
                str(error),
                "Spell it as the table of the fit does, or send null.",
            ) from None


def _check_columns(given: Mapping[str, Any], wanted: Sequence[str], where: str) -> None:
    """Raise unless the names are those of the fit, in any order."""
    known = set(wanted)
    for name in given:
        if name not in known:
            near = get_close_matches(name, [w for w in wanted if len(w) < 80], n=1)
            _refuse(
                f"{where} must hold the columns of the fit; got {short(name)}, which is not one.",
                f"Did you mean {short(near[0])}?" if near else _columns(wanted),
            )
    if missing := [name for name in wanted if name not in given]:
        _refuse(
            f"{where} must hold every column of the fit; {short(missing[0])} is missing.",
            f"Send null for a value that is not known. {_columns(wanted)}",
        )


def _as_column(name: str, cells: list[Any]) -> Any:
    """Return JSON values as an Arrow column: numbers, truth values, words or lists of numbers."""
    import pyarrow as pa

    kinds = {kind_of(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 or "an object" in kinds:
        _refuse(
            f"column {short(name)} must have one type in all vertices; got "
            f"{' and '.join(sorted(kinds))}.",
            "Send numbers, strings, true and false or lists of numbers, and null where missing.",
        )
    for cell in cells:
        parts = cell if isinstance(cell, list) else [cell]
        for part in parts:
            if isinstance(part, list | dict):
                _refuse(
                    f"column {short(name)} must hold lists of numbers; got {kind_of(part)} in one.",
                    "Send one list of numbers per vertex.",
                )
            wrong = isinstance(part, int | float) and not isinstance(part, bool)
            if wrong and not (is_number(part) and abs(part) <= _LARGEST):
                _refuse(
                    f"column {short(name)} must hold numbers that float32 holds; got "
                    f"{short(part)}.",
                    "Send null for a value that is not known.",
                )
    try:
        return pa.array(cells)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        _refuse(
            f"column {short(name)} cannot be read as {' or '.join(sorted(kinds))}.",
            "Send values like those in the table of the fit.",
        )


def _described(column: Any) -> dict[str, Any]:
    """Return a column of the fitted table: its name, its kind, and the words that are known."""
    found = {"name": column.name, "kind": column.kind}
    if column.kind == "category":
        found["categories"] = list(column.categories)
    if column.kind == "list":
        found["length"] = len(column.fill)
    return found


def _columns(names: Sequence[str]) -> str:
    return f"Columns: {listed_names(list(names))}."


def _refuse(message: str, remedy: str) -> NoReturn:
    raise RequestError(422, message, remedy)

"""One column, encoded as a run remembers it: its features as the entries of a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables import dates, words
from graphfilter.tables.cells import as_mask, as_text, index_in, is_usable, value_type
from graphfilter.tables.columns import EncodedColumn, read_list
from graphfilter.tables.numbers import (
    NUMBERS_PER_WORD,
    find_decimal_signs,
    parse_numbers,
    read_numbers,
)
from graphfilter.tables.source import at_row
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count, listed_names

# The rows and values of the non-zeros, feature by feature, and how many each feature has.
Entries = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]


def encode_column(
    column: Any, how: EncodedColumn, path: str | PathLike[str], vertex_kinds: Any = None
) -> tuple[Entries, str]:
    """Encode the cells of a column; the note is '' where there is nothing to say.

    ``vertex_kinds`` are the types of the vertices, where columns belong to
    some of the kinds only.
    """
    _check_type(column, how, path)
    if not how.of_kinds:
        return _ENCODE[how.kind](column, how, path)
    own = are_of(vertex_kinds, how.of_kinds)
    entries, note = _ENCODE[how.kind](column.filter(as_mask(own)), how, path)
    return _spread(entries, how, own), note


def are_of(vertex_kinds: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return which vertices are of one of these kinds."""
    import pyarrow as pa

    return index_in(as_text(vertex_kinds, trim=True), pa.array(names, type=pa.string())) >= 0


def _check_type(column: Any, how: EncodedColumn, path: str | PathLike[str]) -> None:
    import pyarrow.types as is_type

    kind = value_type(column)
    fits = is_usable(kind)
    if how.kind == "list":
        fits = is_type.is_list(kind) or is_type.is_large_list(kind)
        fits = fits or is_type.is_fixed_size_list(kind)
    elif how.kind == "date":
        fits = fits or dates.is_date_type(kind)
    if not fits:
        problem = f"column {how.name!r} must hold one {how.kind} per row; got {column.type}."
        raise DataFileError(path, problem)


def _encode_number(
    column: Any, how: EncodedColumn, path: str | PathLike[str]
) -> tuple[Entries, str]:
    remedy = f"Fill in the cell, or train without the column (`drop={(how.name,)}`)."
    decimal = how.decimal
    read = parse_numbers(column, decimal)
    if decimal == "," or read.is_word.any():
        # The cells of this file decide on its decimal sign where they can, else those of the fit.
        decimal = find_decimal_signs(column).choose(decimal)
        read = read if decimal == how.decimal else parse_numbers(column, decimal)
    _check_readable(column, how, path, read.is_word, ~np.isnan(read.values))
    other = read.units - {"%", how.unit}
    if how.unit and other:
        raise DataFileError(
            path,
            f"column {how.name!r} must be in {how.unit}, as when the model was fitted; got "
            f"{', '.join(sorted(other))}. Convert it.",
        )
    if (np.abs(read.values) > np.finfo(np.float32).max).any():
        read_numbers(column, path, how.name, remedy, decimal=decimal, missing_too=True)
    return _filled(read.values[:, None], how, int(read.is_word.sum()))


def _encode_truth(
    column: Any, how: EncodedColumn, path: str | PathLike[str]
) -> tuple[Entries, str]:
    values, other = words.read_truths(column)
    _check_readable(column, how, path, other, ~np.isnan(values))
    return _filled(values[:, None], how, int(other.sum()))


def _encode_date(column: Any, how: EncodedColumn, path: str | PathLike[str]) -> tuple[Entries, str]:
    spelling = how.spelling
    seconds = dates.read_seconds(column, spelling)
    if np.isnan(seconds).any() and not dates.is_date_type(value_type(column)):
        found = dates.known_words(column)
        if not dates.reads_most(found, spelling):
            spelling = dates.find_spelling(found, day_first=spelling in dates.DAY_FIRST) or spelling
            seconds = dates.read_seconds(column, spelling)
        given = index_in(as_text(column, trim=True), found) >= 0
        _check_readable(column, how, path, np.isnan(seconds) & given, ~np.isnan(seconds))
    days, hours = dates.days_and_hours(seconds)
    by_part = {"days": days - how.origin, "hours": hours}
    return _filled(np.stack([by_part[part] for part in how.parts], axis=1), how, 0)


def _encode_list(column: Any, how: EncodedColumn, path: str | PathLike[str]) -> tuple[Entries, str]:
    matrix = read_list(column)
    if matrix is None or matrix.shape[1] != len(how.fill):
        got = "others" if matrix is None else f"lists of {matrix.shape[1]}"
        problem = f"column {how.name!r} must hold lists of {len(how.fill)} numbers; got {got}."
        raise DataFileError(path, problem)
    return _filled(matrix, how, 0)


def _encode_category(
    column: Any, how: EncodedColumn, path: str | PathLike[str]
) -> tuple[Entries, str]:
    import pyarrow as pa

    text = as_text(column, trim=True)
    codes = index_in(text, pa.array(how.categories, type=pa.string()))
    rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    counts = np.bincount(codes[rows], minlength=len(how.categories))
    entries = rows.astype(np.int32), np.ones(len(rows), dtype=np.float32), counts
    if len(rows) == len(codes):
        return entries, ""
    new = sorted(set(text.filter(pa.array(codes < 0)).unique().to_pylist()) - {""})
    if not new:
        return entries, ""
    seen = f"{count(len(new), 'value')} not seen in training ({listed_names(new)})"
    return entries, f"column {how.name!r} has {seen}: encoded as zeros."


def _encode_text(column: Any, how: EncodedColumn, path: str | PathLike[str]) -> tuple[Entries, str]:
    cells = as_text(column).to_pylist()
    matrix = sp.csc_array(words.weigh_words(cells, how.categories, how.weights))
    return (matrix.indices.astype(np.int32), matrix.data, np.diff(matrix.indptr).astype(int)), ""


_ENCODE: dict[str, Callable[..., tuple[Entries, str]]] = {
    "number": _encode_number,
    "boolean": _encode_truth,
    "category": _encode_category,
    "date": _encode_date,
    "text": _encode_text,
    "list": _encode_list,
}


def _filled(values: NDArray[np.float64], how: EncodedColumn, n_words: int) -> tuple[Entries, str]:
    """Put the remembered values where some are missing, and mark those."""
    gone = np.isnan(values).any(axis=1)
    if gone.any():
        values = np.where(np.isnan(values), np.array(how.fill), values)
    filled = values.astype(np.float32)
    if how.marks_missing:
        filled = np.column_stack([filled, gone.astype(np.float32)])
    note = ""
    if gone.any() and (n_words or not how.marks_missing):
        other = f", {n_words:,} of them other words" if n_words else ""
        unmarked = "" if how.marks_missing else " There were none when the model was fitted."
        n = count(int(gone.sum()), "value is", "values are")
        note = f"column {how.name!r}: {n} missing{other}; replaced by the median.{unmarked}"
    return _entries(filled), note


def _spread(entries: Entries, how: EncodedColumn, own: NDArray[np.bool_]) -> Entries:
    """Put the rows of some kinds among all: the others have the value that stands for none."""
    rows, data, counts = entries
    places, others = np.flatnonzero(own).astype(np.int32), np.flatnonzero(~own).astype(np.int32)
    ends = np.cumsum(counts)[:-1]
    parts = list(zip(np.split(places[rows], ends), np.split(data, ends), strict=True))
    for i, fill in enumerate(np.array(how.fill, dtype=np.float32)):
        if fill:
            index, values = parts[i]
            put = np.concatenate([index, others])
            order = np.argsort(put, kind="stable")
            filled = np.concatenate([values, np.full(len(others), fill)])
            parts[i] = put[order], filled[order]
    index, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return index, values, np.array([len(own) for own, _ in parts], dtype=np.int64)


def _check_readable(
    column: Any,
    how: EncodedColumn,
    path: str | PathLike[str],
    is_word: NDArray[np.bool_],
    is_read: NDArray[np.bool_],
) -> None:
    """Refuse a column of another kind than the one that was fitted; a few words are missing."""
    if how.told or not is_word.any() or is_read.sum() > NUMBERS_PER_WORD * is_word.sum():
        return
    row = int(is_word.argmax())
    text = "true or false" if how.kind == "boolean" else f"a {how.kind}"
    raise at_row(
        path,
        row,
        f"column {how.name!r} must hold {text}, as when the model was fitted: "
        f"{str(column[row].as_py())[:80]!r} is not {text}. Fix it, or leave the cell empty.",
    )


def _entries(values: NDArray[np.float32]) -> Entries:
    if values.shape[1] == 1:
        index = np.flatnonzero(values).astype(np.int32)
        return index, values[index, 0], np.array([len(index)], dtype=np.int64)
    # One feature after another, for the memory of long columns.
    rows = [np.flatnonzero(feature).astype(np.int32) for feature in values.T]
    data = [feature[own] for feature, own in zip(values.T, rows, strict=True)]
    counts = np.array([len(own) for own in rows], dtype=np.int64)
    none = np.empty(0, np.int32), np.empty(0, np.float32)
    return np.concatenate([none[0], *rows]), np.concatenate([none[1], *data]), counts

"""X given as a table with words, dates or gaps: understood as the readers of tables do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphfilter.tables.columns import Features
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import FrameTable
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count

_NAME = "X"


@dataclass(frozen=True)
class OddColumn:
    """A column that is not plain numbers: its name, and what it has."""

    name: str
    problem: str


def fit_encoder(X: Any) -> TableEncoder | None:
    """Return how the columns of a table become numbers; None where they are, or X is no table."""
    names = table_names(X) if is_table(X) else []
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise GraphError(f"X must name each column once; {name!r} is there {times} times.")
    if odd_column(X) is None:
        return None
    encoder = TableEncoder.fit(_arrow(X), _NAME)
    if not encoder.columns:
        why = " ".join(encoder.notes)
        raise GraphError(f"X must have a column to learn from; none of its {len(names)} is: {why}")
    return encoder


def encode_table(encoder: TableEncoder, X: Any) -> Features:
    """Return the numbers that a table becomes; columns are found by name, in any order."""
    if not is_table(X):
        some = ", ".join(repr(column.name) for column in encoder.columns[:3])
        raise GraphError(
            f"X must be a table with the columns of the fit ({some}, ...), whose words, dates or "
            f"gaps are encoded as in the fit; got {type(X).__name__}. Pass a DataFrame."
        )
    return encoder.transform(_arrow(X), _NAME)


def is_table(X: Any) -> bool:
    """Return whether X is a DataFrame of pandas, polars or pyarrow."""
    columns = getattr(X, "columns", None)
    return columns is not None and not callable(columns) and hasattr(X, "__arrow_c_stream__")


def table_names(X: Any) -> list[str]:
    """Return the names of the columns of a table."""
    names = X.column_names if hasattr(X, "column_names") else X.columns
    return [str(name) for name in names]


def odd_column(X: Any) -> OddColumn | None:
    """Return the first column that is not plain numbers; None of an X that is no table."""
    if not is_table(X):
        return None
    return _odd_in_pandas(X) if hasattr(X, "iloc") else _odd_in_arrow(X)


def _odd_in_pandas(X: Any) -> OddColumn | None:
    for i, kind in enumerate(X.dtypes):
        values = X.iloc[:, i]
        if kind.kind not in "biufc":
            problem = f"{kind} such as {values.iloc[0]!r}" if len(values) else str(kind)
        elif n := int(values.isna().sum()):
            problem = count(n, "missing value")
        else:
            continue
        return OddColumn(str(X.columns[i]), problem)
    return None


def _odd_in_arrow(X: Any) -> OddColumn | None:
    import pyarrow.types as is_type

    table = _arrow(X)
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        plain = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_boolean(kind)
        if not plain:
            problem = f"{kind} such as {column[0].as_py()!r}" if len(column) else str(kind)
        elif n := column.null_count:
            problem = count(n, "missing value")
        elif is_type.is_floating(kind) and np.isnan(np.asarray(column)).any():
            problem = "NaN"
        else:
            continue
        return OddColumn(name, problem)
    return None


def _arrow(X: Any) -> Any:
    # The index of pandas names vertices; Arrow would make it one more column.
    frame = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    table = FrameTable(frame, _NAME)
    return table.read(table.names)

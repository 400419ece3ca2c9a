"""DataFrames as tables: whatever gives its columns to Arrow, without importing its library.

pandas, polars, pyarrow, duckdb and others share their columns through the Arrow PyCapsule
interface (``__arrow_c_stream__``), which pyarrow reads by itself. A dict of columns will do too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphfilter.errors import GraphError, check_name
from graphfilter.tables.build import GraphParts, read_parts
from graphfilter.tables.cells import value_type
from graphfilter.tables.columns import Columns
from graphfilter.tables.source import HeldTable

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = ("weight", "split", "edge_kind", "vertex_kind", "merge", "edge_time")
_SETTINGS = ("unlabelled", "allow_missing", "directed")


class FrameTable(HeldTable):
    """A table in memory."""

    is_typed = True

    def __init__(self, frame: Any, label: str) -> None:
        super().__init__(label)
        self._table = _with_plain_words(_as_arrow(frame, label))


def read_frames(
    vertices: Any, edges: Any, roles: Mapping[str, str | None], options: Mapping[str, Any]
) -> GraphParts:
    """Read what two frames say of a graph; see :meth:`graphfilter.graph.Graph.from_frames`."""
    rest = dict(options)
    columns: dict[str, Any] = {**roles}
    for name in _COLUMNS:
        columns[name] = rest.pop(name, None)
    for name in ("features", "categorical", "drop"):
        columns[name] = tuple(rest.pop(name, ()))
    columns["clean_ids"] = bool(rest.pop("clean_ids", False))
    columns["kinds"] = tuple(rest.pop("kinds", {}).items())
    settings = {key: rest.pop(key) for key in _SETTINGS if key in rest}
    if rest:
        known = (*_COLUMNS, "features", "categorical", "drop", "kinds", "clean_ids", *_SETTINGS)
        check_name("option of from_frames", next(iter(rest)), known)
    tables = FrameTable(edges, "edges"), FrameTable(vertices, "vertices")
    return read_parts(*tables, Columns(**columns), **settings)


def _as_arrow(frame: Any, label: str) -> pa.Table:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if not (hasattr(frame, "__arrow_c_stream__") or isinstance(frame, Mapping)):
        if not hasattr(frame, "to_arrow"):
            raise GraphError(
                f"the {label} must be a DataFrame of pandas, polars or pyarrow, or a dict of "
                f"columns; got {type(frame).__name__}. Collect a LazyFrame first."
            )
        frame = frame.to_arrow()
    try:
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        columns: Any = getattr(frame, "columns", None)
        if columns is None:
            raise GraphError(f"the {label} cannot be read as a table ({error}).") from None
    # A column of pandas may hold anything: words and numbers side by side are read as words.
    try:
        return pa.table({str(name): _as_column(frame[name].tolist()) for name in columns})
    except UnicodeEncodeError as error:
        raise GraphError(
            f"the {label} must hold text that UTF-8 can write ({error.reason}). Replace it: "
            'text.encode("utf-8", "replace").decode().'
        ) from None


def _with_plain_words(table: pa.Table) -> pa.Table:
    """Turn the views that polars stores words as into strings, which more of Arrow can handle."""
    import pyarrow as pa

    for i, column in enumerate(table.columns):
        if not pa.types.is_string_view(value_type(column)):
            continue
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            if pa.types.is_dictionary(column.type)
            else chunk
            for chunk in column.chunks
        ]
        words = [chunk.cast(pa.string()) for chunk in chunks]
        table = table.set_column(
            i, table.column_names[i], pa.chunked_array(words, type=pa.string())
        )
    return table


def _as_column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        words = [None if v is None or v != v else str(v) for v in values]
        return pa.array(words, type=pa.string())

"""The cells of a table as text: whatever their type, each different word once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, did_you_mean
from graphfilter.wording import listed_names

if TYPE_CHECKING:
    import pyarrow as pa

# Spaces and joiners of no width, the mark of byte order, and the hyphen that shows at line ends.
WITHOUT_WIDTH = "[\u200b-\u200d\u2060\ufeff\u00ad]"


def missing_column(path: str | PathLike[str], name: str, names: Sequence[str]) -> DataFileError:
    """Make the error for a missing column: the nearest name, and the existing ones."""
    hint = did_you_mean(name, [n for n in names if len(n) < 80])
    problem = f"there is no column {name!r}{hint} Columns: {listed_names(names)}."
    if len(names) == 1:
        problem += " If there are more, set what separates them with `delimiter`."
    return DataFileError(path, problem)


def as_text(column: Any, *, trim: bool = False) -> Any:
    """Turn a column of any type into strings; null becomes ''."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Text without gaps needs nothing; tables of very many columns call this often.
    text = column if column.type == pa.string() else column.cast(pa.string())
    text = text.fill_null("") if text.null_count else text
    return pc.call_function("utf8_trim_whitespace", [text]) if trim else text


def numbered_words(column: Any) -> tuple[Any, NDArray[np.int32]]:
    """Return the different words of a column as an Arrow array, and the number of each row's."""
    text = as_text(column)
    text = text.combine_chunks() if hasattr(text, "combine_chunks") else text
    encoded = text.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def as_ids(column: Any) -> Any:
    """Turn a column of ids into strings; whole numbers that are stored as floats have no point."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        column = drop_nan(column)
        with suppress(pa.ArrowInvalid):  # not all are whole
            column = column.cast(pa.int64())
    return as_text(column)


def clean_ids(text: Any) -> Any:
    """Return ids without what cannot be seen of them.

    Blanks around them and characters without width go, and letters are of one Unicode form (NFC).
    """
    import pyarrow.compute as pc

    if not pc.call_function("all", [pc.call_function("string_is_ascii", [text])]).as_py():
        visible = pc.ReplaceSubstringOptions(WITHOUT_WIDTH, "")
        text = pc.call_function("replace_substring_regex", [text], visible)
        text = pc.call_function("utf8_normalize", [text], pc.Utf8NormalizeOptions("NFC"))
    return pc.call_function("utf8_trim_whitespace", [text])


def drop_nan(column: Any) -> Any:
    """Turn the NaN of a column of floating-point numbers into null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    return pc.call_function("if_else", [pc.call_function("is_nan", [column]), None, column])


def distinct(text: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """List the different strings by first appearance, and the number in it of each row's."""
    encoded = text.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def index_in(text: pa.ChunkedArray, known: pa.Array) -> NDArray[np.int32]:
    """Return where each string stands in ``known``, -1 for nowhere."""
    import pyarrow.compute as pc

    found = pc.call_function("index_in", [text], pc.SetLookupOptions(value_set=known))
    return found.fill_null(-1).to_numpy()


def only_in(text: pa.Array | pa.ChunkedArray, some: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the strings that are among some, few, others: no hash table of all is made."""
    import pyarrow.compute as pc

    mask = pc.call_function("is_in", [text], pc.SetLookupOptions(value_set=some))
    found = text.filter(mask)
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def value_type(column: Any) -> Any:
    """Return the type of a column's cells, also where repeated ones are stored once."""
    import pyarrow.types as is_type

    return column.type.value_type if is_type.is_dictionary(column.type) else column.type


def is_text(kind: Any) -> bool:
    import pyarrow.types as is_type

    return is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind)


def is_usable(kind: Any) -> bool:
    """Return whether a type is text, a number or a truth value, not a date, list or bytes."""
    import pyarrow.types as is_type

    kind = kind.value_type if is_type.is_dictionary(kind) else kind
    is_number = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_decimal(kind)
    return is_number or is_type.is_boolean(kind) or is_type.is_null(kind) or is_text(kind)


def as_mask(values: NDArray[np.bool_] | list[bool]) -> Any:
    """Return truth values as Arrow filters by them."""
    import pyarrow as pa

    return pa.array(values, type=pa.bool_())

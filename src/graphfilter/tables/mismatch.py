"""Why an end of an edge is not among the vertices: the usual causes, named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphfilter.tables.columns import is_index

if TYPE_CHECKING:
    import pyarrow as pa


def _without_fraction(name: str) -> str:
    return re.sub(r"\.0+$", "", name)


def _without_zeros(name: str) -> str:
    return _without_fraction(name.strip()).lstrip("0") or "0"


# Each with what two spellings of an id that are equal under it differ by.
_CAUSES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "one of the two has blanks around its ids"),
    (_without_fraction, "one of the two writes them as decimals, as pandas does beside gaps"),
    (_without_zeros, "one of the two has lost the leading zeros of its ids, as Excel does"),
    (str.casefold, "the two differ in upper and lower case"),
)


def explain_missing(
    name: str,
    ids: pa.Array,
    vertices: str,
    names: Sequence[str],
    id_column: str,
    any_known: bool,
    elsewhere: str = "",
) -> str:
    """Say that a vertex is missing and the likely cause; a remedy can follow after a comma.

    Parameters
    ----------
    name : str
        The end of an edge that is missing.
    ids : array of strings
    vertices : str
        The table that the ids are of.
    names, id_column : sequence of str, str
        Its columns, and that of the ids.
    any_known : bool
        Whether other ends of edges are among the ids.
    elsewhere : str
        What else knows vertices, if anything does.
    """
    if not name:
        return "an end of the edge is empty. Fill it in"
    if name in names:
        return (
            f"vertex {name!r} is not in {vertices}, but a column has that name: its first line may "
            "be a vertex. Write names of columns above it"
        )
    known = ids.to_pylist()
    for same, cause in _CAUSES:
        key = same(name)
        if (found := next((other for other in known if same(other) == key), None)) is not None:
            return (
                f"vertex {name!r} is not in {vertices}, but {found!r} is: {cause}. Write them the "
                "same way in both"
            )
    if any_known:
        nor = f", nor in {elsewhere}" if elsewhere else ""
        return f"vertex {name!r} is not in {vertices}{nor}. Add it to {vertices}"
    column = "the unnamed column" if id_column == "" else f"column {id_column!r}"
    index = is_index(id_column) or known == [str(i) for i in range(len(known))]
    what = "holds row numbers, as pandas writes them" if index else "may not be the id"
    return (
        f"vertex {name!r} is not in {vertices}, nor is any other before it: {column} {what}. "
        "Name the column of the ids with `id`"
    )

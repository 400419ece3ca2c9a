"""Why an end of an edge is not among the vertices: the usual causes, named."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def _without_fraction(name: str) -> str:
    return re.sub(r"\.0+$", "", name)


def _without_zeros(name: str) -> str:
    return _without_fraction(name.strip()).lstrip("0") or "0"


# Each with what two spellings of an id that are equal under it differ by.
_CAUSES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "one of the two has blanks around its ids"),
    (
        _without_fraction,
        "one of the two has its ids as decimals, as pandas writes them beside gaps",
    ),
    (_without_zeros, "one of the two has lost the leading zeros of its ids, as Excel does"),
    (str.casefold, "the two differ in upper and lower case"),
)


def explain_missing(name: str, ids: pa.Array, vertices: str) -> str:
    """Say that a vertex is missing and the likely cause; ends where a remedy can follow."""
    if not name:
        return "an end of the edge is empty. Fill it in"
    known = ids.to_pylist()
    for same, cause in _CAUSES:
        key = same(name)
        if (found := next((other for other in known if same(other) == key), None)) is not None:
            return (
                f"vertex {name!r} is not in {vertices}, but {found!r} is: {cause}. Write them the "
                "same way in both"
            )
    problem = f"vertex {name!r} is not in {vertices}"
    if known[: len(known)] == [str(i) for i in range(len(known))]:
        problem += (
            f", whose ids are row numbers, 0 to {len(known) - 1}: they may be pandas' index. Name "
            "the column of the ids with --id"
        )
        return problem
    return f"{problem}. Add it to {vertices}"

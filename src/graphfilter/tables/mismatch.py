"""Why an end of an edge is not among the vertices: the usual causes, named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from unicodedata import normalize

from graphfilter.tables.cells import WITHOUT_WIDTH, clean_ids, only_in
from graphfilter.tables.columns import is_index
from graphfilter.wording import count

if TYPE_CHECKING:
    import pyarrow as pa

    from graphfilter.tables.source import TableSource


def _without_fraction(name: str) -> str:
    return re.sub(r"\.0+$", "", name)


def _without_zeros(name: str) -> str:
    return _without_fraction(name.strip()).lstrip("0") or "0"


def _clean(name: str) -> str:
    return normalize("NFC", re.sub(WITHOUT_WIDTH, "", name)).strip()


# Each with what two spellings of an id that are equal under it differ by.
_CAUSES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "one of the two has blanks around its ids"),
    (_clean, "they differ in invisible ways: zero-width characters, or Unicode forms"),
    (
        _without_fraction,
        ("one of the two writes them as decimals, as pandas does where values are missing"),
    ),
    (_without_zeros, "one of the two has lost the leading zeros of its ids, as Excel does"),
    (str.casefold, "the two differ in upper and lower case"),
)


def note_near_ids(ids: pa.Array | pa.ChunkedArray, table: TableSource) -> list[str]:
    """Say how many vertices have an id that looks like another's, and how they become one.

    All ids must differ. Memory is taken for those that cleaning changes, which are few.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    changed, cleaned = [pa.array([], pa.string())], [pa.array([], pa.string())]
    for chunk in ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]:
        clean = clean_ids(chunk)
        differs = pc.call_function("not_equal", [clean, chunk])
        changed.append(chunk.filter(differs).cast(pa.string()))
        cleaned.append(clean.filter(differs).cast(pa.string()))
    before, after = pa.concat_arrays(changed), pa.concat_arrays(cleaned)
    # One that looks like an id that cleaning leaves as it is, or like another that it changes.
    plain = only_in(ids, after) if len(after) else after
    n_alike = len(before) + len(plain) - len(after.unique())
    if not n_alike:
        return []
    seen = {name: name for name in plain.to_pylist()}
    for name, key in zip(before.to_pylist(), after.to_pylist(), strict=True):
        if (other := seen.setdefault(key, name)) != name:
            example = f"{other!a} and {name!a}"
            break
    else:
        raise AssertionError
    number = count(n_alike, "id differs", "ids differ")
    return [
        f"{table.name}: {number} from another only by blanks around it, characters of no width or "
        f"its Unicode form ({example}): different vertices. `clean_ids=True` reads them as one."
    ]


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
            option = ", pass `clean_ids=True`" if same in (str.strip, _clean) else ""
            spell = ascii if same is _clean else repr
            return (
                f"vertex {spell(name)} is not in {vertices}, but {spell(found)} is: {cause}. "
                f"Write them the same way in both{option}"
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

"""Vertices that share a value of a column, joined: a device, a maintainer, a street."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, is_missing
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.words import count

# So many vertices that share a value are all joined; each of more with eight others.
_ALL_JOINED = 9
_STEPS = 4
# A value that a larger share of the vertices has says little of them, nor does a column whose
# values join fewer than these.
_MOST_SHARE = 0.03
_LEAST_SHARE = 0.05


def join_shared(cells: Cells, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return pairs of vertices (m, 2) that share a value of a column, each pair once.

    Vertices of a value that few share are joined all with all; of one that more share, along
    circles of four step sizes, in the ``order`` of the vertices, so that the number of edges grows
    with the vertices and each is a few steps from all. A value that more than three in a hundred
    vertices have joins none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> join_shared(Cells(pa.array(["a", "b", "a", "a", ""])), np.arange(5)).tolist()
    [[0, 2], [2, 3], [0, 3]]
    """
    n_cells = np.bincount(cells.codes, minlength=len(cells.words))
    is_value = np.array([not is_missing(word) for word in cells.words], dtype=bool)
    most = max(_ALL_JOINED, _MOST_SHARE * len(cells))
    rows = order[((n_cells > 1) & (n_cells <= most) & is_value)[cells.codes[order]]]
    rows = rows[np.argsort(cells.codes[rows], kind="stable")]
    codes = cells.codes[rows]
    size = n_cells[codes]
    start = np.searchsorted(codes, codes)
    place = np.arange(len(rows)) - start
    pairs = [np.empty((0, 2), np.int64)]
    for step in range(1, _ALL_JOINED):
        own = np.flatnonzero((size <= _ALL_JOINED) & (place + step < size))
        pairs.append(np.stack([rows[own], rows[own + step]], axis=1))
    large = np.flatnonzero(size > _ALL_JOINED)
    half = (size[large] - 1) // 2
    for k in range(_STEPS):
        steps = np.maximum(k + 1, np.round(half ** (k / (_STEPS - 1)))).astype(np.int64)
        others = start[large] + (place[large] + steps) % size[large]
        pairs.append(np.stack([rows[large], rows[others]], axis=1))
    return np.concatenate(pairs).astype(np.int32)


def find_links(
    table: Any, names: Sequence[str], encoder: TableEncoder, ids: Any
) -> dict[str, NDArray[np.int32]]:
    """Return the pairs that columns join; without names, of categories that few vertices share."""
    order = np.argsort(np.asarray(ids.to_numpy(zero_copy_only=False), dtype=str), kind="stable")
    if names:
        return {name: join_shared(Cells(table.column(name)), order) for name in names}
    found: dict[str, NDArray[np.int32]] = {}
    for name in dict.fromkeys(one.name for one in encoder.columns if one.kind == "category"):
        pairs = join_shared(Cells(table.column(name)), order)
        if len(np.unique(pairs)) >= _LEAST_SHARE * len(ids):
            found[name] = pairs
    return found


def say_links(links: dict[str, NDArray[np.int32]]) -> list[str]:
    """Say which columns join how many vertices."""
    return [
        f"vertices that share a value of {name!r} are joined: {count(len(pairs), 'edge')} (to "
        "change this: `link`, `no_link`)."
        if len(pairs)
        else f"column {name!r} joins no vertices: no value is shared by two of them, or few enough."
        for name, pairs in links.items()
    ]


def add_links(
    edges: dict[str, Any],
    links: dict[str, NDArray[np.int32]],
    *,
    told: bool,
    both_ways: bool,
) -> None:
    """Put what columns join after the edges of a table, each column as a type of edges."""
    for name, pairs in links.items():
        pairs = np.concatenate([pairs, pairs[:, ::-1]]) if both_ways else pairs
        n, known = len(pairs), len(edges["pairs"])
        if edges["kinds"] is None:
            edges["kinds"] = np.full(known, "edges", dtype=object)
        edges["pairs"] = np.concatenate([edges["pairs"], pairs])
        edges["kinds"] = np.concatenate([edges["kinds"], np.full(n, name, dtype=object)])
        if edges["weights"] is not None:
            edges["weights"] = np.concatenate([edges["weights"], np.ones(n, np.float32)])
        if (times := edges["times"]) is not None:
            # Links were always there.
            first = np.nanmin(times.values) if known else 0.0
            edges["times"] = times._replace(values=np.append(times.values, np.full(n, first)))
    if not told and len(links) == 1:
        edges["kinds"] = None

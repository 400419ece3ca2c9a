"""Edge lists: lines of two vertices and perhaps a weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.storage import AnyPath, reading


def read_edge_list(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read lines of two vertices and perhaps a weight, apart by spaces, tabs, commas or ``;``.

    Lines that start with ``#`` or ``%`` and empty lines are skipped. Vertices may be any words;
    they are numbered in their order (by value where all are whole numbers, so a list that uses
    0..n-1 keeps its numbers) and kept in ``vertex_names``.
    """
    remedy = "Write two vertices per line, and perhaps a weight."
    ends: list[str] = []
    weights: list[float] = []
    n_fields = 0
    with reading(path, remedy, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    for i, line in enumerate(lines, start=1):
        fields = line.replace(",", " ").replace(";", " ").split()
        if not fields or fields[0][0] in "#%":
            continue
        n_fields = n_fields or len(fields)
        if len(fields) != n_fields or n_fields not in (2, 3):
            expected = n_fields if n_fields in (2, 3) else "2 or 3"
            problem = f"must have {expected} fields; got {len(fields)}. {remedy}"
            raise DataFileError(path, problem, line=i)
        ends += fields[:2]
        if n_fields == 3:
            try:
                weights.append(float(fields[2]))
            except ValueError:
                problem = f"the weight must be a number; got {fields[2][:40]!r}. {remedy}"
                raise DataFileError(path, problem, line=i) from None
    if not ends:
        raise DataFileError(path, f"must hold at least one edge; it holds none. {remedy}")
    with reading(path, remedy):
        names, number = _number_vertices(ends)
        pairs = number.reshape(-1, 2)
        return Graph.from_edges(
            pairs,
            len(names),
            weights=weights or None,
            vertex_names=names,
            name=Path(path).stem,
            directed=directed,
        )


def _number_vertices(ends: list[str]) -> tuple[list[Any], np.ndarray]:
    if all(end.isascii() and end.isdigit() and len(end) < 19 for end in ends):
        names, number = np.unique(np.array(ends, dtype=np.int64), return_inverse=True)
    else:
        names, number = np.unique(np.array(ends, dtype=object), return_inverse=True)
    return names.tolist(), number

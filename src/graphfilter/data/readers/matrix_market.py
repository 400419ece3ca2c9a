"""Matrix Market: sparse matrices as text.

Read here and not by ``scipy.io.mmread``, which (scipy 1.17) ends the whole process on some damaged
files instead of raising.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.storage import VERTEX_BYTES, AnyPath, Budget, reading

REMEDY = "Write it again as a sparse matrix, for example with scipy.io.mmwrite."
FIELDS = {"pattern": 2, "integer": 3, "real": 3, "double": 3}
SYMMETRIES = ("general", "symmetric")


def read_matrix_market(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a square sparse matrix in Matrix Market form; its values are the weights.

    A matrix whose values are all 1, or that has none (*pattern*), gives an unweighted graph.
    """
    with reading(path, REMEDY, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    n_fields = _read_header(path, lines[0] if lines else "", directed)
    rows = _rows(lines)
    i, size = next(rows, (len(lines), []))
    n_rows, n_columns, n_entries = _numbers(path, i, size, 3)
    if n_rows != n_columns:
        raise DataFileError(path, f"must be square; got {n_rows} x {n_columns}. {REMEDY}", line=i)
    Budget(path).spend(VERTEX_BYTES * n_rows, f"line {i} names {n_rows:,} vertices")
    pairs, weights = [], []
    for i, words in rows:
        if len(words) != n_fields:
            problem = f"must have {n_fields} fields; got {len(words)}. {REMEDY}"
            raise DataFileError(path, problem, line=i)
        pair = _numbers(path, i, words[:2], 2)
        if not all(1 <= end <= n_rows for end in pair):
            raise DataFileError(path, f"must lie in 1..{n_rows}; got {pair}. {REMEDY}", line=i)
        pairs.append(pair)
        if n_fields == 3:
            weights.append(_weight(path, i, words[2]))
    if len(pairs) != n_entries:
        problem = f"must have {n_entries} entries; got {len(pairs)}. {REMEDY}"
        raise DataFileError(path, problem)
    with reading(path, REMEDY):
        return Graph.from_edges(
            np.array(pairs, dtype=np.int64).reshape(-1, 2) - 1,
            n_rows,
            weights=None if all(w == 1 for w in weights) else weights,
            name=Path(path).stem,
            directed=directed,
        )


def _read_header(path: AnyPath, line: str, directed: bool) -> int:
    """Check the first line; return the number of fields per entry."""
    words = line.lower().split()
    good = len(words) == 5 and words[:3] == ["%%matrixmarket", "matrix", "coordinate"]
    if not good or words[3] not in FIELDS or words[4] not in SYMMETRIES:
        expected = "'%%MatrixMarket matrix coordinate', a real type and 'general' or 'symmetric'"
        raise DataFileError(path, f"must be {expected}; got {line[:80]!r}. {REMEDY}", line=1)
    if directed and words[4] == "symmetric":
        problem = "must be 'general' to have directions; got 'symmetric'. Leave out `directed`."
        raise DataFileError(path, problem, line=1)
    return FIELDS[words[3]]


def _rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    for i, line in enumerate(lines[1:], start=2):
        words = line.split()
        if words and not words[0].startswith("%"):
            yield i, words


def _numbers(path: AnyPath, line: int, words: list[str], n: int) -> list[int]:
    good = all(word.isascii() and word.isdigit() and len(word) < 10 for word in words)
    if len(words) != n or not good:
        problem = f"must be {n} whole numbers; got {' '.join(words)[:80]!r}. {REMEDY}"
        raise DataFileError(path, problem, line=line)
    return [int(word) for word in words]


def _weight(path: AnyPath, line: int, word: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise DataFileError(path, f"must be a number; got {word[:40]!r}. {REMEDY}", line=line)
    return weight

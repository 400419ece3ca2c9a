"""Whether a scipy sparse matrix is what it claims to be.

scipy builds one from any three arrays and believes them: a wrong index is read or written outside
of memory by its next conversion or product. So every matrix of a user is checked before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError


def check_sparse(matrix: Any, what: str) -> None:
    """Raise unless the structure of a scipy sparse matrix lies within its shape.

    ``what`` names the matrix in the message. Anything that is not sparse passes. One pass over
    the indices; nothing is copied or changed.
    """
    if not sp.issparse(matrix):
        return
    if len(matrix.shape) != 2:
        raise GraphError(f"{what} must be a table of rows and columns; got shape {matrix.shape}.")
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, what)
    elif matrix.format == "coo":
        entries = len(matrix.data)
        for index, size in zip(matrix.coords, matrix.shape, strict=True):
            _check_index(index, entries, size, what)
    elif matrix.format == "lil":
        # Lists of Python numbers, which its conversion to CSR copies without a look at them.
        for row, values in zip(matrix.rows, matrix.data, strict=True):
            _check_index(np.asarray(row, dtype=np.int64), len(values), matrix.shape[1], what)


def _check_compressed(matrix: Any, what: str) -> None:
    sizes = matrix.shape
    if matrix.format == "bsr":
        block = matrix.data.shape[1:]
        if len(block) != 2 or 0 in block or sizes[0] % block[0] or sizes[1] % block[1]:
            raise _damaged(what, f"it has blocks of shape {block} in a matrix {sizes}")
        sizes = sizes[0] // block[0], sizes[1] // block[1]
    n_rows, n_columns = reversed(sizes) if matrix.format == "csc" else sizes
    indptr = matrix.indptr
    if indptr.ndim != 1 or len(indptr) != n_rows + 1 or indptr.dtype.kind not in "iu":
        raise _damaged(what, f"its indptr has shape {indptr.shape}, not ({n_rows + 1},)")
    entries = int(indptr[-1])
    # Not by differences: those of damaged numbers may overflow.
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _damaged(what, "its indptr does not rise from 0")
    # Room after the last entry is allowed by scipy, but read by its conversions.
    if not entries == len(matrix.indices) == len(matrix.data):
        raise _damaged(
            what,
            f"its indptr ends at {entries}, with {len(matrix.indices)} indices and "
            f"{len(matrix.data)} values",
        )
    _check_index(matrix.indices, entries, n_columns, what)


def _check_index(index: NDArray[Any], length: int, size: int, what: str) -> None:
    if index.shape != (length,) or index.dtype.kind not in "iu":
        raise _damaged(what, f"it has {index.size} indices for {length} values")
    if length and (index.min() < 0 or index.max() >= size):
        raise _damaged(
            what, f"its indices must lie in 0..{size - 1}; got {index.min()}..{index.max()}"
        )


def _damaged(what: str, problem: str) -> GraphError:
    return GraphError(
        f"{what} must be a valid scipy sparse matrix; {problem}. Build it again from its "
        "entries, or remove unused space with .prune()."
    )

"""Arrays of unknown origin, checked: sparse matrices, edges, labels, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.splits import Split

# A sparse matrix may have this many columns whatever it holds, and so many per entry beyond.
MOST_COLUMNS = 1 << 20
MOST_COLUMNS_PER_ENTRY = 100


def make_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: ArrayLike
) -> sp.csr_array:
    """Build a CSR matrix from parts of unknown origin; every index is checked.

    scipy's compiled routines trust the index arrays, so a wrong one would read beyond the end.
    """
    size = np.asarray(shape)
    if size.shape != (2,) or size.dtype.kind not in "iu" or (size < 0).any():
        raise GraphError("a sparse matrix must have a shape of two whole numbers.")
    n_rows, n_columns = size.tolist()
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise GraphError("the parts of a sparse matrix must be one-dimensional.")
    # A wide matrix has columns that its entries name: every column takes memory in a model.
    most = max(MOST_COLUMNS, MOST_COLUMNS_PER_ENTRY * len(data))
    if n_columns > min(most, np.iinfo(np.int32).max):
        got = f"got {n_columns} with {len(data)} entries"
        raise GraphError(f"a sparse matrix must not have that many empty columns; {got}.")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise GraphError("the indices of a sparse matrix must be whole numbers.")
    if data.dtype.kind not in "biuf":
        raise GraphError(f"the values of a sparse matrix must be numbers; got {data.dtype}.")
    if len(indptr) != n_rows + 1 or len(data) != len(indices):
        raise GraphError("the parts of a sparse matrix must fit its shape; they do not.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError("the row pointers of a sparse matrix must rise from 0 to its size.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise GraphError(f"the columns of a sparse matrix must lie in 0..{n_columns - 1}.")
    if data.dtype == np.float16:
        data = data.astype(np.float32)  # scipy has no sparse matrices of half precision
    return sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def check_edges(edges: NDArray[Any]) -> NDArray[Any]:
    """Require whole vertex numbers in two columns."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        got = f"shape {edges.shape} of {edges.dtype}"
        raise GraphError(f"edges must be whole numbers of shape (m, 2); got {got}.")
    return edges


def check_labels(labels: NDArray[Any], n_classes: int | None = None) -> NDArray[np.int64]:
    """Require class numbers 0..c-1, -1 for unlabelled.

    Where ``n_classes`` is not given it is the number of different labels, so that a stray large
    number is found: every class then has at least one vertex.
    """
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        got = f"shape {labels.shape} of {labels.dtype}"
        raise GraphError(f"labels must be one whole number per vertex; got {got}.")
    if n_classes is None:
        n_classes = len(np.unique(labels[labels >= 0]))
    if len(labels) and (labels.min() < -1 or labels.max() >= n_classes):
        raise GraphError(
            f"labels must lie in 0..{n_classes - 1} (or be -1 for unlabelled), as there are "
            f"{n_classes} classes; got {labels.min()}..{labels.max()}."
        )
    return labels.astype(np.int64)


def splits_from_masks(
    masks: Sequence[NDArray[Any]], n_vertices: int, rules: Sequence[str] | None = None
) -> list[Split]:
    """Turn boolean train, val and test masks of shape (k, n) into k splits."""
    for part, mask in zip(("train", "val", "test"), masks, strict=True):
        if mask.ndim != 2 or mask.dtype != bool or mask.shape[1] != n_vertices:
            raise GraphError(
                f"the {part} masks must be boolean of shape (k, {n_vertices}), one column per "
                f"vertex; got {mask.shape} of {mask.dtype}."
            )
    if len({len(mask) for mask in masks}) != 1:
        raise GraphError("there must be as many train as val and test masks.")
    if rules is None:
        rules = ["fixed"] * len(masks[0])
    if len(rules) != len(masks[0]):
        raise GraphError(f"there must be one rule per split ({len(masks[0])}); got {len(rules)}.")
    return [Split(*rows, rule=rule) for *rows, rule in zip(*masks, rules, strict=True)]

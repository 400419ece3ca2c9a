"""Planetoid (Yang et al. 2016): Cora, Citeseer and Pubmed as eight files ``ind.NAME.*``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.data.npz import note_unlabelled
from graphfilter.splits import Split
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import AnyPath, reading
from graphfilter_research.datasets.safe_pickle import edges_of_lists, read_pickle

N_VALIDATION = 500
REMEDY = "Download the eight ind.NAME.* files again (kimiyoung/planetoid, folder data)."


def read_planetoid(folder: AnyPath, name: str) -> Graph:
    """Read ``ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index}``, with the public split.

    The public split is the first vertices (20 per class) for training, the next 500 for validation
    and those of ``test.index`` for testing. ``tx`` and ``ty`` have their rows in the order of
    ``test.index``. Vertices between its smallest and largest number that it does not list
    (Citeseer has 15) have no features and no label; they keep their edges and are unlabelled.
    """
    files = {part: Path(folder) / f"ind.{name}.{part}" for part in ("graph", "test.index")}
    test = _read_test_index(files["test.index"])
    allx, tx, x = (_read_matrix(folder, name, part) for part in ("allx", "tx", "x"))
    ally, ty, y = (_read_labels(folder, name, part) for part in ("ally", "ty", "y"))
    _check_sizes(files["test.index"], allx, tx, ally, ty, y, test)
    if (
        x.shape != (len(y), allx.shape[1])
        or (x != allx[: len(y)]).nnz
        or (y != ally[: len(y)]).any()
    ):
        path = Path(folder) / f"ind.{name}.x"
        raise DataFileError(path, f"x and y must be the first rows of allx and ally. {REMEDY}")
    n, n_known = int(test.max()) + 1, allx.shape[0]
    row_of = np.full(n, -1)
    row_of[:n_known] = np.arange(n_known)
    row_of[test] = n_known + np.arange(len(test))
    n_missing = int((row_of < 0).sum())
    # A missing vertex takes the row after the last: empty, and without a label.
    empty = sp.csr_array((1, allx.shape[1]), dtype=np.float32)
    stacked: Any = sp.vstack([allx, tx, empty], format="csr")
    labels = np.concatenate([ally, ty, [-1]])[row_of]
    public = Split(np.arange(len(y)), np.arange(len(y), len(y) + N_VALIDATION), test, rule="public")
    table = read_pickle(files["graph"])
    with reading(files["graph"], REMEDY):
        graph = Graph.from_edges(
            edges_of_lists(table),
            n,
            features=stacked[row_of],
            labels=labels,
            splits=[public],
            name=name,
        )
    return graph.replace(notes=(*graph.notes, *note_unlabelled(n_missing, 0)))


def _read_test_index(path: Path) -> NDArray[np.int64]:
    numbers = []
    with reading(path, REMEDY, (UnicodeDecodeError,)):
        lines = path.read_text(encoding="ascii").splitlines()
    for i, line in enumerate(lines, start=1):
        word = line.strip()
        if not word.isdigit() or len(word) > 9:
            raise DataFileError(path, f"must hold a vertex number; got {word[:40]!r}.", line=i)
        numbers.append(int(word))
    if not numbers or len(set(numbers)) != len(numbers):
        raise DataFileError(path, f"must list test vertices, each once; it does not. {REMEDY}")
    return np.array(numbers, dtype=np.int64)


# scipy's inferred types know neither shapes nor indexing, hence Any for sparse matrices.
def _read_matrix(folder: AnyPath, name: str, part: str) -> Any:
    path = Path(folder) / f"ind.{name}.{part}"
    matrix: Any = read_pickle(path)
    if not isinstance(matrix, sp.csr_array):
        raise DataFileError(path, f"must hold a sparse matrix; it does not. {REMEDY}")
    return matrix.astype(np.float32)


def _read_labels(folder: AnyPath, name: str, part: str) -> NDArray[np.int64]:
    path = Path(folder) / f"ind.{name}.{part}"
    onehot: Any = read_pickle(path)
    if not (isinstance(onehot, np.ndarray) and onehot.ndim == 2 and onehot.dtype.kind in "biuf"):
        raise DataFileError(path, f"must hold a table of labels, one column per class. {REMEDY}")
    if not (((onehot == 0) | (onehot == 1)).all() and (onehot.sum(axis=1) == 1).all()):
        raise DataFileError(path, f"must have a single 1 in every row of labels. {REMEDY}")
    return onehot.argmax(axis=1)


def _check_sizes(
    path: Path,
    allx: Any,
    tx: Any,
    ally: NDArray[np.int64],
    ty: NDArray[np.int64],
    y: NDArray[np.int64],
    test: NDArray[np.int64],
) -> None:
    n_known = allx.shape[0]
    if n_known != len(ally) or not tx.shape[0] == len(ty) == len(test):
        sizes = f"{n_known}/{len(ally)} and {tx.shape[0]}/{len(ty)}/{len(test)}"
        problem = f"allx/ally and tx/ty/test.index must have as many rows each; got {sizes}"
        raise DataFileError(path, f"{problem}. {REMEDY}")
    if allx.shape[1] != tx.shape[1]:
        problem = f"allx and tx must have as many columns; got {allx.shape[1]} and {tx.shape[1]}"
        raise DataFileError(path, f"{problem}. {REMEDY}")
    # Every skipped number is a vertex without data, so a stray large one would invent millions.
    if test.min() != n_known or test.max() - test.min() >= 2 * len(test):
        problem = f"test vertices must follow on the {n_known} of allx; got {test.min()}.."
        raise DataFileError(path, f"{problem}{test.max()}. {REMEDY}")
    if len(y) + N_VALIDATION > n_known:
        problem = f"there must be {N_VALIDATION} validation vertices after the {len(y)} of y"
        raise DataFileError(path, f"{problem}, among {n_known}. {REMEDY}")

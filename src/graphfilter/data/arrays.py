"""Checked reading of arrays from files: every failure becomes an error that names the file."""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.limits import Budget
from graphfilter.errors import DataFileError, GraphError, GraphFilterError
from graphfilter.splits import Split

AnyPath = str | PathLike[str]

# A sparse matrix may have this many columns whatever it holds, and so many per entry beyond.
MOST_COLUMNS = 1 << 20
MOST_COLUMNS_PER_ENTRY = 100

# What numpy, zipfile and the decompressors raise on bytes that are not what they claim to be.
PARSE_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@contextmanager
def reading(
    path: AnyPath, remedy: str, errors: tuple[type[Exception], ...] = ()
) -> Generator[None]:
    """Turn what goes wrong inside into a :class:`DataFileError` that starts with ``path``.

    ``errors`` are the exceptions with which the parser at work says *not my format*.
    """
    try:
        yield
    except DataFileError:
        raise
    except GraphFilterError as error:
        raise DataFileError(path, str(error)) from error
    except FileNotFoundError:
        raise DataFileError(path, f"there is no such file. {remedy}") from None
    except errors as error:
        problem = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise DataFileError(path, f"cannot be read: {problem}. {remedy}") from error
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}. {remedy}") from error
    except MemoryError:
        problem = "what it describes does not fit in memory"
        raise DataFileError(path, f"{problem}. {remedy}") from None


def load_arrays(
    path: AnyPath, required: Sequence[str], optional: Sequence[str] = (), *, remedy: str
) -> dict[str, NDArray[Any]]:
    """Read these arrays of an npz file; nothing in it can run code.

    Raises
    ------
    DataFileError
        No such file, not an npz file, a required array is missing, or one is damaged or pickled,
        or unpacks to more memory than such a file may ask for.
    """
    with open_archive(path, remedy) as archive:
        found = {name[: -len(".npy")] for name in archive.namelist() if name.endswith(".npy")}
        if missing := [key for key in required if key not in found]:
            held = ", ".join(map(repr, sorted(found)[:12])) or "nothing"
            problem = f"must hold {', '.join(map(repr, missing))}; it holds {held[:200]}"
            raise DataFileError(path, f"{problem}. {remedy}")
        budget = Budget(path)
        wanted = [key for key in (*required, *optional) if key in found]
        return {key: _read_array(archive, key, budget) for key in wanted}


@contextmanager
def open_archive(path: AnyPath, remedy: str) -> Generator[zipfile.ZipFile]:
    """Open a zip file as numpy writes it; what goes wrong inside is an error about ``path``."""
    with reading(path, remedy, PARSE_ERRORS), Path(path).open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise DataFileError(path, f"must be an npz file; it is not, or it is cut off. {remedy}")
        stream.seek(0)
        with warnings.catch_warnings(), zipfile.ZipFile(stream) as archive:
            # numpy and zipfile warn on odd headers before they accept or refuse them.
            warnings.simplefilter("ignore")
            yield archive


def open_member(archive: zipfile.ZipFile, key: str) -> IO[bytes]:
    """Open ``key.npy``; reading it gives no more bytes than the archive says it has."""
    info = archive.getinfo(f"{key}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise GraphError(f"{key!r} must be stored or deflated; it is compressed in another way.")
    return archive.open(info)


def _read_array(archive: zipfile.ZipFile, key: str, budget: Budget) -> NDArray[Any]:
    """Read one array, after what it would take has been counted."""
    with open_member(archive, key) as member:
        version = np.lib.format.read_magic(member)
        read_header = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read_header = np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(member)
    if dtype.hasobject or dtype.kind not in "biufUS":
        raise GraphError(f"{key!r} must hold numbers or text, no pickles; got {dtype}.")
    if not all(0 <= n < 1 << 48 for n in shape):
        raise GraphError(f"{key!r} must have a shape of whole numbers; got {shape}.")
    n_bytes = math.prod(shape) * _bytes_per_entry(dtype)
    budget.spend(n_bytes, f"{key!r} has the shape {shape}")
    with open_member(archive, key) as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise GraphError(f"{key!r} must be as long as its shape says; it is longer.")
    return array


def _bytes_per_entry(dtype: np.dtype[Any]) -> int:
    """Estimate what an entry takes at the peak: converted, sorted, or made a Python string."""
    if dtype.kind in "US":
        return 2 * dtype.itemsize + 64
    return {"b": 1, "f": 2 * max(dtype.itemsize, 4)}.get(dtype.kind, 16)


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
        raise GraphError(f"a sparse matrix must not have so many columns that are empty; {got}.")
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


def check_text(names: Iterable[Any], what: str) -> None:
    """Require names that can be written: text without lone surrogates."""
    try:
        "".join(name for name in names if isinstance(name, str)).encode()
    except UnicodeEncodeError as error:
        got = repr(error.object[max(0, error.start - 10) : error.end + 10])
        raise GraphError(
            f"{what} must be valid text; got {got}, which cannot be written."
        ) from None


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

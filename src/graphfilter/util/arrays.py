"""Checked reading of arrays from files: every failure becomes an error that names the file.

Tensors on disk that cannot run code: safetensors files with a checksum.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
import struct
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.errors import DataFileError, GraphError, GraphFilterError, ModelFileError
from graphfilter.util.files import Budget, atomic_file
from graphfilter.util.records import CHECKSUM, changed_file

if TYPE_CHECKING:
    from torch import Tensor

AnyPath = str | PathLike[str]

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
        problem = "its content does not fit in memory"
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


def read_array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran order, and type of the array of an ``.npy`` file."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    try:
        return read(stream)
    except SystemError:
        # From the tokenizer of Python 3.12, on null bytes.
        raise ValueError("the header of an array is damaged") from None


def _read_array(archive: zipfile.ZipFile, key: str, budget: Budget) -> NDArray[Any]:
    """Read one array, after what it would take has been counted."""
    with open_member(archive, key) as member:
        shape, _, dtype = read_array_header(member)
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
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        signs = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder + "u4")
        if signs.max() > sys.maxunicode:
            # numpy would make text of it that Python can neither show nor read.
            raise GraphError(f"{key!r} must be valid text; got characters outside Unicode.")
    return array


def _bytes_per_entry(dtype: np.dtype[Any]) -> int:
    """Estimate what an entry takes at the peak: converted, sorted, or made a Python string."""
    if dtype.kind in "US":
        return 2 * dtype.itemsize + 64
    return {"b": 1, "f": 2 * max(dtype.itemsize, 4)}.get(dtype.kind, 16)


def check_text(names: Iterable[Any], what: str) -> None:
    """Require names that can be written: text without lone surrogates."""
    try:
        "".join(name for name in names if isinstance(name, str)).encode()
    except UnicodeEncodeError as error:
        got = repr(error.object[max(0, error.start - 10) : error.end + 10])
        raise GraphError(
            f"{what} must be valid text; got {got}, which cannot be written."
        ) from None


_OURS = "graphfilter"


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]
) -> str:
    """Write tensors and JSON-able metadata to one safetensors file atomically.

    Returns
    -------
    checksum : str
        Of tensors and metadata together, as it stands in the file.
    """
    from safetensors.torch import save

    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    checksum = _checksum(own, metadata)
    # One entry only: safetensors writes several in an order that changes from run to run.
    text = json.dumps({**metadata, CHECKSUM: checksum})
    with atomic_file(path) as temporary:
        # Not save_file, which puts a file of its own, private to the user, in place of the locked
        # one.
        temporary.write_bytes(save(own, metadata={_OURS: text}))
    return checksum


def read_tensors(
    path: str | os.PathLike[str], checksum: str | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote; anything else is a :class:`ModelFileError`.

    A changed bit is found by the checksum in the file, and by the one given, which is what
    :func:`write_tensors` returned. A file that has none is taken as it is.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ModelFileError(
            f"{path}: there is no such file. Restore it from a copy, or make it again."
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        content = json.loads(metadata[_OURS])
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: truncated, or not a safetensors file ({_first_line(error)}). "
            "Save the model again."
        ) from None
    except KeyError:
        raise ModelFileError(f"{path}: a safetensors file, but not one of graphfilter's.") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: a safetensors file, but not one of graphfilter's.")
    expected = [c for c in (content.pop(CHECKSUM, None), checksum) if c is not None]
    if expected and expected != [_checksum(tensors, content)] * len(expected):
        raise changed_file(path)
    return tensors, content


def tensors_under(tensors: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin so, by the rest of their names."""
    return {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}


def _checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the metadata and of every tensor's name, type, shape and bytes."""
    import torch

    digest = hashlib.sha256(json.dumps([metadata, len(tensors)], sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        if tensor.numel():
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    """Return the first line of an error: torch's own carry its whole C++ stack."""
    return str(error).partition("\n")[0]

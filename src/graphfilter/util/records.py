"""What is saved as JSON and tensors: typed, atomic, with a checksum where a changed bit would harm.

msgspec turns JSON into dataclasses: it checks and converts in one pass in C. A field that is
missing takes its default, so files of older versions load; a field that is unknown is ignored, so
files of newer versions load too. A field of a wrong type is an error.

Tensors are kept in safetensors files, which cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.errors import ModelFileError
from graphfilter.util.files import AnyPath, atomic_file

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

CHECKSUM = "sha256"
# The largest file of JSON that is read: those of tables with very many columns are a tenth of it.
MOST_BYTES = 512 << 20


def convert(kind: type[T], content: Any) -> T:
    """Return content of JSON as ``kind``, a dataclass or a type; TypeError where it is not one.

    A whole number is taken for a float; a truth value is not taken for a number.

    >>> convert(list[float], [1, 2.5])
    [1.0, 2.5]
    >>> convert(dict[str, int], {"seed": True})
    Traceback (most recent call last):
    TypeError: $[...]: Expected `int`, got `bool`
    """
    import msgspec

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        raise TypeError(f"{where.strip('`') or '$'}: {problem}") from None


def matches(value: Any, kind: Any) -> bool:
    """Return whether content of JSON is of a type.

    >>> matches([1, 2.5], list[float]), matches([1, None], list[float]), matches(True, int)
    (True, False, False)
    """
    try:
        convert(kind, value)
    except TypeError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Return what JSON can hold of a value; numbers that are not finite become None.

    >>> to_plain({"a": (np.float32(0.5), float("nan"))})
    {'a': [0.5, None]}
    """
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=lambda number: number.item()))


def write_json(path: AnyPath, content: Any) -> None:
    """Write JSON atomically."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8")


def read_json(path: AnyPath) -> Any:
    """Read JSON that we wrote; anything else is a :class:`ModelFileError`."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise ValueError(f"it must be a regular file of at most {MOST_BYTES >> 20} MiB")
        text = Path(path).read_text("utf-8")
        content = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if "\\u" in text:
            # Half a sign, which could not be written again.
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: not readable as JSON ({error}). Restore it from a copy, or make it again."
        ) from None


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"a number must be finite; got {number[:20]}")
    return value


def write_checked_json(path: AnyPath, content: Mapping[str, Any]) -> None:
    """Write a JSON object atomically, with a checksum of its content."""
    write_json(path, {**content, CHECKSUM: checksum_of(content)})


def read_checked_json(path: AnyPath) -> dict[str, Any]:
    """Read a JSON object and verify its checksum, where it has one."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: must hold a JSON object; it does not. Save it again.")
    checksum = content.pop(CHECKSUM, None)
    if checksum is not None and checksum != checksum_of(content):
        raise changed_file(path)
    return content


def changed_file(path: AnyPath) -> ModelFileError:
    """Return the error about a file whose checksum is another."""
    return ModelFileError(
        f"{path}: must be as it was saved; its checksum says that it was changed. "
        "Restore it from a copy, or fit again."
    )


def sha256_of(path: AnyPath) -> str:
    """Return the SHA-256 of a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checksum_of(content: Any) -> str:
    """Return the SHA-256 of what JSON holds, whatever its spacing and order."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_OURS = "graphfilter"


def write_tensors(path: AnyPath, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> str:
    """Write tensors and JSON-able metadata to one safetensors file atomically.

    Returns
    -------
    checksum : str
        Of tensors and metadata together, as it stands in the file.
    """
    from safetensors.torch import save

    on_cpu = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    checksum = _checksum(on_cpu, metadata)
    # One entry only: safetensors writes several in an order that changes from run to run.
    text = json.dumps({**metadata, CHECKSUM: checksum})
    with atomic_file(path) as temporary:
        # Not save_file, which puts a file of its own, private to the user, in place of the locked
        # one.
        temporary.write_bytes(save(on_cpu, metadata={_OURS: text}))
    return checksum


def read_tensors(
    path: AnyPath, checksum: str | None = None
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
        content = json.loads(metadata.get(_OURS, "null"))
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        # The first line: torch's own errors carry its whole C++ stack.
        raise ModelFileError(
            f"{path}: truncated, or not a safetensors file ({str(error).partition(chr(10))[0]}). "
            "Save the model again."
        ) from None
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


class RowsFile:
    """A matrix in a file of its own: only what is asked for is in memory.

    Parameters
    ----------
    path : path
        A file that is made.
    dtype : type
        Of its numbers.

    Examples
    --------
    >>> import tempfile
    >>> rows = RowsFile(tempfile.mkdtemp() + "/rows")
    >>> rows.append(np.arange(6.0).reshape(3, 2))
    >>> rows[1:3].tolist(), rows[np.array([2, 0])].tolist(), len(rows)
    ([[2.0, 3.0], [4.0, 5.0]], [[4.0, 5.0], [0.0, 1.0]], 3)
    """

    def __init__(self, path: AnyPath, dtype: type[np.floating] = np.float64) -> None:
        self._path, self._dtype = Path(path), dtype
        self._path.touch()
        self._n, self._width = 0, 0

    def __len__(self) -> int:
        return self._n

    def append(self, block: NDArray[Any]) -> None:
        """Write rows after those that are there, of the same width."""
        if self._n and block.shape[1] != self._width:
            raise ValueError(f"rows must have {self._width} numbers; got {block.shape[1]}")
        with self._path.open("ab") as stream:
            np.ascontiguousarray(block, dtype=self._dtype).tofile(stream)
        self._n, self._width = self._n + len(block), block.shape[1]

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[Any]:
        """Return rows: of a slice, or with these numbers."""
        shape = (self._n, self._width)
        if not self._n * self._width:
            return np.empty(shape, self._dtype)[rows]
        return np.array(np.memmap(self._path, self._dtype, "r", shape=shape)[rows])

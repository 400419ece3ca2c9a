"""Tensors on disk that cannot run code: safetensors files with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.errors import ModelFileError
from graphfilter.storage.atomic import atomic_file
from graphfilter.storage.json_files import CHECKSUM, changed_file

if TYPE_CHECKING:
    from torch import Tensor

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

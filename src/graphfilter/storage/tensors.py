"""Tensors on disk that cannot run code: safetensors files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.errors import ModelFileError
from graphfilter.storage.files import whole_file

if TYPE_CHECKING:
    from torch import Tensor


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]
) -> None:
    """Write tensors and JSON-able metadata to one safetensors file, whole or not at all."""
    from safetensors.torch import save_file

    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    with whole_file(path) as temporary:
        save_file(own, temporary, metadata={"graphfilter": json.dumps(metadata)})


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote; anything else is a :class:`ModelFileError`."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ModelFileError(f"{path}: there is no such file.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        content = json.loads(metadata["graphfilter"])
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        # Only the first line: torch's own errors carry its whole C++ stack.
        problem = str(error).partition("\n")[0]
        raise ModelFileError(
            f"{path}: truncated, or not a safetensors file ({problem}). Save the model again."
        ) from None
    except KeyError:
        raise ModelFileError(f"{path}: a safetensors file, but not one of graphfilter's.") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: a safetensors file, but not one of graphfilter's.")
    return tensors, content

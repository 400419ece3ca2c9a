"""Files written whole or not at all, and tensors on disk that cannot run code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from graphfilter.errors import ModelFileError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when the block ends well.

    On any error the temporary file is removed and ``path`` is as it was.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        # Made for the owner alone; give it the permissions any new file has.
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON that we wrote; anything else is a :class:`ModelFileError`."""
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not readable as JSON ({error}).") from None


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

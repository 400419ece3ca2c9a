"""JSON files of ours, written atomically, with a checksum where a changed bit would be harmful."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from graphfilter.errors import ModelFileError
from graphfilter.storage.atomic import atomic_file

CHECKSUM = "sha256"
# The largest file of JSON that is read: those of tables with very many columns are a tenth of it.
MOST_BYTES = 512 << 20


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write JSON atomically."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON that we wrote; anything else is a :class:`ModelFileError`."""
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
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
    if not isfinite(value):
        raise ValueError(f"a number must be finite; got {number[:20]}")
    return value


def write_checked_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object atomically, with a checksum of its content."""
    write_json(path, {**content, CHECKSUM: checksum_of(content)})


def read_checked_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object and verify its checksum, where it has one."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: must hold a JSON object; it does not. Save it again.")
    found = content.pop(CHECKSUM, None)
    if found is not None and found != checksum_of(content):
        raise changed_file(path)
    return content


def changed_file(path: str | os.PathLike[str]) -> ModelFileError:
    """Return the error about a file whose checksum is another."""
    return ModelFileError(
        f"{path}: must be as it was saved; its checksum says that it was changed. "
        "Restore it from a copy, or fit again."
    )


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checksum_of(content: Any) -> str:
    """Return the SHA-256 of what JSON holds, whatever its spacing and order."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

"""Records of a target on disk: JSON lines, plain while they grow and gzipped to be kept."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from graphfilter.bench import Record, RecordFile
from graphfilter.bench.record import A_RECORD, fits
from graphfilter.errors import DataFileError
from graphfilter.storage import append_lines, read_lines, whole_file, whole_lines

T = TypeVar("T")


def find_lines(folder: Path, name: str) -> Path | None:
    """Find the records of a target: those that still grow come before those that are packed."""
    for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"):
        if path.is_file():
            return path
    return None


def remedy(folder: Path, name: str) -> str:
    """Say how the records of a target are made."""
    quick = " --quick" if name.endswith("-quick") else ""
    target = name.removesuffix("-quick")
    return f"make them: graphfilter reproduce {target} --out {folder}{quick}"


def read_lines_of(folder: Path, name: str, read: Callable[[bytes], T], what: str) -> list[T]:
    """Read a target's records, plain or gzipped; a line that ``read`` refuses is left out."""
    path = find_lines(folder, name)
    if path is None:
        problem = f"there are no such records, nor gzipped ones; {remedy(folder, name)}"
        raise DataFileError(folder / f"{name}.jsonl", problem)
    return read_lines(path, read, what)[0]


def read_target_records(folder: Path, name: str) -> list[Record]:
    """Read the benchmark records of a target, plain or gzipped."""
    return read_lines_of(folder, name, Record.from_json, A_RECORD)


def read_json_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a target's records of whatever kind, unchecked but for the versions they name."""
    return read_lines_of(folder, name, _read_object, "a JSON object")


def _read_object(line: bytes) -> dict[str, Any]:
    content = json.loads(line)
    if not fits(content, dict[str, Any]) or not fits(content.get("versions", {}), dict[str, Any]):
        raise TypeError("not a record of any kind")
    return content


def append_json_line(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Append a record that is not of the benchmark."""
    unpack(folder, name)
    append_lines(folder / f"{name}.jsonl", [json.dumps(content, allow_nan=False)])


def open_records(folder: Path, name: str) -> RecordFile:
    """Open a target's records to go on with them."""
    unpack(folder, name)
    return RecordFile(folder / f"{name}.jsonl")


def unpack(folder: Path, name: str) -> None:
    """Make packed records plain again, unless plain ones are there."""
    packed = find_lines(folder, name)
    if packed is not None and packed.suffix == ".gz":
        with whole_file(folder / f"{name}.jsonl") as temporary:
            temporary.write_bytes(_whole(packed))


def pack(folder: Path, name: str) -> Path:
    """Gzip a target's records; the plain file goes. The same records give the same bytes."""
    packed = folder / f"{name}.jsonl.gz"
    content = _whole(find_lines(folder, name) or packed)
    with whole_file(packed) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0))
    (folder / f"{name}.jsonl").unlink(missing_ok=True)
    return packed


def _whole(path: Path) -> bytes:
    lines, _ = whole_lines(path)
    return b"".join(line + b"\n" for line in lines)


def known_records(folder: Path, names: Iterable[str]) -> dict[str, Record]:
    """Return the good records of several targets by key: what one ran another need not."""
    return {
        record.key: record
        for name in names
        if find_lines(folder, name) is not None
        for record in read_target_records(folder, name)
        if record.ok
    }

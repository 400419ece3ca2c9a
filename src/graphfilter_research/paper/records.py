"""Records of a target on disk: JSON lines, plain while they grow and gzipped to be kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from graphfilter.util.errors import DataFileError
from graphfilter.util.records import convert
from graphfilter_research.bench.record import A_RECORD, Record, RecordFile
from graphfilter_research.lines import append_lines, find_lines, read_lines, unpack_lines

T = TypeVar("T")


def remedy(folder: Path, name: str) -> str:
    """Return how the records of a target are made."""
    quick = " --quick" if name.endswith("-quick") else ""
    target = name.removesuffix("-quick")
    return f"make them: graphfilter reproduce {target} --out {folder}{quick}"


def read_lines_of(folder: Path, name: str, read: Callable[[bytes], T], what: str) -> list[T]:
    """Read a target's records, plain or gzipped; a line that ``read`` refuses is left out."""
    path = find_lines(folder, name)
    if path is None:
        problem = f"there are no such records, nor gzipped ones; {remedy(folder, name)}"
        raise DataFileError(folder / f"{name}.jsonl", problem)
    state = path.stat()
    return list(_read_once(path, (state.st_mtime_ns, state.st_size), read, what))


@cache
def _read_once(
    path: Path, state: tuple[int, int], read: Callable[[bytes], T], what: str
) -> tuple[T, ...]:
    """Read a file that others have read already, and that has not changed since, no more."""
    return tuple(read_lines(path, read, what)[0])


def read_target_records(folder: Path, name: str) -> list[Record]:
    """Read the benchmark records of a target, plain or gzipped."""
    return read_lines_of(folder, name, Record.from_json, A_RECORD)


def read_json_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a target's records of whatever kind, unchecked but for the versions they name."""
    return read_lines_of(folder, name, _read_object, "a JSON object")


def _read_object(line: bytes) -> dict[str, Any]:
    content = convert(dict[str, Any], json.loads(line))
    convert(dict[str, Any], content.get("versions", {}))
    return content


def append_json_line(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Append a record that is not of the benchmark."""
    append_lines(unpack_lines(folder, name), [json.dumps(content, allow_nan=False)])


def open_records(folder: Path, name: str) -> RecordFile:
    """Open a target's records to append to them."""
    return RecordFile(unpack_lines(folder, name))


def known_records(folder: Path, names: Iterable[str]) -> dict[str, Record]:
    """Return the successful records of several targets by key, so that runs are shared."""
    return {
        record.key: record
        for name in names
        if find_lines(folder, name) is not None
        for record in read_target_records(folder, name)
        if record.ok
    }

"""Records of a target on disk: JSON lines, plain while they grow and gzipped to be kept."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphfilter.bench import Record, RecordFile
from graphfilter.errors import DataFileError
from graphfilter.storage import whole_file


def find_lines(folder: Path, name: str) -> Path | None:
    """Find the records of a target: those that still grow come before those that are packed."""
    for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"):
        if path.is_file():
            return path
    return None


def read_lines(folder: Path, name: str) -> list[str]:
    """Read the lines of a target's records, plain or gzipped."""
    path = find_lines(folder, name)
    if path is None:
        raise DataFileError(
            folder / f"{name}.jsonl",
            "there are no such records, nor gzipped ones. Make them: graphfilter reproduce "
            f"{name.removesuffix('-quick')} --out {folder}",
        )
    try:
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise DataFileError(path, f"cannot be read as gzipped records: {error}.") from None
    # What follows the last line break was cut when its process was killed.
    return text.decode(errors="replace").split("\n")[:-1]


def read_target_records(folder: Path, name: str) -> list[Record]:
    """Read the benchmark records of a target, plain or gzipped."""
    records = []
    for number, line in enumerate(read_lines(folder, name), start=1):
        try:
            records.append(Record.from_json(line))
        except (ValueError, TypeError):
            raise DataFileError(
                find_lines(folder, name) or folder,
                "must be a benchmark record of this version of graphfilter; it is not. Make the "
                "records again in a new folder.",
                line=number,
            ) from None
    return records


def read_json_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a target's records that are not of the benchmark."""
    try:
        return [json.loads(line) for line in read_lines(folder, name)]
    except ValueError as error:
        raise DataFileError(find_lines(folder, name) or folder, f"is not JSON: {error}.") from None


def append_json_line(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Append a record that is not of the benchmark."""
    unpack(folder, name)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(content, allow_nan=False) + "\n")


def open_records(folder: Path, name: str) -> RecordFile:
    """Open a target's records to go on with them."""
    unpack(folder, name)
    return RecordFile(folder / f"{name}.jsonl")


def unpack(folder: Path, name: str) -> None:
    """Make packed records plain again, unless plain ones are there."""
    packed = find_lines(folder, name)
    if packed is not None and packed.suffix == ".gz":
        lines = read_lines(folder, name)
        with whole_file(folder / f"{name}.jsonl") as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def pack(folder: Path, name: str) -> Path:
    """Gzip a target's records; the plain file goes. The same records give the same bytes."""
    lines = read_lines(folder, name)
    packed = folder / f"{name}.jsonl.gz"
    with whole_file(packed) as temporary:
        text = "".join(f"{line}\n" for line in lines)
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / f"{name}.jsonl").unlink(missing_ok=True)
    return packed


def known_records(folder: Path, names: Iterable[str]) -> dict[str, Record]:
    """Return the good records of several targets by key: what one ran another need not."""
    return {
        record.key: record
        for name in names
        if find_lines(folder, name) is not None
        for record in read_target_records(folder, name)
        if record.ok
    }

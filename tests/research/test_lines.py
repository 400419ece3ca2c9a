"""JSON lines: appended in one piece by one process, read within bounds."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.lines import (
    MOST_IN_A_LINE,
    MOST_UNPACKED,
    LinesFile,
    append_lines,
    one_writer,
    read_lines,
)


def numbers(path: Path) -> LinesFile[int]:
    return LinesFile(path, lambda line: int(json.loads(line)), str, "a number")


def test_lines_file_appends_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    file = numbers(path)
    file.append([1, 2])
    file.append([3])
    assert file.records == numbers(path).records == [1, 2, 3]
    assert path.read_bytes() == b"1\n2\n3\n"


def test_append_removes_a_cut_line_first(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n2")
    append_lines(path, ["3"])
    assert path.read_bytes() == b"1\n3\n"


def bomb(path: Path, n_bytes: int, piece: bytes) -> Path:
    """Write a gzipped file of ``n_bytes``, without ever holding them."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(n_bytes // len(piece)):
            stream.write(piece)
    return path


def test_small_file_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.jsonl.gz", MOST_UNPACKED + (1 << 20), bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataFileError, match=r"a\.jsonl\.gz: must unpack to at most 32 MB"):
        numbers(path)


READ = """
import json, resource, sys
from dataclasses import dataclass
from pathlib import Path
from graphfilter.util.errors import DataFileError
from graphfilter.util.records import convert
from graphfilter_research.lines import read_lines
@dataclass
class Record:
    name: str
convert(Record, {"name": "a"})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    try:
        read_lines(Path(name), lambda line: convert(Record, json.loads(line)), "a record")
    except DataFileError:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measured in the units of Linux")
@pytest.mark.parametrize("n_bytes", [MOST_UNPACKED - (1 << 10), 2 * MOST_UNPACKED])
def test_refusing_takes_little_memory(tmp_path: Path, n_bytes: int) -> None:
    """Of one line that would be gigabytes of objects, or of many; within the limit and beyond."""
    nested, lines = [b"[" * 1024, b"[],{}," * 170], [b"{}\n" * 341, b"\n" * 1023 + b"0"]
    pieces = [b" " * 1024, *nested, *lines, b" \n" * 512]
    paths = [bomb(tmp_path / f"{i}.jsonl.gz", n_bytes, piece) for i, piece in enumerate(pieces)]
    command = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = [int(line) for line in done.stdout.splitlines()]
    assert len(taken) == len(pieces)
    assert max(taken) < 250 << 10


def test_line_that_is_too_long_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n" + b"1" + b" " * MOST_IN_A_LINE + b"\n2\n")
    assert read_lines(path, json.loads, "a number") == ([1, 2], 1)


def test_append_near_the_file_size_limit_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for _ in range(27):
            append_lines(path, ["x" * 36])
        with pytest.raises(DataFileError, match="cannot be written: File too large"):
            append_lines(path, ["x" * 36])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == ("x" * 36 + "\n") * 27


def test_second_writer_is_refused_while_the_first_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with one_writer(path):
        refused = pytest.raises(ConfigError, match=r"a\.jsonl: another process .* another file")
        with refused, one_writer(path):
            pass
        with one_writer(tmp_path / "b.jsonl"):
            pass
    with one_writer(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_writers_through_links_are_writers_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    refused = pytest.raises(ConfigError, match="another process")
    with one_writer(tmp_path / "a.jsonl"), refused, one_writer(tmp_path / "link.jsonl"):
        pass

"""Files are written atomically, and locked while in use, on POSIX systems."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from graphfilter.data import make_karate, write_tables
from graphfilter.data.files import write_npz
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.files import TEMPORARY, atomic_file, in_use, locked, scratch_folder
from graphfilter.util.records import write_json, write_tensors
from graphfilter_research.lines import append_lines

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")


def test_write_follows_links_and_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "real.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    chain = tmp_path / "chain.json"
    chain.symlink_to("link.json")
    write_json(chain, 1)
    assert chain.is_symlink()
    assert link.is_symlink()
    assert target.read_text() == "1\n"
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        "chain.json", "link.json", "real.json", "there"
    ]  # fmt: skip


def test_write_through_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "new.json")
    write_json(tmp_path / "link.json", 1)
    assert (tmp_path / "new.json").read_text() == "1\n"
    assert (tmp_path / "link.json").is_symlink()


def a_device(path: Path) -> None:
    path.symlink_to("/dev/full")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_socket(path: Path) -> None:
    # The address of a socket is short; the path of a test is not.
    with socket.socket(socket.AF_UNIX) as made:
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(before)


@pytest.mark.parametrize("make", [a_device, a_pipe, a_folder, a_socket])
@pytest.mark.parametrize("write", [write_json, lambda path, x: append_lines(path, [str(x)])])
def test_write_refuses_what_is_not_a_regular_file(tmp_path: Path, make, write) -> None:
    path = tmp_path / "out"
    make(path)
    before = path.lstat()
    with pytest.raises(DataFileError, match="out: must be a regular file"):
        write(path, 1)
    assert os.path.samestat(path.lstat(), before)
    assert list(tmp_path.iterdir()) == [path]


def test_write_to_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"a\.json: cannot be written: .*a folder that exists"):
        write_json(tmp_path / "nowhere" / "a.json", 1)


def test_write_syncs_the_file_before_the_rename_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    synced: list[tuple[str, str]] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(("folder" if name == tmp_path else "file", path.read_text()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    write_json(path, 1)
    assert synced == [("file", "old"), ("folder", "1\n")]


@contextmanager
def file_size_limit(n_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def save_graph(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    write_npz(make_karate().replace(features=rng.random((34, n), np.float32)), path)


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "a.json": lambda path, n: write_json(path, "x" * n),
    "a.safetensors": lambda path, n: write_tensors(path, {"w": torch.ones(n)}, {}),
    "a.npz": save_graph,
    "a.jsonl": lambda path, n: append_lines(path, ["x" * n]),
}


@pytest.mark.parametrize("name", WRITERS)
def test_file_size_limit_is_one_error_and_keeps_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path, 10)
    before = path.read_bytes()
    with file_size_limit(8000), pytest.raises(DataFileError, match=f"{name}: cannot be written"):
        WRITERS[name](path, 5000 if name == "a.npz" else 100_000)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    WRITERS[name](path, 100)


def test_tables_beyond_the_file_size_limit_leave_the_old_ones(tmp_path: Path) -> None:
    small = make_karate()
    paths = write_tables(small, tmp_path)
    before = [path.read_bytes() for path in paths]
    large = small.replace(features=np.random.default_rng(0).random((34, 500), np.float32))
    with file_size_limit(8000), pytest.raises(DataFileError, match="cannot be written"):
        write_tables(large, tmp_path)
    assert [path.read_bytes() for path in paths] == before
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_full_disk_is_one_error_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_json(path, "old")

    def full(self: Path, *_: object) -> int:
        self.open("w").close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DataFileError, match=r"a\.json: cannot be written: No space left") as caught:
        write_json(path, "new")
    monkeypatch.undo()
    assert TEMPORARY not in str(caught.value)
    assert path.read_text() == '"old"\n'
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import sys, time
from pathlib import Path
from graphfilter.util.files import atomic_file
with atomic_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


@contextmanager
def half_way(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that is in the middle of writing a file."""
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_leftovers_of_a_killed_process_are_swept_and_those_of_a_living_one_kept(
    tmp_path: Path,
) -> None:
    with half_way(tmp_path / "a.json") as process:
        write_json(tmp_path / "b.json", 1)
        (temporary,) = tmp_path.glob(f"{TEMPORARY}*")
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert temporary.read_text() == "half"
        write_json(tmp_path / "b.json", 2)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["b.json"]


def test_interrupted_process_leaves_no_temporary_file(tmp_path: Path) -> None:
    with half_way(tmp_path / "a.json") as process:
        process.send_signal(signal.SIGINT)
        process.wait()
    assert list(tmp_path.iterdir()) == []


def test_writers_of_one_file_at_the_same_time_leave_one_of_their_contents(tmp_path: Path) -> None:
    """Sweeping never takes the temporary file of a writer that lives."""
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "a.json"

    def write(i: int) -> None:
        with atomic_file(path) as temporary:
            temporary.write_text(str(i) * 100)
            time.sleep(0.001)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(10)))
    assert path.read_text() in {str(i) * 100 for i in range(10)}
    assert list(tmp_path.iterdir()) == [path]


HOLD = """
import sys, time
from graphfilter.util import files
with getattr(files, sys.argv[1])(*sys.argv[2:]) as given:
    print(given, flush=True)
    time.sleep(600)
"""


@contextmanager
def held_by_another(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process that is inside of a block; give what the block was given."""
    command = [sys.executable, "-c", HOLD, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            assert line
            yield process, line
        finally:
            process.kill()


def test_lock_of_another_process_is_respected_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_by_another("locked", str(path), "theirs") as (process, _):
        assert in_use(path)
        with pytest.raises(ConfigError, match="it is busy"), locked(path, "it is busy"):
            pass
        process.kill()
        process.wait()
        assert path.exists()
        assert not in_use(path)
        with locked(path, "it is busy"):
            assert in_use(path)
    assert not path.exists()


def test_lock_ends_with_an_error_in_the_block(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "lock", "busy"):
        raise KeyError
    with locked(tmp_path / "lock", "busy"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_scratch_folder_of_a_killed_process_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with held_by_another("scratch_folder", "ours-") as (process, name):
        (Path(name) / "file").write_text("content")
        (tmp_path / "ours-by-chance").mkdir()
        with scratch_folder("ours-"):
            assert (Path(name) / "file").exists()
        process.kill()
        process.wait()
        with scratch_folder("ours-") as folder:
            assert not Path(name).exists()
            (folder / "file").write_text("content")
    assert [p.name for p in tmp_path.iterdir()] == ["ours-by-chance"]

"""Datasets in one archive: what arrives is what was packed, or nothing does."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graphfilter.data.graph import Graph
from graphfilter.data.npz import read_npz, write_npz
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.records import CHECKSUM, checksum_of
from graphfilter_research.datasets import catalogue, packing, registry
from graphfilter_research.datasets.packing import MANIFEST, pack_datasets, unpack_datasets

NAMES = ("small_a", "small_b")


def make(name: str, n: int) -> Graph:
    rng = np.random.default_rng(n)
    edges = rng.integers(0, n, (2 * n, 2))
    return Graph.from_edges(
        edges, n, features=rng.random((n, 3)).astype(np.float32), labels=np.arange(n) % 2, name=name
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("made")
    made = {}
    for i, name in enumerate(NAMES):
        made[name] = folder / f"{name}.npz"
        write_npz(make(name, 8 + i), made[name])
    return made


@pytest.fixture(autouse=True)
def machine(sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that knows two datasets and has both in its cache; returns the cache."""
    like = catalogue.DATASETS["cora"]
    entries = {}
    for name, path in sources.items():
        graph = read_npz(path)
        counts = (graph.n_vertices, graph.n_edges, graph.n_features, graph.n_classes)
        entries[name] = replace(like, name=name, file=path.name, counts=counts, aliases=())
    for module in (packing, registry):
        monkeypatch.setattr(module, "DATASETS", entries)
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    cache = tmp_path / "here"
    cache.mkdir()
    for path in sources.values():
        shutil.copy(path, cache)
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(cache))
    return cache


@pytest.fixture
def archive(machine: Path, tmp_path: Path) -> Path:
    pack_datasets(tmp_path / "datasets.tar")
    return tmp_path / "datasets.tar"


@pytest.fixture
def elsewhere(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of another machine, on which nothing is yet."""
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "there"))
    return tmp_path / "there"


def contents(folder: Path) -> dict[str, bytes]:
    found = folder.rglob("*") if folder.exists() else ()
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found if p.is_file()}


def rewrite(archive: Path, entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(archive, "w") as tar:
        for info, content in entries:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))


def manifest_of(files: list[dict[str, Any]], **changed: Any) -> tuple[tarfile.TarInfo, bytes]:
    content = {"format": 1, "version": "9", "files": files} | changed
    text = json.dumps({**content, CHECKSUM: checksum_of(content)})
    return tarfile.TarInfo(MANIFEST), text.encode()


def test_unpacked_datasets_are_those_that_were_packed(
    machine: Path, archive: Path, elsewhere
) -> None:
    said: list[tuple[str, int, int]] = []
    done = unpack_datasets(archive, progress=lambda *told: said.append(told))
    assert [(file.name, file.state) for file in done] == [(f"{n}.npz", "new") for n in NAMES]
    assert contents(elsewhere) == contents(machine)
    assert registry.load("small_a").n_vertices == 8
    total = sum(map(len, contents(machine).values()))
    assert said[-1] == ("datasets.tar", total, total)


def test_archive_is_a_tar_that_depends_on_its_files_only(
    archive: Path, tmp_path: Path, machine
) -> None:
    for path in machine.iterdir():
        os.utime(path, (0, 0))
    pack_datasets(tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as tar:
        assert tar.getnames() == [MANIFEST, "small_a.npz", "small_b.npz"]


def test_what_is_there_is_left_unless_told_otherwise(
    archive: Path, elsewhere: Path, sources
) -> None:
    elsewhere.mkdir()
    shutil.copy(sources["small_a"], elsewhere)
    write_npz(make("small_b", 9).replace(name="mine"), elsewhere / "small_b.npz")
    mine = (elsewhere / "small_b.npz").read_bytes()
    assert [file.state for file in unpack_datasets(archive)] == ["same", "other"]
    assert (elsewhere / "small_b.npz").read_bytes() == mine
    assert [file.state for file in unpack_datasets(archive, overwrite=True)] == ["same", "new"]
    assert contents(elsewhere) == {p.name: p.read_bytes() for p in sources.values()}


def test_cut_archive_keeps_what_is_whole_and_is_resumed(archive: Path, elsewhere: Path) -> None:
    whole = archive.read_bytes()
    with tarfile.open(archive) as tar:
        cut = tar.getmember("small_b.npz").offset_data + 10
    archive.write_bytes(whole[:cut])
    with pytest.raises(DataFileError, match=r"datasets\.tar"):
        unpack_datasets(archive)
    assert list(contents(elsewhere)) == ["small_a.npz"]
    archive.write_bytes(whole)
    assert [file.state for file in unpack_datasets(archive)] == ["same", "new"]


@given(at=st.floats(0, 1, exclude_max=True), value=st.integers(1, 255), cut=st.booleans())
def test_damaged_archive_gives_the_packed_files_or_one_error(
    at: float, value: int, cut: bool, tmp_path_factory, sources
) -> None:
    """Whichever byte is changed, or wherever it ends: no other content, and no other exception."""
    folder = tmp_path_factory.mktemp("damaged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHFILTER_CACHE", str(sources["small_a"].parent))
        pack_datasets(folder / "a.tar")
        content = bytearray((folder / "a.tar").read_bytes())
        place = int(at * len(content))
        content[place] ^= value
        (folder / "a.tar").write_bytes(content[:place] if cut else content)
        patch.setenv("GRAPHFILTER_CACHE", str(folder / "there"))
        problem = ""
        try:
            unpack_datasets(folder / "a.tar")
        except DataFileError as error:
            problem = str(error)
    packed = {path.name: path.read_bytes() for path in sources.values()}
    if problem:
        assert problem.startswith(str(folder / "a.tar"))
        assert "\n" not in problem
        assert contents(folder / "there").items() <= packed.items()
    else:
        assert contents(folder / "there") == packed


@pytest.mark.parametrize("name", ["../escaped.npz", "/etc/escaped.npz", "small_a.npz/../../x", "x"])
def test_names_outside_of_the_catalogue_are_refused(name: str, archive: Path, elsewhere) -> None:
    head = manifest_of([{"name": name, "size": 1, "sha256": "0" * 64}])
    rewrite(archive, [head, (tarfile.TarInfo(name), b"x")])
    before = sorted(archive.parent.rglob("*"))
    with pytest.raises(DataFileError, match="no file of a dataset"):
        unpack_datasets(archive)
    assert sorted(archive.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_and_devices_are_refused(kind: bytes, archive: Path, elsewhere: Path) -> None:
    info = tarfile.TarInfo("small_a.npz")
    info.type, info.linkname = kind, "/etc/passwd"
    rewrite(archive, [manifest_of([{"name": info.name, "size": 0, "sha256": ""}]), (info, b"")])
    with pytest.raises(DataFileError, match=r"small_a\.npz is missing"):
        unpack_datasets(archive)
    assert contents(elsewhere) == {}


def test_other_graph_under_the_name_of_a_dataset_is_refused(
    archive: Path, elsewhere: Path, sources: dict[str, Path]
) -> None:
    other = sources["small_b"].read_bytes()
    described = packing._describe_file("small_a.npz", sources["small_b"])
    head = manifest_of([vars(described)])
    rewrite(archive, [head, (tarfile.TarInfo("small_a.npz"), other)])
    with pytest.raises(DataFileError, match="is not small_a"):
        unpack_datasets(archive)
    assert contents(elsewhere) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "datasets.tar: "),
        (b"PK\x03\x04 no tar", "graphfilter data pack wrote"),
        ([(tarfile.TarInfo("README"), b"hello")], "its first entry must be"),
        ([(tarfile.TarInfo(MANIFEST), b"[1, 2]")], "its manifest is not readable"),
        ([(tarfile.TarInfo(MANIFEST), b'{"sha256": "0"}')], "its manifest was changed"),
        ([manifest_of([], format=7)], "must be of format 1; got 7. Unpack it with version 9"),
        ([manifest_of([{"name": 3}])], "data pack wrote"),
        ([manifest_of([]), (tarfile.TarInfo("small_a.npz"), b"x")], "more than its manifest lists"),
    ],
)
def test_foreign_archives_are_named_for_what_they_are(
    content: Any, message: str, archive: Path, elsewhere: Path
) -> None:
    if isinstance(content, bytes):
        archive.write_bytes(content)
    else:
        rewrite(archive, content)
    with pytest.raises(DataFileError, match=message):
        unpack_datasets(archive)
    assert contents(elsewhere) == {}


def test_packing_nothing_is_refused(machine: Path, tmp_path: Path) -> None:
    (machine / "small_a.npz").unlink()
    with pytest.raises(
        ConfigError, match="small_a must be in a file on this machine; get it first"
    ):
        pack_datasets(tmp_path / "x.tar", ["small_a"])
    assert [file.name for file in pack_datasets(tmp_path / "x.tar", ["small_b"])] == ["small_b.npz"]
    (machine / "small_b.npz").unlink()
    with pytest.raises(ConfigError, match="no dataset is on this machine"):
        pack_datasets(tmp_path / "y.tar")
    assert not (tmp_path / "y.tar").exists()
    with pytest.raises(DataFileError, match="there is no such file"):
        unpack_datasets(tmp_path / "y.tar")


def test_sparse_entry_is_refused_before_anything_is_written(
    archive: Path, elsewhere: Path, tmp_path: Path
) -> None:
    """A few bytes could say two gigabytes of zeros."""
    with tarfile.open(archive) as tar:
        manifest = tar.extractfile(MANIFEST)
        assert manifest is not None
        content = json.loads(manifest.read())
    del content[CHECKSUM]
    size = 2 << 30
    content["files"] = [{**content["files"][0], "size": size}]
    signed = json.dumps({**content, CHECKSUM: checksum_of(content)}).encode()
    head, sparse = tarfile.TarInfo(MANIFEST), tarfile.TarInfo(content["files"][0]["name"])
    head.size, sparse.size, sparse.type = len(signed), 0, tarfile.GNUTYPE_SPARSE
    block = bytearray(sparse.tobuf(format=tarfile.GNU_FORMAT))
    block[386:398], block[398:410] = b"%011o\0" % 0, b"%011o\0" % 0
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    padding = bytes(-len(signed) % 512)
    for extra in (0, size):  # As long as the archive says it is, too: on disk it is a hole.
        with (tmp_path / "sparse.tar").open("wb") as out:
            out.write(head.tobuf() + signed + padding + bytes(block) + bytes(1024))
            out.truncate(out.tell() + extra)
        with pytest.raises(DataFileError, match="is damaged"):
            unpack_datasets(tmp_path / "sparse.tar")
        assert not list(elsewhere.rglob("*"))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits the size of files")
def test_full_disk_is_not_blamed_on_what_is_packed(machine: Path, tmp_path: Path) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(DataFileError, match=r"out\.tar") as raised:
            pack_datasets(tmp_path / "out.tar")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "small_a" not in str(raised.value)

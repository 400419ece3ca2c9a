"""All datasets at hand in one archive, for a machine that cannot download them.

The archive is a plain tar file, which any tool can list. Its first entry is a manifest, in JSON, of
the others: their names, sizes and SHA-256 sums, and a sum of its own. Only files that the catalogue
names are taken from it, each to its place in the cache, and only after its content was verified.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal

from graphfilter.data.datasets import Progress, cache_folder
from graphfilter.data.npz import read_npz
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.files import AnyPath, atomic_file, make_folder, reading
from graphfilter.util.records import CHECKSUM, checksum_of, convert, sha256_of
from graphfilter.version import __version__
from graphfilter_research.datasets.catalogue import DATASETS, Dataset
from graphfilter_research.datasets.registry import (
    check_counts,
    check_sha256,
    describe,
    locate,
    whole_of,
)

MANIFEST = "graphfilter-datasets.json"
FORMAT = 1
# No manifest is longer: a hundred bytes for each of a few dozen files.
_LONGEST = 1_000_000
_CHUNK = 1 << 20
_FOREIGN = "is not an archive that graphfilter data pack wrote"
_PERMISSIONS = "Check its permissions."
_AGAIN = "Copy it again, or pack it again on the machine that has the datasets."


@dataclass(frozen=True)
class PackedFile:
    """One entry of an archive: the file of a dataset in a data folder."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Unpacked:
    """What became of a file: *new*, or *same* or *other* than what is there and was left."""

    name: str
    state: Literal["new", "same", "other"]


def pack_datasets(
    out: AnyPath, names: Sequence[str] = (), progress: Progress | None = None
) -> list[PackedFile]:
    """Write the files of datasets to one archive; equal files make equal archives.

    Parameters
    ----------
    names : sequence of str
        Which datasets; those that are found on this machine if none is named.
    progress : callable, optional
        Called as ``progress(name of the archive, bytes so far, bytes in all)``.
    """
    found = _find(names)
    files = [_describe_file(name, path) for name, path in found.items()]
    with (
        atomic_file(out) as temporary,
        tarfile.open(temporary, "w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        count, manifest = _Count(out, files, progress), _write_manifest(files)
        tar.addfile(_entry(MANIFEST, len(manifest)), io.BytesIO(manifest))
        for file in files:
            path = found[file.name]
            with reading(path, _PERMISSIONS):
                stream = path.open("rb")
            with stream:
                hashed = _Hashed(stream, count, path)
                tar.addfile(_entry(file.name, file.size), hashed)
            if hashed.digest.hexdigest() != file.sha256:
                raise DataFileError(path, "changed while it was packed. Pack again.")
    return files


def unpack_datasets(
    archive: AnyPath, *, overwrite: bool = False, progress: Progress | None = None
) -> list[Unpacked]:
    """Put the datasets of an archive into the cache, each atomically and after it was verified.

    What is there is left, so that an interrupted call is resumed by the same call.

    Parameters
    ----------
    overwrite : bool
        Replace files of other content that are in the cache.
    """
    done: list[Unpacked] = []
    with _open_archive(archive) as tar:
        files = _read_manifest(archive, tar.next(), tar.extractfile)
        entries = {str(entry.file): entry for entry in DATASETS.values() if entry.file is not None}
        for file in files:
            if file.name not in entries:
                raise DataFileError(
                    archive,
                    f"holds {file.name!r}, which is no file of a dataset of version {__version__}. "
                    "Install the version of graphfilter that packed it, or a later one.",
                )
        # Before anything is written: an entry says itself how long it is.
        if sum(file.size for file in files) > Path(archive).stat().st_size:
            raise DataFileError(archive, f"is damaged: it is shorter than its files. {_AGAIN}")
        count = _Count(archive, files, progress)
        for file in files:
            info = tar.next()
            stream = None if info is None or not _is_plain(info) else tar.extractfile(info)
            if info is None or stream is None or (info.name, info.size) != (file.name, file.size):
                raise DataFileError(archive, f"is damaged: {file.name} is missing. {_AGAIN}")
            target = cache_folder() / file.name
            state = _state(target, file)
            if state == "new" or (state == "other" and overwrite):
                _keep(archive, _Hashed(stream, count, archive), target, file, entries[file.name])
                state = "new"
            else:
                count.add(file.size)
            done.append(Unpacked(file.name, state))
        if tar.next() is not None:
            raise DataFileError(
                archive, (f"is damaged: it holds more than its manifest lists. {_AGAIN}")
            )
    return done


class _Count:
    """Reports how much of all files together is done."""

    def __init__(self, path: AnyPath, files: Sequence[PackedFile], progress: Progress | None):
        self._name, self._progress = Path(path).name, progress
        self._done, self._total = 0, sum(file.size for file in files)

    def add(self, n_bytes: int) -> None:
        self._done += n_bytes
        if self._progress is not None and n_bytes:
            self._progress(self._name, self._done, self._total)


class _Hashed:
    """A stream of bytes that hashes and counts what is read from it."""

    def __init__(self, stream: IO[bytes], count: _Count, path: AnyPath) -> None:
        self._stream, self._count, self._path = stream, count, path
        self.digest = hashlib.sha256()

    def read(self, size: int = _CHUNK) -> bytes:
        # Here, not around the copy: what cannot be written is no fault of what is read.
        with reading(self._path, _PERMISSIONS):
            chunk = self._stream.read(size)
        self.digest.update(chunk)
        self._count.add(len(chunk))
        return chunk


def _find(names: Sequence[str]) -> dict[str, Path]:
    """Return the files of datasets by their names in a data folder."""
    found: dict[str, Path] = {}
    for name in sorted(names or DATASETS):
        entry = describe(name)
        path = locate(entry.name)
        if path is not None:
            if path.parent != cache_folder():
                check_sha256(path, entry)
            found[str(entry.file)] = path
        elif names:
            remedy = f"get it first: graphfilter data get {entry.name}"
            if entry.file is None:
                remedy = "it has no file; leave it out"
            raise ConfigError(f"{entry.name} must be in a file on this machine; {remedy}.")
        if path is not None and entry.base is not None:
            found |= _find([entry.base])
    if not found:
        raise ConfigError("no dataset is on this machine; get one: graphfilter data get cora")
    return dict(sorted(found.items()))


def _describe_file(name: str, path: Path) -> PackedFile:
    with reading(path, _PERMISSIONS):
        return PackedFile(name, path.stat().st_size, sha256_of(path))


def _entry(name: str, size: int) -> tarfile.TarInfo:
    """Return the head of an entry, which tells nothing of who packed it, or when."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info


def _write_manifest(files: Iterable[PackedFile]) -> bytes:
    content = {"format": FORMAT, "version": __version__, "files": [asdict(f) for f in files]}
    return json.dumps({**content, CHECKSUM: checksum_of(content)}, indent=2).encode() + b"\n"


def _is_plain(info: tarfile.TarInfo) -> bool:
    """Return whether an entry is a file with all its bytes, not one whose zeros are left out."""
    return info.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not info.issparse()


def _read_manifest(
    archive: AnyPath,
    info: tarfile.TarInfo | None,
    open_entry: Callable[[tarfile.TarInfo], IO[bytes] | None],
) -> list[PackedFile]:
    if info is None or info.name != MANIFEST or not _is_plain(info) or info.size > _LONGEST:
        raise DataFileError(archive, f"{_FOREIGN}: its first entry must be {MANIFEST}.")
    stream = open_entry(info)
    try:
        content = json.loads(stream.read() if stream else b"")
        stated = content.pop(CHECKSUM)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataFileError(
            archive, f"is damaged: its manifest is not readable. {_AGAIN}"
        ) from None
    if stated != checksum_of(content):
        raise DataFileError(archive, f"is damaged: its manifest was changed. {_AGAIN}")
    if content.get("format") != FORMAT:
        raise DataFileError(
            archive,
            f"must be of format {FORMAT}; got {content.get('format')}. Unpack it with version "
            f"{content.get('version')} of graphfilter, which packed it.",
        )
    try:
        return convert(list[PackedFile], content.get("files"))
    except TypeError as error:
        raise DataFileError(archive, f"{_FOREIGN} ({error}).") from None


@contextmanager
def _open_archive(path: AnyPath) -> Generator[tarfile.TarFile]:
    """Open a tar file; whatever is wrong with it is an error with its name."""
    if not Path(path).is_file():
        raise DataFileError(path, "there is no such file; graphfilter data pack --out writes one.")
    errors = (tarfile.TarError, EOFError, ValueError, OverflowError)
    remedy = f"It {_FOREIGN}, or is damaged. {_AGAIN}"
    with reading(path, remedy, errors), tarfile.open(path, "r:") as tar:
        yield tar


def _state(target: Path, file: PackedFile) -> Literal["new", "same", "other"]:
    if not target.is_file():
        return "new"
    there = _describe_file(file.name, target)
    return "same" if there == file else "other"


def _keep(
    archive: AnyPath, hashed: _Hashed, target: Path, file: PackedFile, entry: Dataset
) -> None:
    """Copy an entry to its place, unless it is not what it should be."""
    make_folder(target.parent)
    with atomic_file(target) as temporary:
        with temporary.open("wb") as out:
            while chunk := hashed.read(_CHUNK):
                out.write(chunk)
        if hashed.digest.hexdigest() != file.sha256:
            raise DataFileError(archive, f"is damaged: {file.name} was changed. {_AGAIN}")
        if entry.sha256 == file.sha256 or (entry.base is not None and entry.sha256 is None):
            return
        if entry.base is not None:
            raise DataFileError(archive, f"{file.name} is not the known original.")
        # Built on that machine from the originals, as it would be here, and held to its counts.
        check_counts(read_npz(temporary), whole_of(entry), f"{archive}: {file.name}")

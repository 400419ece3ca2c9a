"""Datasets by name: found in a folder or the user's cache, or downloaded once and built there.

Looked for in this order: the folder given, the folder in ``GRAPHFILTER_DATA``, the cache
(``GRAPHFILTER_CACHE``, or the usual place of the operating system). A file in one of the first
two must have the checksum of the catalogue. The cache holds what was built here from the
originals, each checked against its own checksum where one is known. Whatever the way, the counts
of the catalogue are checked at every loading.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.datasets import Progress
from graphfilter.data.files import drop_from_splits, note_unlabelled, read_npz, write_npz
from graphfilter.data.graph import Graph
from graphfilter.data.store import is_store, open_store
from graphfilter.util.errors import ConfigError, DataFileError, check_name, import_extra
from graphfilter.util.files import AnyPath, reading, scratch_folder
from graphfilter.util.records import sha256_of
from graphfilter_research.datasets import readers
from graphfilter_research.datasets.catalogue import ALIASES, DATASETS, Dataset, RemoteFile


def cache_folder() -> Path:
    """Return the folder of built datasets: ``GRAPHFILTER_CACHE``, or the system's usual place."""
    if set_by_user := os.environ.get("GRAPHFILTER_CACHE"):
        return Path(set_by_user)
    home, given = Path.home(), os.environ.get
    if sys.platform == "win32":
        local = Path(given("LOCALAPPDATA") or home / "AppData" / "Local")
        return local / "graphfilter" / "graphfilter" / "Cache"
    usual = home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(given("XDG_CACHE_HOME") or usual) / "graphfilter"


def add_directions(graph: Graph, path: Path) -> Graph:
    """Return the graph with the directions in ``path``; its edges must be those of the graph.

    Parameters
    ----------
    path : Path
        ``out1_graph_edges.txt`` of Geom-GCN, or an npz file of gnn-benchmark, whose vertices may
        be in another order: they are told by their features, and by those of their neighbours.
    """
    if path.suffix == ".npz":
        source = readers.read_gnn_benchmark(path, directed=True)
        links = source.out_links().tocoo()
        pairs = _match_vertices(source, graph, path)[np.stack([links.row, links.col], axis=1)]
    else:
        pairs = readers.read_geom_gcn_edges(path, graph.n_vertices)
    found = Graph.from_edges(pairs, graph.n_vertices, directed=True)
    if not np.array_equal(found.edges, graph.edges):
        raise DataFileError(
            path,
            f"without directions its {found.n_edges:,} edges must be the {graph.n_edges:,} of "
            f"{graph.name}; they are not. Get both files again.",
        )
    return replace(graph, arcs=found.arcs)


def _match_vertices(source: Graph, target: Graph, path: Path) -> NDArray[np.int64]:
    """Return the number in ``target`` of every vertex of ``source``.

    Vertices that are alike in their features and in those of their neighbours keep their order.
    """
    keys = [_descriptions(graph) for graph in (source, target)]
    if Counter(keys[0]) != Counter(keys[1]):
        problem = f"its vertices must be those of {target.name}, by their features and neighbours"
        raise DataFileError(path, f"{problem}; they are not. Get both files again.")
    orders = [sorted(range(len(k)), key=k.__getitem__) for k in keys]
    number = np.empty(target.n_vertices, dtype=np.int64)
    number[orders[0]] = orders[1]
    return number


def _descriptions(graph: Graph) -> list[tuple[Any, ...]]:
    """Describe every vertex by the columns of its features and of its neighbours' features."""
    x: Any = graph.features
    rows = [tuple(part.tolist()) for part in np.split(x.indices, x.indptr[1:-1])]
    neighbours = np.split(graph.indices, graph.indptr[1:-1])
    return [
        (row, tuple(sorted(rows[v] for v in near)))
        for row, near in zip(rows, neighbours, strict=True)
    ]


TIMEOUT_S = 30


def download(
    file: RemoteFile, folder: Path, target: Path, progress: Progress | None, name: str = ""
) -> None:
    """Fetch one file completely and verify its checksum, or raise.

    ``name`` is what the dataset's file is called in a data folder, where not as ``target`` is.
    """
    pooch = import_extra("pooch", "data", "downloading a dataset")
    path = folder / file.path
    bar: Any = False if progress is None else _Bar(path.name, progress)
    responses: list[Any] = []

    def remember(response: Any, *_: Any, **__: Any) -> None:
        responses.append(response)

    hooks = {"response": remember}
    downloader: Any = pooch.HTTPDownloader(timeout=TIMEOUT_S, progressbar=bar, hooks=hooks)
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(file.url, known, path.name, path.parent, downloader=downloader)
    except OSError as error:
        raise DataFileError(
            file.url,
            f"cannot be downloaded ({_reason(error)}). Try again later; or, without a network, "
            f"load the dataset on a machine that has one and copy {target.name} from the cache "
            f"there to {target}; or put the converted {target.name} in a folder"
            f"{f' as {name}' if name else ''} and set GRAPHFILTER_DATA to it.",
        ) from None
    except ValueError as error:
        raise DataFileError(
            file.url,
            f"is not the expected file ({error}). Nothing was kept. Try again; if it persists, "
            "the source has changed.",
        ) from error
    finally:
        # pooch leaves the connection of a failed download open until it is collected.
        for response in responses:
            response.close()


def _reason(error: BaseException) -> str:
    """Return the root cause of a failed download: the layers above only repeat it."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return str(getattr(error, "strerror", None) or error)


class _Bar:
    """What pooch takes for a progress bar; passes the numbers on to a callable."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress = name, progress
        self._done = self.total = 0

    def update(self, n: int) -> None:
        self._done = min(self._done + n, self.total) if self.total else self._done + n
        self._progress(self._name, self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        """Do nothing: whoever shows the numbers closes what shows them."""


@contextmanager
def _quiet(logger: logging.Logger) -> Generator[None]:
    """Keep pooch from printing what it does: the caller shows progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def describe(name: str) -> Dataset:
    """Return the entry of the catalogue; aliases work too."""
    known = ALIASES.get(str(name).lower(), name)
    return DATASETS[check_name("dataset", known, DATASETS)]


def load(name: str, *, folder: AnyPath | None = None, progress: Progress | None = None) -> Graph:
    """Load a dataset by name: see :func:`graphfilter.load_dataset`."""
    entry = describe(name)
    if entry.reader == "ogb":
        return _load_ogb(entry, folder)
    path = locate(entry.name, folder=folder)
    if entry.base is not None:
        base = load(entry.base, folder=folder, progress=progress)
        return _load_directed(entry, base, path, progress)
    if path is None:
        path = _build(entry, progress)
    elif path.parent != cache_folder():
        check_sha256(path, entry)
    graph = read_npz(path)
    if entry.largest_component:
        graph = graph.largest_component()
    graph = graph.replace(name=entry.name)
    check_counts(graph, entry, path)
    return graph


def locate(name: str, *, folder: AnyPath | None = None) -> Path | None:
    """Find the file that :func:`load` would read, or None where there is none yet."""
    entry = describe(name)
    if entry.file is None:
        return None
    paths = (place / entry.file for place in _places(folder))
    return next((path for path in paths if path.is_file()), None)


def _places(folder: AnyPath | None) -> list[Path]:
    """List where datasets are looked for, in order."""
    told = (folder, os.environ.get("GRAPHFILTER_DATA"))
    return [*(Path(place) for place in told if place), cache_folder()]


def _build(entry: Dataset, progress: Progress | None) -> Path:
    """Download the originals, build the graph, check it and keep it in the cache."""
    assert entry.file is not None
    target = cache_folder() / entry.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be made: {error.strerror}. Set GRAPHFILTER_CACHE to another folder"
        raise DataFileError(target.parent, f"{problem}.") from None
    whole = whole_of(entry)
    # Originals go to a folder that vanishes, whatever happens: nothing half-done can stay behind.
    with scratch_folder("graphfilter-originals-") as folder:
        for original in entry.originals:
            download(original, folder, target, progress)
        graph = _read_originals(whole, folder)
    check_counts(graph, whole, entry.url or entry.name)
    write_npz(graph, target)
    return target


def _load_directed(
    entry: Dataset, base: Graph, path: Path | None, progress: Progress | None
) -> Graph:
    """Add the directions that an original holds to the dataset without them."""
    [original] = entry.originals
    if path is None:
        path = cache_folder() / str(entry.file)
        folder = path.parents[len(Path(original.path).parts) - 1]
        download(original, folder, path, progress, name=str(entry.file))
    check_sha256(path, entry)
    return add_directions(base, path).replace(name=entry.name)


def _read_originals(entry: Dataset, folder: Path) -> Graph:
    first = folder / entry.originals[0].path
    if entry.reader == "planetoid":
        graph = readers.read_planetoid(folder, entry.name)
        fixed = readers.read_geom_gcn_splits(folder / "splits", entry.name, graph.n_vertices)
        assert graph.labels is not None
        unlabelled = np.flatnonzero(graph.labels < 0)
        fixed, n_changed = drop_from_splits(fixed, unlabelled)
        notes = dict.fromkeys([*graph.notes, *note_unlabelled(len(unlabelled), n_changed)])
        return graph.replace(splits=[*fixed, *graph.splits], notes=tuple(notes))
    if entry.reader == "geom_gcn":
        return readers.read_geom_gcn(folder, first.parent.name, folder / "splits")
    if entry.reader == "sgf":
        return readers.read_sgf(folder, first.stem)
    if entry.reader == "graphdata":
        return readers.read_graphdata(first)
    assert entry.reader == "heterophilous", entry.reader
    return readers.read_heterophilous(first)


def whole_of(entry: Dataset) -> Dataset:
    """Return the dataset of the same file whose graph is not cut to its largest component."""
    return next(e for e in DATASETS.values() if e.file == entry.file and not e.largest_component)


def check_sha256(path: Path, entry: Dataset) -> None:
    """Raise where a file has another checksum than the catalogue knows of it."""
    with reading(path, "Check its permissions."):
        found = sha256_of(path)
    if entry.sha256 is not None and found != entry.sha256:
        raise DataFileError(
            path,
            f"is not the {entry.name} that is known (sha256 {found[:12]}..., must be "
            f"{entry.sha256[:12]}...). Get it again; or, to use your own version, give it another "
            "name and read it with graphfilter.data.read_npz.",
        )


def check_counts(graph: Graph, entry: Dataset, where: AnyPath) -> None:
    """Raise where a graph has other numbers of vertices, edges, features or classes."""
    got = (graph.n_vertices, graph.n_edges, graph.n_features, graph.n_classes)
    if entry.counts is not None and got != entry.counts:
        raise DataFileError(
            where,
            f"is not {entry.name}: it must have (vertices, edges, features, classes) = "
            f"{entry.counts}; got {got}. Delete it and load the dataset again.",
        )


def _load_ogb(entry: Dataset, folder: AnyPath | None) -> Graph:
    """Open the store that was built of a dataset: the package ogb would unpickle it."""
    for place in _places(folder):
        if is_store(place / entry.name):
            graph = open_store(place / entry.name).replace(name=entry.name)
            check_counts(graph, entry, place / entry.name)
            return graph
    raise ConfigError(
        f"{entry.name} must be built as a graph store first; there is none. Fetch and unpack its "
        f"raw files ({entry.source}), then: graphfilter store FOLDER --out "
        f"{cache_folder() / entry.name}"
    )

"""Datasets by name: found in a folder or the user's cache, or downloaded once and built there.

Looked for in this order: the folder given, the folder in ``GRAPHFILTER_DATA``, the cache
(``GRAPHFILTER_CACHE``, or the usual place of the operating system). A file in one of the first
two must have the checksum of the catalogue. The cache holds what was built here from the
originals, each checked against its own checksum where one is known. Whatever the way, the counts
of the catalogue are checked at every loading.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphfilter.data import readers
from graphfilter.data.catalogue import ALIASES, DATASETS
from graphfilter.data.directions import add_directions
from graphfilter.data.download import Progress, download
from graphfilter.data.families import Dataset
from graphfilter.data.readers.npz import drop_from_splits, note_unlabelled
from graphfilter.errors import ConfigError, DataFileError, check_name
from graphfilter.graph import Graph
from graphfilter.storage import AnyPath, reading, scratch_folder, sha256_of
from graphfilter.store import is_store, open_store


def dataset_names() -> list[str]:
    """List the names that :func:`load_dataset` knows.

    >>> "cora" in dataset_names()
    True
    """
    return sorted(DATASETS)


def describe(name: str) -> Dataset:
    """Return what is known of a dataset; aliases work too.

    >>> describe("cora").counts
    (2708, 5278, 1433, 7)
    >>> describe("amazon_photo").name
    'photo'
    """
    known = ALIASES.get(str(name).lower(), name)
    return DATASETS[check_name("dataset", known, DATASETS)]


def load_dataset(
    name: str, *, folder: AnyPath | None = None, progress: Progress | None = None
) -> Graph:
    """Load a dataset by name, with its fixed splits in ``graph.splits``.

    Parameters
    ----------
    folder : path, optional
        Where to look first. Otherwise ``GRAPHFILTER_DATA``, then the user's cache; where the
        dataset is in none of them it is downloaded and kept in the cache.
    progress : callable, optional
        Called as ``progress(file name, bytes so far, bytes in all)`` while downloading.

    Raises
    ------
    DataFileError
        A file is damaged, or is not the dataset it is named after, or the originals could not be
        fetched; then the message says which file to put where.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> g.n_vertices, g.n_edges, g.n_classes
    (34, 78, 2)
    """
    entry = describe(name)
    if entry.reader == "make":
        return _make(entry.name).replace(name=entry.name)
    if entry.reader == "ogb":
        return _load_ogb(entry, folder)
    path = locate(entry.name, folder=folder)
    if entry.base is not None:
        base = load_dataset(entry.base, folder=folder, progress=progress)
        return _load_directed(entry, base, path, progress)
    if path is None:
        path = _build(entry, progress)
    elif path.parent != cache_folder():
        check_sha256(path, entry)
    graph = readers.read_npz(path)
    if entry.largest_component:
        graph = graph.largest_component()
    graph = graph.replace(name=entry.name)
    check_counts(graph, entry, path)
    return graph


def locate(name: str, *, folder: AnyPath | None = None) -> Path | None:
    """Find the file that :func:`load_dataset` would read, or None where there is none yet.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.data.locate("karate") is None  # made in memory, so it has no file
    True
    """
    entry = describe(name)
    if entry.file is None:
        return None
    paths = (place / entry.file for place in _places(folder))
    return next((path for path in paths if path.is_file()), None)


def _places(folder: AnyPath | None) -> list[Path]:
    """List where datasets are looked for, in order."""
    told = (folder, os.environ.get("GRAPHFILTER_DATA"))
    return [*(Path(place) for place in told if place), cache_folder()]


def cache_folder() -> Path:
    """Return the folder of built datasets: ``GRAPHFILTER_CACHE``, or the system's usual place."""
    if set_by_user := os.environ.get("GRAPHFILTER_CACHE"):
        return Path(set_by_user)
    import pooch

    return Path(pooch.os_cache("graphfilter"))


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
    readers.write_npz(graph, target)
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
            "name and read it with graphfilter.data.readers.read_npz.",
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


def _make(name: str) -> Graph:
    from graphfilter.data import synthetic

    makers: dict[str, Callable[[], Graph]] = {
        "bipartite": synthetic.make_bipartite,
        "csbm": synthetic.make_csbm,
        "digits": synthetic.make_digits,
        "karate": synthetic.make_karate,
    }
    return makers[name]()


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

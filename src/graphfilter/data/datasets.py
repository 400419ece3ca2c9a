"""Datasets by name: those that are made here, and those of installed packages.

A package adds datasets by an entry point of the group ``graphfilter.datasets``, which names a
:class:`Collection`, usually a module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from graphfilter.data import makers
from graphfilter.data.graph import Graph
from graphfilter.util.errors import check_name
from graphfilter.util.files import AnyPath
from graphfilter.util.plugins import DATASETS, load_plug_ins

Counts = tuple[int, int, int, int]
# Called as progress(file name, bytes so far, bytes in all) while a file is downloaded.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known of a dataset.

    Attributes
    ----------
    source, version, licence : str
        Where the data comes from. The licence is that of the source; it does not settle the rights
        in the original collection.
    counts : tuple or None
        Vertices, undirected edges, features and classes, checked whenever it is loaded.
    splits, problems : str
        In words, for people.
    base : str or None
        The dataset that this one is a form of.
    """

    name: str
    summary: str
    source: str
    version: str = "-"
    licence: str = "-"
    counts: Counts | None = None
    splits: str = "none"
    problems: str = ""
    aliases: tuple[str, ...] = ()
    base: str | None = None

    @property
    def is_made(self) -> bool:
        """Whether it is made in memory, and needs no file."""
        return self.name in MADE


class Collection(Protocol):
    """Datasets that a package adds.

    It may also have ``find_raw(folder)``, which returns a callable that builds a graph store from a
    folder of raw files it knows, and None for any other folder.
    """

    DATASETS: Mapping[str, Dataset]

    def load(
        self, name: str, *, folder: AnyPath | None = None, progress: Progress | None = None
    ) -> Graph:
        """Load a dataset by its name."""
        ...

    def locate(self, name: str, *, folder: AnyPath | None = None) -> Path | None:
        """Find the file that would be read, or None where there is none yet."""
        ...


MADE: dict[str, tuple[Dataset, Callable[[], Graph]]] = {
    name: (Dataset(name=name, summary=summary, source=source), make)
    for name, summary, source, make in (
        (
            "bipartite",
            "Two sides, edges only between: high frequency",
            "section 5",
            makers.make_bipartite,
        ),
        ("csbm", "Contextual stochastic block model", "Deshpande et al. 2018", makers.make_csbm),
        (
            "digits",
            "Images of digits and their nearest neighbours",
            "scikit-learn",
            makers.make_digits,
        ),
        ("karate", "Zachary's karate club", "networkx", makers.make_karate),
    )
}


def collections() -> list[Any]:
    """Return the collections of installed packages."""
    return list(load_plug_ins(DATASETS).values())


def _known() -> dict[str, tuple[Dataset, Collection | None]]:
    known: dict[str, tuple[Dataset, Collection | None]] = {}
    for collection in collections():
        known |= {name: (entry, collection) for name, entry in collection.DATASETS.items()}
    return known | {name: (entry, None) for name, (entry, _) in MADE.items()}


def _find(name: str) -> tuple[Dataset, Collection | None]:
    known = _known()
    aliases = {alias: entry.name for entry, _ in known.values() for alias in entry.aliases}
    own = aliases.get(str(name).lower(), name)
    return known[check_name("dataset", own, known)]


def dataset_names() -> list[str]:
    """List the names that :func:`load_dataset` knows.

    >>> "karate" in dataset_names()
    True
    """
    return sorted(_known())


def describe(name: str) -> Dataset:
    """Return what is known of a dataset; aliases work too.

    >>> describe("karate").summary
    "Zachary's karate club"
    """
    return _find(name)[0]


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
    entry, collection = _find(name)
    if collection is None:
        return MADE[entry.name][1]().replace(name=entry.name)
    return collection.load(entry.name, folder=folder, progress=progress)


def locate(name: str, *, folder: AnyPath | None = None) -> Path | None:
    """Find the file that :func:`load_dataset` would read, or None where there is none yet.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.data.locate("karate") is None  # made in memory, so it has no file
    True
    """
    entry, collection = _find(name)
    return None if collection is None else collection.locate(entry.name, folder=folder)


def cache_folder() -> Path:
    """Return the folder of built datasets: ``GRAPHFILTER_CACHE``, or the system's usual place."""
    if set_by_user := os.environ.get("GRAPHFILTER_CACHE"):
        return Path(set_by_user)
    import pooch

    return Path(pooch.os_cache("graphfilter"))

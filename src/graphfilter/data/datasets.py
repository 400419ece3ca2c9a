r"""Datasets by name: those that are made here, and those of installed packages.

A package adds datasets by an entry point of the group ``graphfilter.datasets``, which names a
:class:`Collection`, usually a module.

What is made here needs no download, and its frequencies are known. A random graph is drawn pair by
pair, each pair of vertices joined with a probability that depends on its classes only. Instead of
tossing a coin for each of the n² pairs, the gaps between joined pairs are drawn: they are
geometric, so time and memory grow with the number of edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, check_count, check_name, import_extra
from graphfilter.util.files import AnyPath
from graphfilter.util.plugins import DATASETS, load_plug_ins

__all__ = [
    "dataset_names", "describe", "load_dataset", "locate", "make_bipartite", "make_csbm",
    "make_digits", "make_karate",
]  # fmt: skip

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


_TRIES = 20


def make_csbm(
    n_vertices: int = 2000,
    frequency: float = 1.0,
    mean_degree: float = 10.0,
    n_features: int = 50,
    signal: float = 1.0,
    seed: int = 0,
) -> Graph:
    r"""Make a contextual stochastic block model whose labels have a chosen frequency.

    Two classes of equal size. A share ``frequency / 2`` of the edges is expected to cross
    between them, since in a regular graph the Rayleigh quotient of the labels y = ±1 is

    .. math:: r(y) = \frac{y^\top L y}{y^\top y} = 2 \cdot \text{share of crossing edges}.

    At frequency 0 neighbours always agree, at 2 they never do, and at 1 the edges say nothing.
    Degrees vary here, which draws r(y) a little towards 1 (by a factor of about
    :math:`1 - 1 / (4 \cdot \text{mean degree})`).

    The features are :math:`x_v \sim N(\pm \mu, I)` with :math:`\|\mu\| =` ``signal``, so the
    best classifier that sees no edges is right with probability :math:`\Phi(\text{signal})`:
    84 % at the default, where one trained on a thousand vertices reaches about 80 %.

    Examples
    --------
    >>> graph = make_csbm(n_vertices=400, frequency=2.0)
    >>> u, v = graph.edges.T
    >>> bool((graph.labels[u] != graph.labels[v]).all())
    True
    """
    if n_vertices < 4:
        raise ConfigError(f"n_vertices must be at least 4; got {n_vertices}.")
    if not 0 <= frequency <= 2:
        raise ConfigError(f"frequency must lie in 0..2; got {frequency}.")
    check_count("n_features", n_features)
    half = n_vertices // 2
    sizes = (half, n_vertices - half)
    n_edges = n_vertices * mean_degree / 2
    n_within, n_across = sum(m * (m - 1) // 2 for m in sizes), sizes[0] * sizes[1]
    p_within = (1 - frequency / 2) * n_edges / n_within
    p_across = frequency / 2 * n_edges / n_across
    if not 0 <= min(p_within, p_across) <= max(p_within, p_across) <= 1:
        raise ConfigError(
            f"mean_degree must leave room for the edges among {n_vertices} vertices at frequency "
            f"{frequency:g}; got {mean_degree:g}. Use a lower degree, or more vertices."
        )
    rng = np.random.default_rng(seed)
    first, second = (_pairs_within(m, p_within, rng) for m in sizes)
    across = _pairs_across(*sizes, p_across, rng)
    labels = np.repeat([0, 1], sizes)
    mean = signal / math.sqrt(n_features)
    features = rng.standard_normal((n_vertices, n_features), dtype=np.float32)
    features += np.where(labels == 1, mean, -mean).astype(np.float32)[:, None]
    return Graph.from_edges(
        np.concatenate([first, second + half, across]),
        n_vertices,
        features=features,
        labels=labels,
        name=f"csbm {frequency:g}",
    )


def make_bipartite(
    n_side: int = 1000, probability: float = 0.05, n_features: int = 50, seed: int = 0
) -> Graph:
    """Make the paper's random bipartite graph: the classes are the sides, the features noise.

    Each of the ``n_side²`` pairs across is joined with the given probability: 50,000 edges are
    expected at the defaults (the paper's draw has 50,182). Only the graph tells the sides
    apart. A draw that is not connected is drawn again.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_bipartite(n_side=50, probability=0.1)
    >>> gf.spectral.homophily(g)
    0.0
    """
    if n_side < 1:
        raise ConfigError(f"n_side must be at least 1; got {n_side}.")
    if not 0 < probability <= 1:
        raise ConfigError(f"probability must lie in 0..1 and not be 0; got {probability}.")
    check_count("n_features", n_features)
    rng = np.random.default_rng(seed)
    for _ in range(_TRIES):
        graph = Graph.from_edges(
            _pairs_across(n_side, n_side, probability, rng), 2 * n_side, name="bipartite"
        )
        if sp.csgraph.connected_components(graph.adjacency, directed=False)[0] == 1:
            features = rng.standard_normal((2 * n_side, n_features), dtype=np.float32)
            return graph.replace(features=features, labels=np.repeat([0, 1], n_side))
    raise ConfigError(
        f"probability must be large enough for a connected graph on {2 * n_side} vertices; got "
        f"{probability:g}, and {_TRIES} draws were not connected."
    )


def make_digits(n_neighbors: int = 10) -> Graph:
    """Make a neighbour graph of the 1,797 handwritten digits that come with scikit-learn.

    Two images are joined where one is among the ``n_neighbors`` nearest of the other. Features
    are the 8 × 8 pixels, from 0 to 16; labels are the digits: a low-frequency graph. Of images
    that are equally far away the first count as nearest, whatever the number of threads.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_digits(n_neighbors=5)
    >>> g.n_vertices, g.n_classes
    (1797, 10)
    """
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    n_vertices = len(digits.data)
    if not 1 <= n_neighbors < n_vertices:
        raise ConfigError(f"n_neighbors must lie in 1..{n_vertices - 1}; got {n_neighbors}.")
    # Whole numbers, so that distances are exact and ties are seen.
    squares = np.square(digits.data).sum(axis=1)
    distances = squares[:, None] + squares - 2 * digits.data @ digits.data.T
    np.fill_diagonal(distances, np.inf)
    rank = distances * n_vertices + np.arange(n_vertices)
    ends = np.argpartition(rank, n_neighbors - 1, axis=1)[:, :n_neighbors]
    starts = np.repeat(np.arange(n_vertices), n_neighbors)
    joined = (np.ones(ends.size), (starts, ends.ravel()))
    nearest = sp.csr_array(joined, shape=(n_vertices, n_vertices))
    return Graph.from_scipy(
        nearest.maximum(nearest.T),
        features=digits.data,
        labels=digits.target,
        feature_names=digits.feature_names,
        name="digits",
    )


def make_karate() -> Graph:
    """Make Zachary's karate club: 34 members, labelled by the club each joined after the split.

    Edges are unweighted. The members have no features, so each gets a column of its own (the
    identity matrix), with which a model can learn one weight per vertex.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.data.make_karate().classes.tolist()
    ['Mr. Hi', 'Officer']
    """
    club = import_extra("networkx", "formats", "the karate club").karate_club_graph()
    n_vertices = club.number_of_nodes()
    return Graph.from_edges(
        np.array(club.edges),
        n_vertices,
        features=sp.eye_array(n_vertices, format="csr"),
        labels=[club.nodes[v]["club"] for v in range(n_vertices)],
        name="karate",
    )


def _pairs_within(n: int, p: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Join each pair u < v of n vertices with probability p."""
    k = _successes(n * (n - 1) // 2, p, rng)
    # Pair k is (u, v) with k = v (v - 1) / 2 + u. The root is exact to one; the rest corrects it.
    v = ((1 + np.sqrt(1 + 8 * k.astype(float))) / 2).astype(np.int64)
    v -= v * (v - 1) // 2 > k
    v += v * (v + 1) // 2 <= k
    return np.stack([k - v * (v - 1) // 2, v], axis=1)


def _pairs_across(n: int, m: int, p: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Join each of the first n vertices with each of the next m with probability p."""
    u, v = np.divmod(_successes(n * m, p, rng), m)
    return np.stack([u, n + v], axis=1)


def _successes(n_trials: int, p: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which of ``n_trials`` independent trials of probability p succeed, in order."""
    if p <= 0:
        return np.empty(0, dtype=np.int64)
    n_likely = int(n_trials * p + 5 * math.sqrt(n_trials * p)) + 10
    chunks, last = [], -1
    while last < n_trials:
        gaps = np.minimum(rng.geometric(p, n_likely), n_trials + 1)
        chunks.append(last + np.cumsum(gaps))
        last = int(chunks[-1][-1])
    positions = np.concatenate(chunks)
    return positions[positions < n_trials]


MADE: dict[str, tuple[Dataset, Callable[[], Graph]]] = {
    name: (Dataset(name=name, summary=summary, source=source), make)
    for name, summary, source, make in (
        ("bipartite", "Two sides, edges only between: high frequency", "section 5", make_bipartite),
        ("csbm", "Contextual stochastic block model", "Deshpande et al. 2018", make_csbm),
        ("digits", "Images of digits and their nearest neighbours", "scikit-learn", make_digits),
        ("karate", "Zachary's karate club", "networkx", make_karate),
    )
}


def collections() -> list[Any]:
    """Return the collections of installed packages."""
    return list(load_plug_ins(DATASETS).values())


def _entries() -> dict[str, tuple[Dataset, Collection | None]]:
    added = {n: (entry, one) for one in collections() for n, entry in one.DATASETS.items()}
    return {**added, **{name: (entry, None) for name, (entry, _) in MADE.items()}}


def _find(name: str) -> tuple[Dataset, Collection | None]:
    entries = _entries()
    aliases = {alias: entry.name for entry, _ in entries.values() for alias in entry.aliases}
    return entries[check_name("dataset", aliases.get(str(name).lower(), name), entries)]


def dataset_names() -> list[str]:
    """List the names that :func:`load_dataset` knows.

    >>> "karate" in dataset_names()
    True
    """
    return sorted(_entries())


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
    if name in MADE:  # No other package need be asked.
        return MADE[name][1]().replace(name=name)
    entry, collection = _find(name)
    assert collection is not None
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

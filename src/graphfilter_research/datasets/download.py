"""The direction of the links of a dataset, from an original that still has it.

Downloads of one file, its checksum verified, or an error that says what to put where.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.datasets import Progress
from graphfilter.data.edges import align_arcs
from graphfilter.data.graph import Graph
from graphfilter.util.errors import DataFileError
from graphfilter_research.datasets import readers
from graphfilter_research.datasets.catalogue import RemoteFile


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
    found = Graph.from_edges(pairs, graph.n_vertices)
    if not np.array_equal(found.edges, graph.edges):
        raise DataFileError(
            path,
            f"without directions its {found.n_edges:,} edges must be the {graph.n_edges:,} of "
            f"{graph.name}; they are not. Get both files again.",
        )
    return replace(graph, arcs=align_arcs(pairs, None, graph.indptr, graph.indices))


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
    import pooch

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

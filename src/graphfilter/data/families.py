"""Families of datasets: what those that come from one place have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphfilter.data.checksums import CONVERTED, ORIGINALS

GITHUB = "https://raw.githubusercontent.com"

Counts = tuple[int, int, int, int]


@dataclass(frozen=True)
class RemoteFile:
    """One original file. ``sha256`` is None where no copy was available to compute it from."""

    url: str
    path: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known of a dataset.

    Attributes
    ----------
    source, version, licence : str
        Where the data comes from. The licence is that of the source repository; it does not
        settle the rights in the original collection.
    counts : tuple or None
        Vertices, undirected edges, features and classes, checked at every loading.
    reader : str
        How the graph is made from ``originals`` or, for *make* and *ogb*, without any.
    originals : tuple of RemoteFile
        What is downloaded, and built once into ``file`` in the user's cache.
    file : str or None
        The name of the converted file in a data folder.
    largest_component : bool
        Take the largest connected component of what ``file`` holds.
    base : str or None
        The dataset that this one is with directions, which ``file``, an original, holds.
    splits, problems : str
        In words, for people.
    """

    name: str
    summary: str
    source: str
    version: str
    licence: str
    reader: str
    counts: Counts | None = None
    originals: tuple[RemoteFile, ...] = ()
    file: str | None = None
    largest_component: bool = False
    base: str | None = None
    splits: str = "none"
    problems: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def url(self) -> str | None:
        """Address of the first original, or None where nothing is downloaded."""
        return self.originals[0].url if self.originals else None

    @property
    def sha256(self) -> str | None:
        """Checksum of ``file``, or None where it is not known or there is no such file."""
        if self.base is not None:
            return self.originals[0].sha256
        return None if self.file is None else CONVERTED.get(self.file)


def files(base: str, *paths: str) -> tuple[RemoteFile, ...]:
    """List original files below an address, with what is known of their checksums."""
    return tuple(RemoteFile(f"{base}/{path}", path, ORIGINALS.get(path)) for path in paths)


def _geom_gcn_splits(name: str) -> tuple[RemoteFile, ...]:
    paths = [f"splits/{name}_split_0.6_0.2_{i}.npz" for i in range(10)]
    return files(f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master", *paths)


def planetoid(name: str, summary: str, counts: Counts, problems: str) -> Dataset:
    """Describe a citation graph of Planetoid, with the splits of Geom-GCN."""
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    paths = [f"ind.{name}.{part}" for part in parts]
    originals = files(f"{GITHUB}/kimiyoung/planetoid/master/data", *paths)
    return Dataset(
        name=name,
        summary=summary,
        source=f"kimiyoung/planetoid, data/ind.{name}.*",
        version="Yang et al. 2016, splits of Pei et al. 2020",
        licence="MIT",
        reader="planetoid",
        counts=counts,
        originals=originals + _geom_gcn_splits(name),
        file=f"{name}.npz",
        splits="10 fixed (Geom-GCN, 48/32/20); public",
        problems=problems,
    )


def graphdata(name: str, remote: str, summary: str, counts: Counts) -> Dataset:
    """Describe a graph of products by Shchur et al., as GraphData has it."""
    return Dataset(
        name=name,
        summary=summary,
        source=f"EdisonLeeeee/GraphData, datasets/{remote}",
        version="Shchur et al. 2018, encoded anew",
        licence="MIT",
        reader="graphdata",
        counts=counts,
        originals=files(f"{GITHUB}/EdisonLeeeee/GraphData/master/datasets", remote),
        file=f"{name}.npz",
        splits="sgf in the converted file; none when built from the original",
        problems="Not connected: the paper uses the largest component.",
        aliases=(f"amazon_{name}",),
    )


def sgf_bipartite(
    name: str,
    summary: str,
    revision: str,
    n_edges: int,
    *,
    file: str,
    problems: str,
    aliases: tuple[str, ...] = (),
) -> Dataset:
    """Describe a bipartite graph of the paper's authors, at a revision of theirs."""
    paths = [f"bipartite.{part}" for part in ("graph", "X", "y", "split")]
    base = f"{GITHUB}/gear/sgf/{revision}/data"
    # The checksums are those of the newest revision.
    known = files(base, *paths)
    unknown = tuple(replace(file, sha256=None) for file in known)
    return Dataset(
        name=name,
        summary=summary,
        source="gear/sgf, data/bipartite.*",
        version=f"NT, Maehara and Murata 2020, {revision}",
        licence="none stated",
        reader="sgf",
        counts=(2000, n_edges, 50, 2),
        originals=known if revision == "master" else unknown,
        file=file,
        splits="1 fixed (own)",
        problems=problems,
        aliases=aliases,
    )


def component(whole: Dataset, counts: Counts) -> Dataset:
    """Describe the largest component of a dataset."""
    return replace(
        whole,
        name=f"{whole.name}_lcc",
        summary=f"{whole.summary}, largest component, as in the paper",
        counts=counts,
        largest_component=True,
        problems="",
        aliases=(),
    )


def directed(whole: Dataset, original: RemoteFile, folder: str, source: str) -> Dataset:
    """Describe a dataset with the direction of its links, which another file holds."""
    return replace(
        whole,
        name=f"{whole.name}_directed",
        summary=f"{whole.summary}, with the direction of its links",
        source=f"{whole.source}; links from {source}",
        reader="directed",
        originals=(original,),
        file=f"raw/{folder}/{original.path}",
        base=whole.name,
        aliases=(),
    )


def directed_by_geom_gcn(whole: Dataset, remote: str) -> Dataset:
    """Describe a dataset with the direction of its links, which Geom-GCN has."""
    base, path = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master", f"{remote}/out1_graph_edges.txt"
    [original] = files(f"{base}/new_data", path)
    return directed(whole, original, "geom-gcn", f"graphdml-uiuc-jlu/geom-gcn, new_data/{remote}")


def geom_gcn(name: str, remote: str, summary: str, counts: Counts, problems: str = "") -> Dataset:
    """Describe a graph of Geom-GCN."""
    paths = [f"{remote}/out1_graph_edges.txt", f"{remote}/out1_node_feature_label.txt"]
    texts = files(f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master/new_data", *paths)
    return Dataset(
        name=name,
        summary=summary,
        source=f"graphdml-uiuc-jlu/geom-gcn, new_data/{remote}",
        version="Pei et al. 2020",
        licence="none stated",
        reader="geom_gcn",
        counts=counts,
        originals=texts + _geom_gcn_splits(remote),
        file=f"{name}.npz",
        splits="10 fixed (Geom-GCN, 48/32/20)",
        problems=problems,
    )


def heterophilous(
    name: str, summary: str, counts: Counts, problems: str = "", *, own_splits: bool = False
) -> Dataset:
    """Describe a graph of Platonov et al."""
    base = f"{GITHUB}/yandex-research/heterophilous-graphs/main/data"
    return Dataset(
        name=name,
        summary=summary,
        source=f"yandex-research/heterophilous-graphs, data/{name}.npz",
        version="Platonov et al. 2023",
        licence="MIT",
        reader="heterophilous",
        counts=counts,
        originals=files(base, f"{name}.npz"),
        file=f"{name}.npz",
        splits="10 fixed (own)" if own_splits else "10 fixed (Geom-GCN, 48/32/20)",
        problems=problems,
    )


def made(name: str, summary: str, source: str) -> Dataset:
    """Describe a dataset that is made, not downloaded."""
    return Dataset(
        name=name, summary=summary, source=source, version="-", licence="-", reader="make"
    )


def ogb(
    name: str, archive: str, summary: str, licence: str, counts: Counts | None = None
) -> Dataset:
    """Describe a dataset of the Open Graph Benchmark."""
    return Dataset(
        name=name,
        summary=summary,
        source=f"Open Graph Benchmark, https://snap.stanford.edu/ogb/data/nodeproppred/{archive}",
        version="Hu et al. 2020",
        licence=licence,
        reader="ogb",
        counts=counts,
        splits="public (by time or sales rank)",
        aliases=(name.replace("-", "_"),),
    )

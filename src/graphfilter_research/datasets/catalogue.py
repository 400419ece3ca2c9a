"""SHA-256 of the original files and of the converted ones, as far as copies were available.

Families of datasets: what those that come from one place have in common.

The datasets as data: where each comes from, what it counts and what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from graphfilter.data.datasets import Counts, Dataset as Described


def _checksums(folder: str) -> dict[str, str]:
    """Return the checksums by path below a folder, from a file in the format of sha256sum."""
    text = Path(__file__).with_name("checksums.txt").read_text("utf-8")
    found = (line.split(f"  {folder}/", 1) for line in text.splitlines() if f"  {folder}/" in line)
    return {path: checksum for checksum, path in found}


# By the path below the source's address. Originals that are not listed are checked by counts.
ORIGINALS = _checksums("originals")
# By file name: the datasets in the package's own format, as converted from the originals.
CONVERTED = _checksums("converted")


GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class RemoteFile:
    """One original file. ``sha256`` is None where no copy was available to compute it from."""

    url: str
    path: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset(Described):
    """What is known of a dataset of this catalogue, and how it is built.

    Attributes
    ----------
    reader : str
        How the graph is made from ``originals`` or, for *ogb*, without any.
    originals : tuple of RemoteFile
        What is downloaded, and built once into ``file`` in the user's cache.
    file : str or None
        The name of the converted file in a data folder.
    largest_component : bool
        Take the largest connected component of what ``file`` holds.
    base : str or None
        The dataset that this one is with directions, which ``file``, an original, holds.
    """

    reader: str
    originals: tuple[RemoteFile, ...] = ()
    file: str | None = None
    largest_component: bool = False

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


_LEAK = "Duplicate vertices leak from training to test: report the filtered version beside it."
_PHOTO = graphdata(
    "photo", "amazon_photo.npz", "Amazon photo products bought together", (7650, 119081, 745, 8)
)
_COMPUTERS = graphdata(
    "computers", "amazon_cs.npz", "Amazon computers bought together", (13752, 245861, 767, 10)
)

_UNDIRECTED = {
    entry.name: entry
    for entry in (
        planetoid(
            "cora",
            "Machine-learning papers that cite each other, by topic",
            (2708, 5278, 1433, 7),
            "The Geom-GCN splits cover only the 2,485 vertices of the largest component.",
        ),
        planetoid(
            "citeseer",
            "Computer-science papers that cite each other, by field",
            (3327, 4552, 3703, 6),
            "15 vertices have no features and no label in the source: unlabelled, not in splits. "
            "Geom-GCN splits 4 and 5 cover only the largest component.",
        ),
        planetoid(
            "pubmed",
            "Papers on diabetes that cite each other, by kind of diabetes",
            (19717, 44324, 500, 3),
            "",
        ),
        _PHOTO,
        component(_PHOTO, (7487, 119043, 745, 8)),
        _COMPUTERS,
        component(_COMPUTERS, (13381, 245778, 767, 10)),
        geom_gcn(
            "wisconsin", "wisconsin", "Web pages of a university (WebKB)", (251, 450, 1703, 5)
        ),
        geom_gcn(
            "texas",
            "texas",
            "Web pages of a university (WebKB)",
            (183, 279, 1703, 5),
            "One class has a single vertex, so no split can be stratified fully.",
        ),
        heterophilous(
            "cornell", "Web pages of a university (WebKB), corrected", (183, 277, 1703, 5)
        ),
        geom_gcn(
            "cornell_geomgcn",
            "cornell",
            "Cornell as widely used: its links with the pages of Texas",
            (183, 277, 1703, 5),
            "Features and labels are those of Texas. For comparison with published numbers only.",
        ),
        heterophilous(
            "chameleon", "Wikipedia pages on chameleons, by traffic", (2277, 31371, 2325, 5), _LEAK
        ),
        heterophilous(
            "squirrel", "Wikipedia pages on squirrels, by traffic", (5201, 198353, 2089, 5), _LEAK
        ),
        heterophilous(
            "chameleon_filtered",
            "Chameleon without duplicate vertices",
            (890, 8854, 2325, 5),
            own_splits=True,
        ),
        heterophilous(
            "squirrel_filtered",
            "Squirrel without duplicate vertices",
            (2223, 46998, 2089, 5),
            own_splits=True,
        ),
        heterophilous("actor", "Actors on the same Wikipedia page", (7600, 26659, 932, 5)),
        heterophilous(
            "minesweeper",
            "A grid with mines, by whether a cell holds one",
            (10000, 39402, 7, 2),
            "Classes are unbalanced: judge by ROC AUC.",
            own_splits=True,
        ),
        heterophilous(
            "tolokers",
            "Workers on common tasks, by whether they were banned",
            (11758, 519000, 10, 2),
            "Classes are unbalanced: judge by ROC AUC.",
            own_splits=True,
        ),
        sgf_bipartite(
            "bipartite_paper",
            "The synthetic bipartite graph that the paper describes",
            "42e18b5",
            50182,
            file="bipartite_paper.npz",
            problems="Replaced in October 2020 by bipartite_sparse: see docs/errata.md.",
        ),
        sgf_bipartite(
            "bipartite_sparse",
            "The sparser bipartite graph that replaced the paper's",
            "master",
            6018,
            file="bipartite.npz",
            problems="6,018 edges, where the paper states 50,182: see bipartite_paper.",
            aliases=("bipartite_sgf",),
        ),
        ogb(
            "ogbn-arxiv",
            "arxiv.zip",
            "arXiv papers in computer science",
            "ODC-BY",
            (169343, 1157799, 128, 40),
        ),
        ogb("ogbn-products", "products.zip", "Amazon products bought together", "Amazon"),
        ogb("ogbn-papers100M", "papers100M-bin.zip", "Papers that cite each other", "ODC-BY"),
    )
}

# Planetoid lists every citation in both directions, and the corrected Cornell has its vertices in
# another order than the only file of its links: Citeseer, Pubmed and Cornell are not here.
_DIRECTED = (
    directed(
        _UNDIRECTED["cora"],
        files(f"{GITHUB}/shchur/gnn-benchmark/master/data/npz", "cora.npz")[0],
        "gnn-benchmark",
        "shchur/gnn-benchmark, data/npz/cora.npz",
    ),
    *(
        directed_by_geom_gcn(_UNDIRECTED[name], remote)
        for name, remote in (
            ("wisconsin", "wisconsin"),
            ("texas", "texas"),
            ("cornell_geomgcn", "cornell"),
            ("chameleon", "chameleon"),
            ("squirrel", "squirrel"),
            ("actor", "film"),
        )
    ),
)

DATASETS = _UNDIRECTED | {entry.name: entry for entry in _DIRECTED}

ALIASES = {alias: entry.name for entry in DATASETS.values() for alias in entry.aliases}

"""The datasets as data: where each comes from, what it counts and what is wrong with it."""

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


def _files(base: str, *paths: str) -> tuple[RemoteFile, ...]:
    return tuple(RemoteFile(f"{base}/{path}", path, ORIGINALS.get(path)) for path in paths)


def _geom_gcn_splits(name: str) -> tuple[RemoteFile, ...]:
    paths = [f"splits/{name}_split_0.6_0.2_{i}.npz" for i in range(10)]
    return _files(f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master", *paths)


def _planetoid(name: str, summary: str, counts: Counts, problems: str) -> Dataset:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    paths = [f"ind.{name}.{part}" for part in parts]
    originals = _files(f"{GITHUB}/kimiyoung/planetoid/master/data", *paths)
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


def _graphdata(name: str, remote: str, summary: str, counts: Counts) -> Dataset:
    return Dataset(
        name=name,
        summary=summary,
        source=f"EdisonLeeeee/GraphData, datasets/{remote}",
        version="Shchur et al. 2018, encoded anew",
        licence="MIT",
        reader="graphdata",
        counts=counts,
        originals=_files(f"{GITHUB}/EdisonLeeeee/GraphData/master/datasets", remote),
        file=f"{name}.npz",
        splits="sgf in the converted file; none when built from the original",
        problems="Not connected: the paper uses the largest component.",
        aliases=(f"amazon_{name}",),
    )


def _sgf_bipartite(
    name: str,
    summary: str,
    revision: str,
    n_edges: int,
    *,
    file: str,
    problems: str,
    aliases: tuple[str, ...] = (),
) -> Dataset:
    paths = [f"bipartite.{part}" for part in ("graph", "X", "y", "split")]
    base = f"{GITHUB}/gear/sgf/{revision}/data"
    # The checksums are those of the newest revision.
    known = _files(base, *paths)
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


def _component(whole: Dataset, counts: Counts) -> Dataset:
    return replace(
        whole,
        name=f"{whole.name}_lcc",
        summary=f"{whole.summary}, largest component, as in the paper",
        counts=counts,
        largest_component=True,
        problems="",
        aliases=(),
    )


def _directed(whole: Dataset, original: RemoteFile, folder: str, source: str) -> Dataset:
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


def _directed_by_geom_gcn(whole: Dataset, remote: str) -> Dataset:
    base, path = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master", f"{remote}/out1_graph_edges.txt"
    [original] = _files(f"{base}/new_data", path)
    return _directed(whole, original, "geom-gcn", f"graphdml-uiuc-jlu/geom-gcn, new_data/{remote}")


def _geom_gcn(name: str, remote: str, summary: str, counts: Counts, problems: str = "") -> Dataset:
    paths = [f"{remote}/out1_graph_edges.txt", f"{remote}/out1_node_feature_label.txt"]
    texts = _files(f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master/new_data", *paths)
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


def _heterophilous(
    name: str, summary: str, counts: Counts, problems: str = "", *, own_splits: bool = False
) -> Dataset:
    base = f"{GITHUB}/yandex-research/heterophilous-graphs/main/data"
    return Dataset(
        name=name,
        summary=summary,
        source=f"yandex-research/heterophilous-graphs, data/{name}.npz",
        version="Platonov et al. 2023",
        licence="MIT",
        reader="heterophilous",
        counts=counts,
        originals=_files(base, f"{name}.npz"),
        file=f"{name}.npz",
        splits="10 fixed (own)" if own_splits else "10 fixed (Geom-GCN, 48/32/20)",
        problems=problems,
    )


def _made(name: str, summary: str, source: str) -> Dataset:
    return Dataset(
        name=name, summary=summary, source=source, version="-", licence="-", reader="make"
    )


def _ogb(
    name: str, archive: str, summary: str, licence: str, counts: Counts | None = None
) -> Dataset:
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
_PHOTO = _graphdata(
    "photo", "amazon_photo.npz", "Amazon photo products bought together", (7650, 119081, 745, 8)
)
_COMPUTERS = _graphdata(
    "computers", "amazon_cs.npz", "Amazon computers bought together", (13752, 245861, 767, 10)
)

_UNDIRECTED = {
    entry.name: entry
    for entry in (
        _planetoid(
            "cora",
            "Machine-learning papers that cite each other, by topic",
            (2708, 5278, 1433, 7),
            "The Geom-GCN splits cover only the 2,485 vertices of the largest component.",
        ),
        _planetoid(
            "citeseer",
            "Computer-science papers that cite each other, by field",
            (3327, 4552, 3703, 6),
            "15 vertices have no features and no label in the source: unlabelled, not in splits. "
            "Geom-GCN splits 4 and 5 cover only the largest component.",
        ),
        _planetoid(
            "pubmed",
            "Papers on diabetes that cite each other, by kind of diabetes",
            (19717, 44324, 500, 3),
            "",
        ),
        _PHOTO,
        _component(_PHOTO, (7487, 119043, 745, 8)),
        _COMPUTERS,
        _component(_COMPUTERS, (13381, 245778, 767, 10)),
        _geom_gcn(
            "wisconsin", "wisconsin", "Web pages of a university (WebKB)", (251, 450, 1703, 5)
        ),
        _geom_gcn(
            "texas",
            "texas",
            "Web pages of a university (WebKB)",
            (183, 279, 1703, 5),
            "One class has a single vertex, so no split can be stratified fully.",
        ),
        _heterophilous(
            "cornell", "Web pages of a university (WebKB), corrected", (183, 277, 1703, 5)
        ),
        _geom_gcn(
            "cornell_geomgcn",
            "cornell",
            "Cornell as widely used: its links with the pages of Texas",
            (183, 277, 1703, 5),
            "Features and labels are those of Texas. For comparison with published numbers only.",
        ),
        _heterophilous(
            "chameleon", "Wikipedia pages on chameleons, by traffic", (2277, 31371, 2325, 5), _LEAK
        ),
        _heterophilous(
            "squirrel", "Wikipedia pages on squirrels, by traffic", (5201, 198353, 2089, 5), _LEAK
        ),
        _heterophilous(
            "chameleon_filtered",
            "Chameleon without duplicate vertices",
            (890, 8854, 2325, 5),
            own_splits=True,
        ),
        _heterophilous(
            "squirrel_filtered",
            "Squirrel without duplicate vertices",
            (2223, 46998, 2089, 5),
            own_splits=True,
        ),
        _heterophilous("actor", "Actors on the same Wikipedia page", (7600, 26659, 932, 5)),
        _heterophilous(
            "minesweeper",
            "A grid with mines, by whether a cell holds one",
            (10000, 39402, 7, 2),
            "Classes are unbalanced: judge by ROC AUC.",
            own_splits=True,
        ),
        _heterophilous(
            "tolokers",
            "Workers on common tasks, by whether they were banned",
            (11758, 519000, 10, 2),
            "Classes are unbalanced: judge by ROC AUC.",
            own_splits=True,
        ),
        _sgf_bipartite(
            "bipartite_paper",
            "The synthetic bipartite graph that the paper describes",
            "42e18b5",
            50182,
            file="bipartite_paper.npz",
            problems="Replaced in October 2020 by bipartite_sparse: see docs/errata.md.",
        ),
        _sgf_bipartite(
            "bipartite_sparse",
            "The sparser bipartite graph that replaced the paper's",
            "master",
            6018,
            file="bipartite.npz",
            problems="6,018 edges, where the paper states 50,182: see bipartite_paper.",
            aliases=("bipartite_sgf",),
        ),
        _made("bipartite", "Two sides, edges only between: high frequency", "section 5"),
        _made("csbm", "Contextual stochastic block model", "Deshpande et al. 2018"),
        _made("digits", "Images of digits and their nearest neighbours", "scikit-learn"),
        _made("karate", "Zachary's karate club", "networkx"),
        _ogb(
            "ogbn-arxiv",
            "arxiv.zip",
            "arXiv papers in computer science",
            "ODC-BY",
            (169343, 1157799, 128, 40),
        ),
        _ogb("ogbn-products", "products.zip", "Amazon products bought together", "Amazon"),
        _ogb("ogbn-papers100M", "papers100M-bin.zip", "Papers that cite each other", "ODC-BY"),
    )
}

# Planetoid lists every citation in both directions, and the corrected Cornell has its vertices in
# another order than the only file of its links: Citeseer, Pubmed and Cornell are not here.
_DIRECTED = (
    _directed(
        _UNDIRECTED["cora"],
        _files(f"{GITHUB}/shchur/gnn-benchmark/master/data/npz", "cora.npz")[0],
        "gnn-benchmark",
        "shchur/gnn-benchmark, data/npz/cora.npz",
    ),
    *(
        _directed_by_geom_gcn(_UNDIRECTED[name], remote)
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

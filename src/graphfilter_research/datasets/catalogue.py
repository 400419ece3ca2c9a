"""SHA-256 of the original files and of the converted ones, as far as copies were available.

Families of datasets: what those that come from one place have in common.

The datasets as data: where each comes from, what it counts and what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphfilter.data.datasets import Counts, Dataset as Described

# By the path below the source's address. Originals that are not listed are checked by counts.
ORIGINALS = {
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "cornell/out1_graph_edges.txt": (
        "c4522a00cc40873c8a04a3a07c49e24a48a507eb284ac9c9f2d3e0590351bbb7"
    ),
    "cornell/out1_node_feature_label.txt": (
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3"
    ),
    "texas/out1_graph_edges.txt": (
        "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476"
    ),
    "texas/out1_node_feature_label.txt": (
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3"
    ),
    "wisconsin/out1_graph_edges.txt": (
        "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae"
    ),
    "wisconsin/out1_node_feature_label.txt": (
        "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b"
    ),
    "splits/cora_split_0.6_0.2_0.npz": (
        "619931e6c3f0248bf9c7b6be24680a0a617bcfaba661cb0d7afaee8e18a74a51"
    ),
    "splits/wisconsin_split_0.6_0.2_0.npz": (
        "f66f641e191d35d491cd3b63d6c2cd93c4b436da398984b44c19a8d4d7e7b1a5"
    ),
    "chameleon_filtered.npz": "bf46f07e1fb5249280447e5fe3100f3e82fc4b93ad1e13ffcfdec924b6ac0bb5",
    "amazon_photo.npz": "bdb98b54cd3125bfa69b23ba0aae84fabcb770c6727175b8f6eb1d64f3be4b2b",
    "bipartite.X": "6e267c56e89ff8e946877c698b340a24f188a998743ff143247202c4a9f9be5a",
    "bipartite.graph": "6a68abd469cdeac5941bad64ac4955959d5f0eb890618e6a063a187550dbd0b7",
    "bipartite.split": "0928e06f415bd10e3cf42017fb206c46fdb7bd45c0098802a1652454aafc2dcc",
    "bipartite.y": "acc604665adfd8b4748c73f11550713e3d76ed1686cd32cb728c11783d9e744b",
}

# By file name: the datasets in the package's own format, as converted from the originals.
CONVERTED = {
    "actor.npz": "793d84567d20f80d36ed69d92bf346fea1592707373fbd75f0e3cef3c5acab4b",
    "bipartite.npz": "55ea1c9d1a1c46db32fa5c3448455133b68433479a5d36e559263ecbd2647eee",
    "bipartite_paper.npz": "0f7326b51f7457a72fb6d3269067e755b296ec7246b074574c2b4b26dfbb5ac8",
    "chameleon.npz": "c8555e688fe9d3ede0236e04a847097c4028145316f85ead79bae2841d7ab7ae",
    "chameleon_filtered.npz": "70fc431a1a9250a55f2cb4a51de0b0e734d60c2883d81600fa634633870c81a8",
    "citeseer.npz": "80476d7824f316df4681ae14212363f49e93d3b8823014da4c46f41f300a45df",
    "computers.npz": "b4f1b82091d49094e91c1385160ece7ffbc04d005ab7388225ed283975045034",
    "cora.npz": "9ffea6373fbd514545dee15430a71bef7c1ef004ac87011aace8b668427b751b",
    "cornell.npz": "c9f14d01a6df33610ebdbcef88cc4b6b01b8f3eec0de8e35808a70b796394e75",
    "cornell_geomgcn.npz": "050b0e6cd55ea848833e925e0d41e6f593fb2e55f2ec05700d1db23a4f8cc675",
    "minesweeper.npz": "23e3e008a01d0e26b042b245c5b07f36c5ae9fc3600e6561ef5dd85d592e8825",
    "photo.npz": "81027991c95f5c4e7be1696e7aaf14babc2dc788db92dab15802ed76f6c069f8",
    "pubmed.npz": "482812b0619c364970f2f4ed1da7d14456b37c2d29eaf98b6a67004c3fbecc91",
    "squirrel.npz": "c8152775ad82883d55b11dfb1be31177c7a423662a773c36c2ae18a1c364e18c",
    "squirrel_filtered.npz": "15a9fce45913dd53493cd0fdaa0631b2718cf9040592f813c9c1dab63c02aea3",
    "texas.npz": "a7124ad4225e0931c1e5db703df047787c608643e563e26583a7bae46e4005ca",
    "tolokers.npz": "e045d5bd05bd1c690837ed184474104882164f4931eaeb3a4f92ab95cc44b310",
    "wisconsin.npz": "7613a97183a0c0163602184a588358e22f6c1e1ebd6a843c1650fb69c32d145f",
}


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

"""The datasets as data: where each comes from, what it counts and what is wrong with it."""

from __future__ import annotations

from graphfilter.data.families import (
    GITHUB,
    component,
    directed,
    directed_by_geom_gcn,
    files,
    geom_gcn,
    graphdata,
    heterophilous,
    made,
    ogb,
    planetoid,
    sgf_bipartite,
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
        made("bipartite", "Two sides, edges only between: high frequency", "section 5"),
        made("csbm", "Contextual stochastic block model", "Deshpande et al. 2018"),
        made("digits", "Images of digits and their nearest neighbours", "scikit-learn"),
        made("karate", "Zachary's karate club", "networkx"),
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

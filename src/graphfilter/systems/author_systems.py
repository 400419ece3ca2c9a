"""Systems as their own authors set them, and others that the paper cites.

``setting`` is 'authors' only where every number is theirs, the limit of epochs and the patience
included; ``reference`` says where it was found. What remains ours everywhere is the loop: the best
epoch is the one of the lowest validation loss, and patience counts from when learning has begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphfilter.filters import (
    ExactPageRankFilterConfig,
    HorizontalFilterConfig,
    PowerFilterConfig,
    RepeatedChebyshevFilterConfig,
    StackedFilterConfig,
)
from graphfilter.models import (
    DirectedGCNConfig,
    FastGCNConfig,
    FilteredFeaturesConfig,
    FilterNetworkConfig,
    GATConfig,
    GCNConfig,
    GCNIIConfig,
    GCNIIStarConfig,
    GeomGCNConfig,
    GPRGNNConfig,
    GraphSAGEConfig,
    KipfGCNConfig,
    NLGNNConfig,
    VelickovicGATConfig,
)
from graphfilter.systems.system import PAPER, System

_FAST = replace(PAPER, learning_rate=0.01)

CHEN = "Chen et al. 2020, Simple and Deep GCNs (chennnM/GCNII: full.sh, full-supervised.py)"
_CHEN = replace(_FAST, weight_decay=1e-4, monitor="loss", patience=100)
_GCNII_FIELDS: tuple[str, ...] = ("n_layers", "alpha", "theta", "weight_decay")
# Layers, alpha, theta and weight decay of the authors' fully supervised runs; GCNII* has the same.
_GCNII_ROWS = {
    "cora": (64, 0.2, 0.5, 1e-4),
    "citeseer": (64, 0.5, 0.5, 5e-6),
    "pubmed": (64, 0.1, 0.5, 5e-6),
    "chameleon": (8, 0.2, 1.5, 5e-4),
    "cornell": (16, 0.5, 1.0, 1e-3),
    "cornell_geomgcn": (16, 0.5, 1.0, 1e-3),
    "texas": (32, 0.5, 1.5, 1e-4),
    "wisconsin": (16, 0.5, 1.0, 5e-4),
}
_GCNII: dict[str, dict[str, Any]] = {
    name: dict(zip(_GCNII_FIELDS, row, strict=True)) for name, row in _GCNII_ROWS.items()
}

PEI = "Pei et al. 2020, Geom-GCN"
# Their learning rate falls on a plateau, which this loop does not have: 'adapted'.
_PEI = replace(
    PAPER,
    learning_rate=0.05,
    weight_decay=5e-6,
    monitor="loss",
    patience=100,
    max_epochs=5000,
)
_PEI_WEB: dict[str, Any] = {"hidden_size": 32, "weight_decay": 5e-5}
_PEI_DATASETS: dict[str, dict[str, Any]] = {
    "pubmed": {"hidden_size": 64},
    "chameleon": {"hidden_size": 48},
    "squirrel": {"hidden_size": 48},
    "actor": {"hidden_size": 32},
    **dict.fromkeys(("cornell", "cornell_geomgcn", "texas", "wisconsin"), _PEI_WEB),
}
_WEB_LINKS = ("cornell_geomgcn_directed", "texas_directed", "wisconsin_directed")
# GAT keeps 8 columns per head on Pubmed.
_PEI_GAT = {name: own for name, own in _PEI_DATASETS.items() if name != "pubmed"}

CHIEN = "Chien et al. 2021, Adaptive Universal Generalized PageRank"


def _pagerank(alpha: float, K: int = 10) -> tuple[float, ...]:
    """Return the weights of K steps of personalised PageRank; alpha 0 is the K-th power."""
    return (*(alpha * (1 - alpha) ** k for k in range(K)), (1 - alpha) ** K)


def _chien(rate: float, alpha: float, **others: float) -> Mapping[str, Any]:
    rates = {"learning_rate": rate, "filter_learning_rate": rate}
    return {**rates, "init": _pagerank(alpha), **others}


_CHIEN = {
    "cora": _chien(0.01, 0.1),
    "citeseer": _chien(0.01, 0.1),
    "pubmed": _chien(0.05, 0.2),
    "computers": _chien(0.05, 0.5, weight_decay=0.0),
    "computers_lcc": _chien(0.05, 0.5, weight_decay=0.0),
    "photo": _chien(0.01, 0.5, weight_decay=0.0),
    "photo_lcc": _chien(0.01, 0.5, weight_decay=0.0),
    "chameleon": _chien(0.05, 1.0, weight_decay=0.0, logit_dropout=0.7),
    "squirrel": _chien(0.05, 0.0, weight_decay=0.0, logit_dropout=0.7),
    "actor": _chien(0.01, 0.9, weight_decay=0.0),
    "texas": _chien(0.05, 1.0),
    "cornell": _chien(0.05, 0.9),
    "cornell_geomgcn": _chien(0.05, 0.9),
}

SGF_CODE = "NT, Maehara & Murata 2020, Adaptive Stacked Graph Filter (gear/sgf, 2020)"
# Their scripts: train_sgf.py, train_sgfs.py, train_cheb.py.
_SGF_CODE = replace(PAPER, monitor="loss", patience=100)

_LIU: dict[str, Any] = {"learning_rate": 0.05, "weight_decay": 5e-4}


def _geom_gcn(name: str, title: str, embedding: str) -> System:
    return System(
        name,
        title,
        GeomGCNConfig(embedding=embedding),
        config=_PEI,
        setting="adapted",
        reference=f"{PEI} (NewTableThreeGeomGCN_runs.txt)",
        datasets=_PEI_DATASETS,
    )


def _cheby(name: str, title: str, lambda_max: float) -> System:
    return System(
        name,
        title,
        FilterNetworkConfig(filter=RepeatedChebyshevFilterConfig(lambda_max=lambda_max)),
        operator="laplacian",
        config=_SGF_CODE,
        setting="authors",
        reference=f"{SGF_CODE}: train_cheb.py",
    )


AUTHOR_SYSTEMS = (
    System(
        "gcnii-authors",
        "GCNII",
        GCNIIConfig(alpha=0.5, theta=0.5),
        # In the loop of the others: they stop on the validation loss, as gcnii-loss does.
        config=replace(_FAST, weight_decay=1e-4),
        setting="adapted",
        reference=CHEN,
        datasets=_GCNII,
    ),
    System(
        "gcnii-loss",
        "GCNII (authors)",
        GCNIIConfig(alpha=0.5, theta=0.5),
        config=_CHEN,
        setting="authors",
        reference=CHEN,
        datasets=_GCNII,
    ),
    System(
        "gcnii-star",
        "GCNII*",
        GCNIIStarConfig(alpha=0.5, theta=0.5),
        config=_CHEN,
        setting="authors",
        reference=CHEN,
        datasets=_GCNII,
    ),
    System(
        "gcn-authors",
        "GCN (authors)",
        KipfGCNConfig(),
        config=replace(_FAST, monitor="loss", max_epochs=200, patience=10),
        setting="authors",
        reference="Kipf & Welling 2017, Semi-Supervised Classification with GCNs (tkipf/gcn)",
    ),
    System(
        "gat-authors",
        "GAT (authors)",
        VelickovicGATConfig(),
        config=replace(
            PAPER, learning_rate=0.005, monitor="loss", max_epochs=100_000, patience=100
        ),
        setting="authors",
        reference="Veličković et al. 2018, Graph Attention Networks, section 3.3 (PetarV-/GAT)",
        datasets={"pubmed": {"n_out_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3}},
    ),
    System(
        "gcn-pei",
        "GCN (Pei et al.)",
        GCNConfig(),
        config=_PEI,
        setting="adapted",
        reference=f"{PEI} (NewTableThreeGCN_runs.txt)",
        datasets=_PEI_DATASETS,
    ),
    System(
        "gcn-pei-directed",
        "GCN (Pei et al., directed)",
        DirectedGCNConfig(),
        config=_PEI,
        setting="adapted",
        reference=f"{PEI} (utils_data.py keeps the directions of links)",
        datasets=dict.fromkeys(_WEB_LINKS, _PEI_WEB),
    ),
    System(
        "gat-pei",
        "GAT (Pei et al.)",
        GATConfig(dropout=0.5),
        config=_PEI,
        setting="adapted",
        reference=f"{PEI} (NewTableThreeGAT_runs.txt)",
        datasets=_PEI_GAT,
    ),
    _geom_gcn("geom-gcn", "Geom-GCN-I", "isomap"),
    _geom_gcn("geom-gcn-p", "Geom-GCN-P", "poincare"),
    _geom_gcn("geom-gcn-s", "Geom-GCN-S", "structure"),
    System(
        "gpr-gnn-authors",
        "GPR-GNN (authors)",
        GPRGNNConfig(filter=HorizontalFilterConfig(10, _pagerank(0.1))),
        config=replace(_FAST, filter_weight_decay=0.0, monitor="loss", max_epochs=1000),
        setting="authors",
        reference=f"{CHIEN} (jianhao2016/GPRGNN: Reproduce_GPRGNN.sh, train_model.py)",
        datasets=_CHIEN,
    ),
    System(
        "nlmlp",
        "NLMLP",
        NLGNNConfig(local="mlp"),
        config=replace(_FAST, learning_rate=0.05, max_epochs=3000),
        setting="adapted",
        reference="Liu et al. 2021, Non-Local Graph Neural Networks (divelab: longrange.sh)",
        datasets={
            "texas": _LIU,
            "wisconsin": {**_LIU, "kernel_size": 3},
            "cornell": {"learning_rate": 0.05, "weight_decay": 5e-5, "kernel_size": 3},
            "cornell_geomgcn": {"learning_rate": 0.05, "weight_decay": 5e-5, "kernel_size": 3},
        },
    ),
    System(
        "sgf-authors",
        "SGF (authors' code)",
        FilterNetworkConfig(filter=StackedFilterConfig(), dropout_on="every_layer"),
        config=_SGF_CODE,
        setting="authors",
        reference=f"{SGF_CODE}: train_sgf.py",
    ),
    System(
        "sgf-horizontal-authors",
        "SGF-Horizontal (authors' code)",
        # Their coefficient of the input is 1 and not learned; that of the head scales it.
        FilterNetworkConfig(
            filter=HorizontalFilterConfig(16, (1.0, *[0.0] * 16)), dropout_on="every_layer"
        ),
        config=_SGF_CODE,
        setting="adapted",
        reference=f"{SGF_CODE}: train_sgfs.py",
    ),
    _cheby("sgf-cheby-authors", "SGF-Cheby (2.0, authors' code)", 2.0),
    _cheby("sgf-cheby-authors-1.5", "SGF-Cheby (1.5, authors' code)", 1.5),
    System(
        "graphsage",
        "GraphSAGE",
        GraphSAGEConfig(),
        config=_FAST,
        setting="adapted",
        reference="Hamilton et al. 2017, Inductive Representation Learning on Large Graphs",
    ),
    System(
        "fastgcn",
        "FastGCN",
        FastGCNConfig(),
        config=_FAST,
        setting="adapted",
        reference="Chen et al. 2018, FastGCN",
    ),
    System(
        "gfnn",
        "gfNN",
        FilteredFeaturesConfig(filter=PowerFilterConfig(2)),
        config=_FAST,
        setting="adapted",
        reference="NT & Maehara 2019, Revisiting Graph Neural Networks",
    ),
    System(
        "glp",
        "GLP",
        # Their AR filter, 1 / (1 + 10 (1 - λ)), is PageRank's with this teleport.
        FilteredFeaturesConfig(filter=ExactPageRankFilterConfig(1 / 11), hidden_size=16),
        config=_FAST,
        setting="adapted",
        reference="Li et al. 2019, Label Efficient Semi-Supervised Learning via Graph Filtering",
    ),
)

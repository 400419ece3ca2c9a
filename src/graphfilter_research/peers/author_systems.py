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
from graphfilter.models import FilterNetworkConfig, ModelConfig
from graphfilter.systems.registry import peer
from graphfilter.systems.system import PAPER, System
from graphfilter_research.peers.fastgcn import FastGCNConfig
from graphfilter_research.peers.gat import GATConfig, VelickovicGATConfig
from graphfilter_research.peers.gcn import DirectedGCNConfig, GCNConfig, KipfGCNConfig
from graphfilter_research.peers.gcnii import GCNIIConfig, GCNIIStarConfig
from graphfilter_research.peers.geom_gcn import GeomGCNConfig
from graphfilter_research.peers.gfnn import FilteredFeaturesConfig
from graphfilter_research.peers.gpr_gnn import GPRGNNConfig
from graphfilter_research.peers.graphsage import GraphSAGEConfig
from graphfilter_research.peers.nlgnn import NLGNNConfig

CHEN = "Chen et al. 2020, Simple and Deep GCNs (chennnM/GCNII: full.sh, full-supervised.py)"
_CHEN: dict[str, Any] = {"weight_decay": 1e-4, "monitor": "loss", "patience": 100}
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
_PEI: dict[str, Any] = {
    "learning_rate": 0.05, "weight_decay": 5e-6, "monitor": "loss", "patience": 100,
    "max_epochs": 5000,
}  # fmt: skip
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
_LIU_CORNELL = {"learning_rate": 0.05, "weight_decay": 5e-5, "kernel_size": 3}


def _geom_gcn(name: str, title: str, embedding: str) -> System:
    reference = f"{PEI} (NewTableThreeGeomGCN_runs.txt)"
    model = GeomGCNConfig(embedding=embedding)
    return peer(name, title, model, reference, datasets=_PEI_DATASETS, **_PEI)


def _of_sgf(
    name: str, title: str, model: ModelConfig, script: str, setting: str = "authors", **others: Any
) -> System:
    reference = f"{SGF_CODE}: {script}"
    return System(
        name, title, model, config=_SGF_CODE, setting=setting, reference=reference, **others
    )


def _cheby(name: str, title: str, lambda_max: float) -> System:
    model = FilterNetworkConfig(filter=RepeatedChebyshevFilterConfig(lambda_max=lambda_max))
    return _of_sgf(name, title, model, "train_cheb.py", operator="laplacian")


AUTHOR_SYSTEMS = (
    # In the loop of the others: they stop on the validation loss, as gcnii-loss does.
    peer(
        "gcnii-authors", "GCNII", GCNIIConfig(alpha=0.5, theta=0.5), CHEN, datasets=_GCNII,
        weight_decay=1e-4,
    ),
    peer(
        "gcnii-loss", "GCNII (authors)", GCNIIConfig(alpha=0.5, theta=0.5), CHEN,
        setting="authors", datasets=_GCNII, **_CHEN,
    ),
    peer(
        "gcnii-star", "GCNII*", GCNIIStarConfig(alpha=0.5, theta=0.5), CHEN,
        setting="authors", datasets=_GCNII, **_CHEN,
    ),
    peer(
        "gcn-authors", "GCN (authors)", KipfGCNConfig(),
        "Kipf & Welling 2017, Semi-Supervised Classification with GCNs (tkipf/gcn)",
        setting="authors", monitor="loss", max_epochs=200, patience=10,
    ),
    peer(
        "gat-authors", "GAT (authors)", VelickovicGATConfig(),
        "Veličković et al. 2018, Graph Attention Networks, section 3.3 (PetarV-/GAT)",
        setting="authors", learning_rate=0.005, monitor="loss", max_epochs=100_000, patience=100,
        datasets={"pubmed": {"n_out_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3}},
    ),
    peer(
        "gcn-pei", "GCN (Pei et al.)", GCNConfig(), f"{PEI} (NewTableThreeGCN_runs.txt)",
        datasets=_PEI_DATASETS, **_PEI,
    ),
    peer(
        "gcn-pei-directed", "GCN (Pei et al., directed)", DirectedGCNConfig(),
        f"{PEI} (utils_data.py keeps the directions of links)",
        datasets=dict.fromkeys(_WEB_LINKS, _PEI_WEB), **_PEI,
    ),
    peer(
        "gat-pei", "GAT (Pei et al.)", GATConfig(dropout=0.5),
        f"{PEI} (NewTableThreeGAT_runs.txt)", datasets=_PEI_GAT, **_PEI,
    ),
    _geom_gcn("geom-gcn", "Geom-GCN-I", "isomap"),
    _geom_gcn("geom-gcn-p", "Geom-GCN-P", "poincare"),
    _geom_gcn("geom-gcn-s", "Geom-GCN-S", "structure"),
    peer(
        "gpr-gnn-authors", "GPR-GNN (authors)",
        GPRGNNConfig(filter=HorizontalFilterConfig(10, _pagerank(0.1))),
        f"{CHIEN} (jianhao2016/GPRGNN: Reproduce_GPRGNN.sh, train_model.py)",
        setting="authors", datasets=_CHIEN, filter_weight_decay=0.0, monitor="loss",
        max_epochs=1000,
    ),
    peer(
        "nlmlp", "NLMLP", NLGNNConfig(local="mlp"),
        "Liu et al. 2021, Non-Local Graph Neural Networks (divelab: longrange.sh)",
        learning_rate=0.05, max_epochs=3000,
        datasets={
            "texas": _LIU,
            "wisconsin": {**_LIU, "kernel_size": 3},
            "cornell": _LIU_CORNELL,
            "cornell_geomgcn": _LIU_CORNELL,
        },
    ),
    _of_sgf(
        "sgf-authors", "SGF (authors' code)",
        FilterNetworkConfig(filter=StackedFilterConfig(), dropout_on="every_layer"),
        "train_sgf.py",
    ),
    # Their coefficient of the input is 1 and not learned; that of the head scales it.
    _of_sgf(
        "sgf-horizontal-authors", "SGF-Horizontal (authors' code)",
        FilterNetworkConfig(
            filter=HorizontalFilterConfig(16, (1.0, *[0.0] * 16)), dropout_on="every_layer"
        ),
        "train_sgfs.py", setting="adapted",
    ),
    _cheby("sgf-cheby-authors", "SGF-Cheby (2.0, authors' code)", 2.0),
    _cheby("sgf-cheby-authors-1.5", "SGF-Cheby (1.5, authors' code)", 1.5),
    peer(
        "graphsage", "GraphSAGE", GraphSAGEConfig(),
        "Hamilton et al. 2017, Inductive Representation Learning on Large Graphs",
    ),
    peer("fastgcn", "FastGCN", FastGCNConfig(), "Chen et al. 2018, FastGCN"),
    peer(
        "gfnn", "gfNN", FilteredFeaturesConfig(filter=PowerFilterConfig(2)),
        "NT & Maehara 2019, Revisiting Graph Neural Networks",
    ),
    # Their AR filter, 1 / (1 + 10 (1 - λ)), is PageRank's with this teleport.
    peer(
        "glp", "GLP",
        FilteredFeaturesConfig(filter=ExactPageRankFilterConfig(1 / 11), hidden_size=16),
        "Li et al. 2019, Label Efficient Semi-Supervised Learning via Graph Filtering",
    ),
)  # fmt: skip

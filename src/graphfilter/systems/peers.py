"""The systems that are not FilterNetworks."""

from __future__ import annotations

from dataclasses import replace

import torch

from graphfilter.graph import Graph
from graphfilter.models import (
    APGCN,
    ARMA,
    GAT,
    GCN,
    GCNII,
    LINKX,
    NLGNN,
    ChebNet,
    GeomGCN,
    GraphSAINT,
    JKNet,
    LanczosNet,
    MixHop,
    propagate_labels,
)
from graphfilter.systems.base import PAPER, OnGraph, System, sized_system

CHEN = "Chen et al. 2020, Simple and Deep Graph Convolutional Networks"

_FAST = replace(PAPER, learning_rate=0.01)

# Layers, alpha, theta and weight decay of the authors' fully supervised runs.
_GCNII = {
    "cora": (64, 0.2, 0.5, 1e-4),
    "citeseer": (64, 0.5, 0.5, 5e-6),
    "pubmed": (64, 0.1, 0.5, 5e-6),
    "chameleon": (8, 0.2, 1.5, 5e-4),
    "cornell": (16, 0.5, 1.0, 1e-3),
    "cornell_geomgcn": (16, 0.5, 1.0, 1e-3),
    "texas": (32, 0.5, 1.5, 1e-4),
    "wisconsin": (16, 0.5, 1.0, 5e-4),
}


def _build_gcnii(graph: Graph, generator: torch.Generator) -> GCNII:
    n_layers, alpha, theta, _ = _GCNII.get(graph.name, (64, 0.5, 0.5, 1e-4))
    return GCNII(
        graph.n_features,
        graph.n_classes,
        n_layers=n_layers,
        alpha=alpha,
        theta=theta,
        generator=generator,
    )


PEERS = (
    System(
        "gcn",
        "GCN",
        sized_system(GCN),
        config=_FAST,
        setting="authors",
        reference="Kipf & Welling 2017, Semi-Supervised Classification with GCNs",
    ),
    System(
        "gat",
        "GAT",
        sized_system(GAT),
        config=replace(PAPER, learning_rate=0.005),
        setting="authors",
        reference="Veličković et al. 2018, Graph Attention Networks",
    ),
    System(
        "gcnii",
        "GCNII (0.5, 0.5)",
        sized_system(GCNII, alpha=0.5, theta=0.5),
        config=replace(_FAST, weight_decay=1e-4),
        reference=CHEN,
    ),
    System(
        "gcnii-authors",
        "GCNII",
        OnGraph(_build_gcnii),
        config=replace(_FAST, weight_decay=1e-4),
        setting="authors",
        reference=CHEN,
        configs={name: replace(_FAST, weight_decay=row[3]) for name, row in _GCNII.items()},
    ),
    System(
        "jknet-dropedge",
        "JKNet+DE",
        OnGraph(JKNet),
        config=replace(PAPER, learning_rate=0.005),
        setting="adapted",
        reference="Xu et al. 2018, Jumping Knowledge Networks; Rong et al. 2020, DropEdge",
    ),
    System(
        "mixhop",
        "MixHop",
        OnGraph(MixHop),
        config=_FAST,
        setting="adapted",
        reference="Abu-El-Haija et al. 2019, MixHop",
    ),
    System(
        "arma",
        "ARMA",
        OnGraph(ARMA),
        operator="adjacency",
        config=_FAST,
        setting="adapted",
        reference="Bianchi et al. 2019, Graph Neural Networks with Convolutional ARMA Filters",
    ),
    System(
        "chebnet",
        "ChebNet",
        OnGraph(ChebNet),
        operator="laplacian",
        config=_FAST,
        setting="adapted",
        reference="Defferrard et al. 2016, CNNs on Graphs with Fast Localized Spectral Filtering",
    ),
    System(
        "linkx",
        "LINKX",
        OnGraph(LINKX),
        operator="adjacency",
        config=replace(_FAST, weight_decay=1e-3),
        setting="adapted",
        reference="Lim et al. 2021, Large Scale Learning on Non-Homophilous Graphs",
    ),
    System(
        "ap-gcn",
        "AP-GCN",
        sized_system(APGCN),
        config=replace(_FAST, weight_decay=8e-3),
        setting="adapted",
        reference="Spinelli et al. 2020, Adaptive Propagation Graph Convolutional Network",
    ),
    System(
        "lanczosnet",
        "LanczosNet",
        OnGraph(LanczosNet),
        config=_FAST,
        setting="adapted",
        reference="Liao et al. 2019, LanczosNet",
    ),
    System(
        "graphsaint",
        "GraphSAINT",
        OnGraph(GraphSAINT),
        config=_FAST,
        setting="adapted",
        reference="Zeng et al. 2020, GraphSAINT",
    ),
    System(
        "nlgnn",
        "NLGNN",
        sized_system(NLGNN),
        config=_FAST,
        setting="adapted",
        reference="Liu et al. 2021, Non-Local Graph Neural Networks",
    ),
    System(
        "geom-gcn",
        "Geom-GCN-I",
        OnGraph(GeomGCN),
        config=replace(PAPER, learning_rate=0.01, weight_decay=5e-4),
        setting="adapted",
        reference="Pei et al. 2020, Geom-GCN",
    ),
    System(
        "label-propagation",
        "Label propagation",
        None,
        operator="adjacency",
        setting="adapted",
        reference="Zhou et al. 2004, Learning with Local and Global Consistency",
        predict=propagate_labels,
    ),
)

"""The systems that are not FilterNetworks."""

from __future__ import annotations

from dataclasses import replace

from graphfilter.models import (
    APGCNConfig,
    ARMAConfig,
    ChebNetConfig,
    GATConfig,
    GCNConfig,
    GCNIIConfig,
    GeomGCNConfig,
    GraphSAINTConfig,
    JKNetConfig,
    LanczosNetConfig,
    LINKXConfig,
    MixHopConfig,
    NLGNNConfig,
    propagate_labels,
)
from graphfilter.systems.system import PAPER, System

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
_GCNII_FIELDS = ("n_layers", "alpha", "theta", "weight_decay")

PEER_SYSTEMS = (
    System(
        "gcn",
        "GCN",
        GCNConfig(),
        config=_FAST,
        setting="authors",
        reference="Kipf & Welling 2017, Semi-Supervised Classification with GCNs",
    ),
    System(
        "gat",
        "GAT",
        GATConfig(),
        config=replace(PAPER, learning_rate=0.005),
        setting="authors",
        reference="Veličković et al. 2018, Graph Attention Networks",
    ),
    System(
        "gcnii",
        "GCNII (0.5, 0.5)",
        GCNIIConfig(alpha=0.5, theta=0.5),
        config=replace(_FAST, weight_decay=1e-4),
        reference=CHEN,
    ),
    System(
        "gcnii-authors",
        "GCNII",
        GCNIIConfig(alpha=0.5, theta=0.5),
        config=replace(_FAST, weight_decay=1e-4),
        setting="authors",
        reference=CHEN,
        datasets={name: dict(zip(_GCNII_FIELDS, row, strict=True)) for name, row in _GCNII.items()},
    ),
    System(
        "jknet-dropedge",
        "JKNet+DE",
        JKNetConfig(),
        config=replace(PAPER, learning_rate=0.005),
        setting="adapted",
        reference="Xu et al. 2018, Jumping Knowledge Networks; Rong et al. 2020, DropEdge",
    ),
    System(
        "mixhop",
        "MixHop",
        MixHopConfig(),
        config=_FAST,
        setting="adapted",
        reference="Abu-El-Haija et al. 2019, MixHop",
    ),
    System(
        "arma",
        "ARMA",
        ARMAConfig(),
        operator="adjacency",
        config=_FAST,
        setting="adapted",
        reference="Bianchi et al. 2019, Graph Neural Networks with Convolutional ARMA Filters",
    ),
    System(
        "chebnet",
        "ChebNet",
        ChebNetConfig(),
        operator="laplacian",
        config=_FAST,
        setting="adapted",
        reference="Defferrard et al. 2016, CNNs on Graphs with Fast Localized Spectral Filtering",
    ),
    System(
        "linkx",
        "LINKX",
        LINKXConfig(),
        operator="adjacency",
        config=replace(_FAST, weight_decay=1e-3),
        setting="adapted",
        reference="Lim et al. 2021, Large Scale Learning on Non-Homophilous Graphs",
    ),
    System(
        "ap-gcn",
        "AP-GCN",
        APGCNConfig(),
        config=replace(_FAST, weight_decay=8e-3),
        setting="adapted",
        reference="Spinelli et al. 2020, Adaptive Propagation Graph Convolutional Network",
    ),
    System(
        "lanczosnet",
        "LanczosNet",
        LanczosNetConfig(),
        config=_FAST,
        setting="adapted",
        reference="Liao et al. 2019, LanczosNet",
    ),
    System(
        "graphsaint",
        "GraphSAINT",
        GraphSAINTConfig(),
        config=_FAST,
        setting="adapted",
        reference="Zeng et al. 2020, GraphSAINT",
    ),
    System(
        "nlgnn",
        "NLGNN",
        NLGNNConfig(),
        config=_FAST,
        setting="adapted",
        reference="Liu et al. 2021, Non-Local Graph Neural Networks",
    ),
    System(
        "geom-gcn",
        "Geom-GCN-I",
        GeomGCNConfig(),
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

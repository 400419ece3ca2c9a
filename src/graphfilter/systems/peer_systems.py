"""The systems that are not FilterNetworks, trained in the same loop as SGF."""

from __future__ import annotations

from dataclasses import replace

from graphfilter.models import (
    APGCNConfig,
    ARMAConfig,
    ChebNetConfig,
    GATConfig,
    GCNConfig,
    GCNIIConfig,
    GraphSAINTConfig,
    HopNetworkConfig,
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

PEER_SYSTEMS = (
    System(
        "gcn",
        "GCN",
        GCNConfig(),
        config=_FAST,
        setting="adapted",
        reference="Kipf & Welling 2017, Semi-Supervised Classification with GCNs",
    ),
    System(
        "gat",
        "GAT",
        GATConfig(),
        config=replace(PAPER, learning_rate=0.005),
        setting="adapted",
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
        # One of the settings its authors search; their AdamW hardly decays (2e-6 a step).
        LINKXConfig(hidden_size=256, n_layers=1),
        operator="adjacency",
        config=replace(PAPER, learning_rate=0.002, weight_decay=1e-5),
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
        "hop-mlp",
        "MLP on hops",
        HopNetworkConfig(),
        # An epoch is a pass over all batches, not one step.
        config=replace(_FAST, patience=50),
        setting="adapted",
        reference="Frasca et al. 2020, SIGN: Scalable Inception Graph Neural Networks",
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
        "label-propagation",
        "Label propagation",
        None,
        operator="adjacency",
        setting="adapted",
        reference="Zhou et al. 2004, Learning with Local and Global Consistency",
        predict=propagate_labels,
    ),
)

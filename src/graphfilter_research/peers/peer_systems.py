"""The systems that are not FilterNetworks, trained in the same loop as SGF."""

from __future__ import annotations

from graphfilter.systems.registry import peer
from graphfilter.systems.system import System
from graphfilter_research.peers.ap_gcn import APGCNConfig
from graphfilter_research.peers.arma import ARMAConfig
from graphfilter_research.peers.chebnet import ChebNetConfig
from graphfilter_research.peers.gat import GATConfig
from graphfilter_research.peers.gcn import GCNConfig
from graphfilter_research.peers.gcnii import GCNIIConfig
from graphfilter_research.peers.graphsaint import GraphSAINTConfig
from graphfilter_research.peers.jknet import JKNetConfig
from graphfilter_research.peers.label_propagation import propagate_labels
from graphfilter_research.peers.lanczosnet import LanczosNetConfig
from graphfilter_research.peers.linkx import LINKXConfig
from graphfilter_research.peers.mixhop import MixHopConfig
from graphfilter_research.peers.nlgnn import NLGNNConfig

CHEN = "Chen et al. 2020, Simple and Deep Graph Convolutional Networks"

PEER_SYSTEMS = (
    peer(
        "gcn", "GCN", GCNConfig(),
        "Kipf & Welling 2017, Semi-Supervised Classification with GCNs",
    ),
    peer(
        "gat", "GAT", GATConfig(), "Veličković et al. 2018, Graph Attention Networks",
        learning_rate=0.005,
    ),
    peer(
        "gcnii", "GCNII (0.5, 0.5)", GCNIIConfig(alpha=0.5, theta=0.5), CHEN, setting="paper",
        weight_decay=1e-4,
    ),
    peer(
        "jknet-dropedge", "JKNet+DE", JKNetConfig(),
        "Xu et al. 2018, Jumping Knowledge Networks; Rong et al. 2020, DropEdge",
        learning_rate=0.005,
    ),
    peer("mixhop", "MixHop", MixHopConfig(), "Abu-El-Haija et al. 2019, MixHop"),
    peer(
        "arma", "ARMA", ARMAConfig(),
        "Bianchi et al. 2019, Graph Neural Networks with Convolutional ARMA Filters",
        operator="adjacency",
    ),
    peer(
        "chebnet", "ChebNet", ChebNetConfig(),
        "Defferrard et al. 2016, CNNs on Graphs with Fast Localized Spectral Filtering",
        operator="laplacian",
    ),
    # One of the settings its authors search; their AdamW hardly decays (2e-6 a step).
    peer(
        "linkx", "LINKX", LINKXConfig(hidden_size=256, n_layers=1),
        "Lim et al. 2021, Large Scale Learning on Non-Homophilous Graphs",
        operator="adjacency", learning_rate=0.002, weight_decay=1e-5,
    ),
    peer(
        "ap-gcn", "AP-GCN", APGCNConfig(),
        "Spinelli et al. 2020, Adaptive Propagation Graph Convolutional Network",
        weight_decay=8e-3,
    ),
    peer("lanczosnet", "LanczosNet", LanczosNetConfig(), "Liao et al. 2019, LanczosNet"),
    peer("graphsaint", "GraphSAINT", GraphSAINTConfig(), "Zeng et al. 2020, GraphSAINT"),
    peer(
        "nlgnn", "NLGNN", NLGNNConfig(), "Liu et al. 2021, Non-Local Graph Neural Networks"
    ),
    System(
        "label-propagation", "Label propagation", None, "adjacency", setting="adapted",
        reference="Zhou et al. 2004, Learning with Local and Global Consistency",
        predict=propagate_labels,
    ),
)  # fmt: skip

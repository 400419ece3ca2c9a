"""Networks that label the vertices of a graph, each with a typed config.

:class:`FilterNetwork` is an encoder, any filter, and a head. The others are networks of other
papers, many of them on PyTorch Geometric's layers, and the members of the committee. They are made
as :class:`SizedNetwork` or :class:`GraphNetwork` says, and called with an operator and the
features: ``network(operator, x)`` returns the logits.
"""

from graphfilter.models.base import (
    GraphNetwork,
    ModelConfig,
    Network,
    SideBySide,
    SizedNetwork,
    TrainingOutput,
)
from graphfilter.models.channels import ChannelNetwork, ChannelNetworkConfig
from graphfilter.models.column_range import Columns as Columns
from graphfilter.models.columns import (
    DIVIDED as DIVIDED,
    column_part as column_part,
)
from graphfilter.models.filtered_features import FilteredFeatures, FilteredFeaturesConfig
from graphfilter.models.fitted import Fitted
from graphfilter.models.forest import Forest, ForestConfig
from graphfilter.models.hop_network import HopNetwork, HopNetworkConfig
from graphfilter.models.kernel import KernelConfig, KernelMachine
from graphfilter.models.layers import Input as Input, Linear, drop
from graphfilter.models.memory import (
    GROWN as GROWN,
    SPARSE_VALUE as SPARSE_VALUE,
    Sizes as Sizes,
    Working as Working,
)
from graphfilter.models.mixed import MixedConfig, MixedNetwork
from graphfilter.models.network import DropoutOn as DropoutOn, FilterNetwork, FilterNetworkConfig
from graphfilter.models.normed import NormedConfig, NormedNetwork
from graphfilter.models.peers.acm_gcn import ACMGCN, ACMGCNConfig
from graphfilter.models.peers.ap_gcn import APGCN, APGCNConfig
from graphfilter.models.peers.arma import ARMA, ARMAConfig
from graphfilter.models.peers.block_gnn import BlockGNN, BlockGNNConfig
from graphfilter.models.peers.chebnet import ChebNet, ChebNetConfig
from graphfilter.models.peers.classic_gnn import ClassicGNN, ClassicGNNConfig
from graphfilter.models.peers.correct_and_smooth import correct as correct, smooth as smooth
from graphfilter.models.peers.directed_gcn import DirectedGCN, DirectedGCNConfig
from graphfilter.models.peers.fastgcn import FastGCN, FastGCNConfig
from graphfilter.models.peers.fsgnn import FSGNN, FSGNNConfig
from graphfilter.models.peers.gat import GAT, GATConfig, VelickovicGAT, VelickovicGATConfig
from graphfilter.models.peers.gcn import GCN, GCNConfig, KipfGCN, KipfGCNConfig
from graphfilter.models.peers.gcnii import GCNII, GCNIIConfig
from graphfilter.models.peers.gcnii_star import GCNIIStar, GCNIIStarConfig
from graphfilter.models.peers.geom_gcn import GeomGCN, GeomGCNConfig
from graphfilter.models.peers.glo_gnn import GloGNN, GloGNNConfig
from graphfilter.models.peers.gpr_gnn import GPRGNN, GPRGNNConfig
from graphfilter.models.peers.graphsage import GraphSAGE, GraphSAGEConfig
from graphfilter.models.peers.graphsaint import GraphSAINT, GraphSAINTConfig
from graphfilter.models.peers.jknet import JKNet, JKNetConfig
from graphfilter.models.peers.label_propagation import propagate_labels
from graphfilter.models.peers.lanczosnet import LanczosNet, LanczosNetConfig
from graphfilter.models.peers.linkx import LINKX, LINKXConfig
from graphfilter.models.peers.mixhop import MixHop, MixHopConfig
from graphfilter.models.peers.nlgnn import NLGNN, NLGNNConfig
from graphfilter.models.residual import ResidualConfig, ResidualNetwork
from graphfilter.models.told import ToldConfig, ToldNetwork
from graphfilter.models.trees import Trees, TreesConfig
from graphfilter.models.weighted_hops import WeightedHops, WeightedHopsConfig

__all__ = [
    "ACMGCN",
    "APGCN",
    "ARMA",
    "FSGNN",
    "GAT",
    "GCN",
    "GCNII",
    "GPRGNN",
    "LINKX",
    "NLGNN",
    "ACMGCNConfig",
    "APGCNConfig",
    "ARMAConfig",
    "BlockGNN",
    "BlockGNNConfig",
    "ChannelNetwork",
    "ChannelNetworkConfig",
    "ChebNet",
    "ChebNetConfig",
    "ClassicGNN",
    "ClassicGNNConfig",
    "DirectedGCN",
    "DirectedGCNConfig",
    "FSGNNConfig",
    "FastGCN",
    "FastGCNConfig",
    "FilterNetwork",
    "FilterNetworkConfig",
    "FilteredFeatures",
    "FilteredFeaturesConfig",
    "Fitted",
    "Forest",
    "ForestConfig",
    "GATConfig",
    "GCNConfig",
    "GCNIIConfig",
    "GCNIIStar",
    "GCNIIStarConfig",
    "GPRGNNConfig",
    "GeomGCN",
    "GeomGCNConfig",
    "GloGNN",
    "GloGNNConfig",
    "GraphNetwork",
    "GraphSAGE",
    "GraphSAGEConfig",
    "GraphSAINT",
    "GraphSAINTConfig",
    "HopNetwork",
    "HopNetworkConfig",
    "JKNet",
    "JKNetConfig",
    "KernelConfig",
    "KernelMachine",
    "KipfGCN",
    "KipfGCNConfig",
    "LINKXConfig",
    "LanczosNet",
    "LanczosNetConfig",
    "Linear",
    "MixHop",
    "MixHopConfig",
    "MixedConfig",
    "MixedNetwork",
    "ModelConfig",
    "NLGNNConfig",
    "Network",
    "NormedConfig",
    "NormedNetwork",
    "ResidualConfig",
    "ResidualNetwork",
    "SideBySide",
    "SizedNetwork",
    "ToldConfig",
    "ToldNetwork",
    "TrainingOutput",
    "Trees",
    "TreesConfig",
    "VelickovicGAT",
    "VelickovicGATConfig",
    "WeightedHops",
    "WeightedHopsConfig",
    "drop",
    "propagate_labels",
]

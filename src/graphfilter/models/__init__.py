"""Networks: FilterNetwork, what it is made of, and the peers that are not of its form."""

from graphfilter.models.ap_gcn import APGCN
from graphfilter.models.arma import ARMA
from graphfilter.models.chebnet import ChebNet
from graphfilter.models.gat import GAT
from graphfilter.models.gcn import GCN
from graphfilter.models.gcnii import GCNII
from graphfilter.models.geom_gcn import GeomGCN
from graphfilter.models.graphsaint import GraphSAINT
from graphfilter.models.jknet import JKNet
from graphfilter.models.label_propagation import propagate_labels
from graphfilter.models.lanczosnet import LanczosNet
from graphfilter.models.layers import Linear, drop
from graphfilter.models.linkx import LINKX
from graphfilter.models.mixhop import MixHop
from graphfilter.models.network import FilterNetwork, SideBySide
from graphfilter.models.nlgnn import NLGNN

__all__ = [
    "APGCN",
    "ARMA",
    "GAT",
    "GCN",
    "GCNII",
    "LINKX",
    "NLGNN",
    "ChebNet",
    "FilterNetwork",
    "GeomGCN",
    "GraphSAINT",
    "JKNet",
    "LanczosNet",
    "Linear",
    "MixHop",
    "SideBySide",
    "drop",
    "propagate_labels",
]

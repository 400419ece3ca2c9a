"""Networks that label the vertices of a graph, each with a typed config.

:class:`FilterNetwork` is an encoder, any filter, and a head. The others are members of the
committee; networks of other papers come with the package ``graphfilter_research``. They are made as
:class:`SizedNetwork` or :class:`GraphNetwork` says, and called with an operator and the features:
``network(operator, x)`` returns the logits.
"""

from typing import Any

from graphfilter.models.base import (
    GraphNetwork,
    ModelConfig,
    Network,
    SideBySide,
    SizedNetwork,
    TrainingOutput,
)
from graphfilter.models.channels import (
    ChannelNetwork,
    ChannelNetworkConfig,
    FilteredFeatures,
    FilteredFeaturesConfig,
)
from graphfilter.models.deep import (
    MixedConfig,
    MixedNetwork,
    NormedConfig,
    NormedNetwork,
    ResidualConfig,
    ResidualNetwork,
    ToldConfig,
    ToldNetwork,
)
from graphfilter.models.forest import Fitted, Forest, ForestConfig
from graphfilter.models.hops import HopNetwork, HopNetworkConfig, WeightedHops, WeightedHopsConfig
from graphfilter.models.kernel import KernelConfig, KernelMachine
from graphfilter.models.layers import Linear, drop
from graphfilter.models.network import FilterNetwork, FilterNetworkConfig
from graphfilter.models.trees import Trees, TreesConfig
from graphfilter.util.plugins import SYSTEMS, moved

__all__ = [
    "ChannelNetwork",
    "ChannelNetworkConfig",
    "FilterNetwork",
    "FilterNetworkConfig",
    "FilteredFeatures",
    "FilteredFeaturesConfig",
    "Fitted",
    "Forest",
    "ForestConfig",
    "GraphNetwork",
    "HopNetwork",
    "HopNetworkConfig",
    "KernelConfig",
    "KernelMachine",
    "Linear",
    "MixedConfig",
    "MixedNetwork",
    "ModelConfig",
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
    "WeightedHops",
    "WeightedHopsConfig",
    "drop",
]


def __getattr__(name: str) -> Any:
    """Find a network of another paper, which was here in 0.2; gone with 0.4."""
    return moved(__name__, name, SYSTEMS)

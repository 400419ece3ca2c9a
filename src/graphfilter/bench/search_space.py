"""Settings of a system: the hyper-parameters that a search may change, and what they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeGuard

from torch import nn

from graphfilter.errors import ConfigError
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.splits import Split
from graphfilter.systems import System
from graphfilter.systems.pipeline import Inputs, Outcome, build_network, train_networks
from graphfilter.training import Progress, TrainConfig

Setting = dict[str, float]

# The paper's search set (section "Evaluation procedure").
PAPER_AXES: dict[str, tuple[float, ...]] = {
    "learning_rate": (0.001, 0.01, 0.02, 0.1),
    "weight_decay": (1e-2, 1e-3, 5e-4, 1e-4, 5e-5),
    "dropout": (0.4, 0.5, 0.6, 0.7, 0.8),
    "n_layers": (4, 8, 16, 32, 64),
}


@dataclass(frozen=True, eq=False)
class Tuning:
    """One system on one split of one graph, to be trained in different settings.

    Attributes
    ----------
    default : Setting
        The system's own setting.
    axes : dict
        The values of each hyper-parameter: the paper's search set and the system's own value.
        Dropout and depth are there for systems with a stacked filter only.
    """

    inputs: Inputs
    system: System
    split: Split
    seed: int
    default: Setting
    axes: dict[str, tuple[float, ...]]
    filter_is_trained: bool

    @classmethod
    def of(
        cls,
        graph: Graph,
        system: System,
        split: Split,
        *,
        seed: int,
        scaling: str,
        device: str,
        max_epochs: int | None,
    ) -> Self:
        if system.build is None:
            raise ConfigError(f"{system.name} is not trained: it has no setting to search.")
        if not len(split.val) or not len(split.test):
            raise ConfigError("a search must have validation and test vertices; the split has not.")
        config = system.config_for(graph)
        if max_epochs is not None:
            config = replace(config, max_epochs=max_epochs)
        system = replace(system, config=config)
        network = build_network(system, graph, seed)
        trained = isinstance(network, FilterNetwork) and bool(network.filter_parameters())
        rate = system.config.filter_learning_rate if trained else system.config.learning_rate
        default = {"learning_rate": rate, "weight_decay": system.config.weight_decay}
        if _is_sgf(network):
            default |= {"dropout": network.dropout, "n_layers": network.filter.degree}
        axes = {name: tuple(sorted({*PAPER_AXES[name], value})) for name, value in default.items()}
        inputs = Inputs.of(graph, scaling=scaling, device=device)
        return cls(inputs, system, split, seed, default, axes, trained)

    def config(self, setting: Setting) -> TrainConfig:
        """Return the training configuration of a setting.

        The learning rate is that of the filter where one is trained; the linear layers keep
        their share of it (a quarter in the paper). The filter's weight decay follows where it was
        that of the weights.
        """
        config = self.system.config
        rate, decay = setting["learning_rate"], setting["weight_decay"]
        changes: dict[str, Any] = {"learning_rate": rate, "weight_decay": decay}
        if self.filter_is_trained:
            share = config.learning_rate / config.filter_learning_rate
            changes |= {"filter_learning_rate": rate, "learning_rate": share * rate}
        if config.filter_weight_decay == config.weight_decay:
            changes["filter_weight_decay"] = decay
        return replace(config, **changes)

    def network(self, setting: Setting) -> nn.Module:
        """Build the system's network with the dropout and depth of a setting."""
        network = build_network(self.system, self.inputs.graph, self.seed)
        if _is_sgf(network):
            network.dropout = setting["dropout"]
            assert isinstance(network.filter, StackedFilter)
            network.filter = StackedFilter(
                int(setting["n_layers"]), network.filter.init, network.filter.seed
            )
        return network

    def train(
        self, setting: Setting, on_epoch: Callable[[Progress], None] | None = None
    ) -> Outcome:
        return train_networks(
            self.inputs,
            self.system.operator,
            [self.network(setting)],
            [self.split],
            [self.seed],
            self.config(setting),
            on_epoch=on_epoch,
        )[0]

    def accuracy(self, outcome: Outcome, part: str) -> float:
        index = getattr(self.split, part)
        right = outcome.probabilities.argmax(axis=1) == self.inputs.graph.labels
        return float(right[index].mean())


def _is_sgf(network: nn.Module) -> TypeGuard[FilterNetwork]:
    return isinstance(network, FilterNetwork) and isinstance(network.filter, StackedFilter)

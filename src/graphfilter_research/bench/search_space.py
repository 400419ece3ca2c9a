"""Settings of a system: the hyper-parameters that a search may change, and what they change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import FilterNetwork, FilterNetworkConfig, ModelConfig
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, train_system
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError

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

    prepared: Prepared
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
        if system.model is None:
            raise ConfigError(f"{system.name} is not trained: it has no setting to search.")
        if not len(split.val) or not len(split.test):
            raise ConfigError("a search needs validation and test vertices; the split has not.")
        config = system.config
        if max_epochs is not None:
            config = replace(config, max_epochs=max_epochs)
        system = replace(system, config=config)
        network = system.build(graph, seed)
        trained = isinstance(network, FilterNetwork) and bool(network.filter_parameters())
        rate = config.filter_learning_rate if trained else config.learning_rate
        default = {"learning_rate": rate, "weight_decay": config.weight_decay}
        if _is_sgf(network.config):
            settings = system.settings()
            default |= {name: settings[name] for name in ("dropout", "n_layers")}
        axes = {name: tuple(sorted({*PAPER_AXES[name], value})) for name, value in default.items()}
        prepared = Prepared.of(graph, scaling=scaling, device=device)
        return cls(prepared, system, split, seed, default, axes, trained)

    def system_in(self, setting: Setting) -> System:
        """Return the system in a setting.

        The learning rate is that of the filter where one is trained; the linear layers keep
        their share of it (a quarter in the paper). The filter's weight decay follows where it was
        that of the weights.
        """
        config = self.system.config
        rate, decay = setting["learning_rate"], setting["weight_decay"]
        changes: dict[str, Any] = {**setting}
        if self.filter_is_trained:
            share = config.learning_rate / config.filter_learning_rate
            changes |= {"filter_learning_rate": rate, "learning_rate": share * rate}
        if config.filter_weight_decay == config.weight_decay:
            changes["filter_weight_decay"] = decay
        if "n_layers" in changes:
            changes["n_layers"] = int(changes["n_layers"])
        return self.system.with_(**changes)

    def train(self, setting: Setting, callback: Callback | None = None) -> Outcome:
        """Train the system in a setting."""
        system = self.system_in(setting)
        return train_system(self.prepared, system, [self.split], [self.seed], callback=callback)[0]

    def accuracy(self, outcome: Outcome, part: str) -> float:
        """Return the accuracy of an outcome on a part of the split."""
        index = getattr(self.split, part)
        right = outcome.probabilities.argmax(axis=1) == self.prepared.labels
        return float(right[index].mean())


def _is_sgf(model: ModelConfig) -> bool:
    return isinstance(model, FilterNetworkConfig) and isinstance(model.filter, StackedFilterConfig)

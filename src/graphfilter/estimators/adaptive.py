"""What SGFClassifier and SGFRegressor share: the system of their parameters, and its training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.estimators.learning import Trained
from graphfilter.estimators.state import parameters
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import ChannelNetworkConfig, FilterNetworkConfig, ModelConfig
from graphfilter.models.network import DropoutOn
from graphfilter.operators import OPERATORS
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, check_name
from graphfilter.util.words import count

# The paper's rate is for classes of texts: of a few columns of numbers it leaves too little.
DROPOUT_OF_CLASSES, DROPOUT = 0.7, 0.2
AUTO, PLAIN, CHANNELS = "auto", "augmented_adjacency", "channels"


@parameters
class AdaptiveEstimator(VertexEstimator):
    """An estimator whose network is the stacked filter."""

    n_layers: int = 16
    hidden_size: int = 64
    operator: str = AUTO
    filter_init: float | Literal["uniform"] = 0.5
    dropout: float | None = None
    dropout_on: DropoutOn = "linear"
    filter_learning_rate: float = 0.01
    learning_rate: float = 0.0025
    filter_weight_decay: float = 5e-4
    weight_decay: float = 5e-4
    max_epochs: int = 1500
    patience: int = 200
    n_members: int = 1

    def build_system(self, **chosen: Any) -> System:
        settled = {**self.get_params(deep=False), **chosen}
        names = [f.name for f in fields(TrainConfig) if f.name in settled]
        own: dict[str, Any] = {name: settled[name] for name in names}
        if own["monitor"] is None:
            del own["monitor"]
        operator = PLAIN if settled["operator"] == AUTO else settled["operator"]
        return System(
            "sgf",
            "SGF",
            self._model(operator, settled["dropout"]),
            operator=check_name("operator", operator, (*OPERATORS, AUTO)),
            config=TrainConfig(**own),
        )

    def choose(self, target: Target, split: Split) -> dict[str, Any]:
        chosen = super().choose(target, split)
        if self.dropout is None:
            chosen["dropout"] = DROPOUT_OF_CLASSES if target.task.one_class else DROPOUT
        return chosen

    def train_on(
        self,
        prepared: Prepared,
        split: Split,
        seeds: Sequence[int],
        chosen: dict[str, Any],
        **options: Any,
    ) -> Trained:
        """Train the filter; where edges have directions or types, with and without them.

        The operator 'auto' uses them where that is better on the validation vertices.
        """
        graph = prepared.graph
        if self.operator == AUTO:
            chosen = {**chosen, "operator": PLAIN}
        plain = super().train_on(prepared, split, seeds, chosen, **options)
        what = _describe(graph)
        if not has_channels(graph) or self.operator == CHANNELS:
            return plain
        if self.operator != AUTO:
            return replace(plain, notes=(f"{what} not used: the operator is {self.operator}.",))
        if not len(split.val):
            note = f"{what} not used: there are no validation vertices to decide by."
            return replace(plain, notes=(f"{note} Use operator='channels' to use them.",))
        options["callback"] = options["callback"].part(CHANNELS)
        rich = super().train_on(prepared, split, seeds, {**chosen, "operator": CHANNELS}, **options)
        monitor = prepared.task.resolve(self.build_system(**chosen).config.monitor)
        without, with_ = (_score(each.outcomes, monitor) for each in (plain, rich))
        used = with_ > without
        note = (
            f"{what} {'used' if used else 'not used'}: {monitor.replace('_', ' ')} on "
            f"{len(split.val):,} validation vertices is {_shown(with_, monitor)} with and "
            f"{_shown(without, monitor)} without."
        )
        return replace(rich if used else plain, notes=(note,))

    def _model(self, operator: str, dropout: float | None) -> ModelConfig:
        filter = StackedFilterConfig(self.n_layers, self.filter_init)
        rate = DROPOUT_OF_CLASSES if dropout is None else dropout
        if operator != CHANNELS:
            return FilterNetworkConfig(
                filter=filter, hidden_size=self.hidden_size, dropout=rate,
                dropout_on=self.dropout_on,
            )  # fmt: skip
        if self.dropout_on != "linear":
            raise ConfigError(
                "dropout_on must be 'linear' with the operator 'channels'; "
                f"got {self.dropout_on!r}."
            )
        return ChannelNetworkConfig(filter=filter, hidden_size=self.hidden_size, dropout=rate)


def has_channels(graph: Graph) -> bool:
    """Return whether the edges of a graph have directions or types."""
    return graph.directed or graph.kinds is not None


def _describe(graph: Graph) -> str:
    parts = ["directions"] if graph.directed else []
    if graph.kinds is not None:
        parts.append(count(len(graph.kinds.names), "edge type"))
    return " and ".join(parts)


def _score(outcomes: Sequence[Outcome], monitor: str) -> float:
    """Return the mean validation score of the runs' kept weights; larger is better."""
    results = [outcome.result for outcome in outcomes]
    kept = [r.history[f"val_{monitor}"][r.best_epoch - 1] for r in results if r.best_epoch]
    sign = -1.0 if monitor == "loss" else 1.0
    return sign * float(np.mean(kept)) if kept else -np.inf


def _shown(score: float, monitor: str) -> str:
    return f"{abs(score):.3f}" if monitor in ("loss", "r2") else f"{score:.1%}"

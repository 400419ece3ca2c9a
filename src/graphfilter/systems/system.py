"""System: a named, trainable method; a model config, an operator and a training config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.filters import Config
from graphfilter.filters.base import described_fields
from graphfilter.models import ModelConfig, Network
from graphfilter.models.views import (
    VIEWS,
)
from graphfilter.operators import OPERATORS
from graphfilter.splits import Split
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, check_name

PAPER = TrainConfig()

Predict = Callable[[Graph, Split], NDArray[np.float64]]


@dataclass(frozen=True)
class System:
    """A method that can be trained, compared with others and put behind an estimator.

    Attributes
    ----------
    name, title : str
        What to ask for, and what to print.
    model : ModelConfig or None
        The network. None for a method that is not trained, which has ``predict`` instead.
    operator : str
        The name of the operator it runs on.
    config : TrainConfig
        How it is trained.
    setting : str
        Whose setting this is: 'paper' (the one the paper used), 'authors' (of the method),
        'adapted' (the authors' architecture, with what they leave open or train in another way
        filled in here), 'own' (of this package) or 'changed' (by whoever asked for it).
    reference : str
        Where the method comes from.
    predict : callable, optional
        For a method that is not trained: class probabilities from a graph and the training part
        of a split.
    view : str
        What the network sees of each vertex, one of :data:`graphfilter.models.views.VIEWS`.
    datasets : mapping
        What its authors change for registered datasets, as arguments of :meth:`with_`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> system = gf.systems.get_system("sgf")
    >>> system.title, system.operator, system.config.max_epochs
    ('SGF', 'augmented_adjacency', 1500)
    """

    name: str
    title: str
    model: ModelConfig | None
    operator: str = "augmented_adjacency"
    config: TrainConfig = PAPER
    setting: str = "paper"
    reference: str = ""
    predict: Predict | None = None
    view: str = "features"
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)

    @property
    def trained(self) -> bool:
        """Whether it is trained; what is not has ``predict``."""
        return self.model is not None

    @property
    def is_fitted(self) -> bool:
        """Whether it is fitted at once: it has no epochs."""
        return self.model is not None and self.model.fitted

    @property
    def keeps_graph(self) -> bool:
        """Whether its networks serve the graph they were built on and no other one."""
        kept = self.model is not None and self.model.keeps_graph
        return kept or VIEWS[self.view].keeps_graph

    @property
    def recognises(self) -> bool:
        """Whether it matters to its networks which vertices of a graph the fitted one had."""
        if self.model is None or self.model.keeps_graph:
            return False
        return self.model.recognises or VIEWS[self.view].recognises

    def build(self, graph: Graph, seed: int) -> Network[Any]:
        """Make the untrained network for a graph, its weights drawn from ``seed``."""
        if self.model is None:
            raise ConfigError(f"{self.name} must be a method that is trained; it only predicts.")
        return self.model.build(graph, torch.Generator().manual_seed(seed))

    def for_dataset(self, name: str) -> System:
        """Return the system as its authors set it for a dataset of the registry.

        The name is that of the registry, given by whoever loaded the dataset from there: a file
        of the user's that happens to be called cora.csv is not Cora.
        """
        changes = self.datasets.get(name)
        return self if changes is None else self._changed(changes)

    def with_(self, **changes: Any) -> System:
        """Return the system in another setting, under a name that says so.

        Parameters
        ----------
        changes
            Fields of the training config, of the model's config or of its filter's config, or
            ``operator``.

        Examples
        --------
        >>> from graphfilter.systems import get_system
        >>> get_system("sgf").with_(dropout=0.5, n_layers=8).name
        'sgf@dropout=0.5@n_layers=8'
        """
        if not self.trained:
            raise ConfigError(f"{self.name} is not trained: it has no setting to change.")
        if not changes:
            return self
        settings = [f"{key}={changes[key]}" for key in sorted(changes)]
        datasets = {name: {**own, **changes} for name, own in self.datasets.items()}
        return replace(
            self._changed(changes),
            name="@".join([self.name, *settings]),
            title=f"{self.title} with {', '.join(settings)}",
            setting="changed",
            datasets=datasets,
        )

    def settings(self) -> dict[str, Any]:
        """Return every value that :meth:`with_` can change, by name."""
        found = {"operator": self.operator}
        for config in (self.config, *nested_configs(self.model)):
            pairs = ((f.name, getattr(config, f.name)) for f in fields(config))
            found |= {name: value for name, value in pairs if not isinstance(value, Config)}
        return found

    def limited(self, max_epochs: int | None) -> System:
        """Return the system with another limit of epochs, under its own name."""
        return self if max_epochs is None else self._changed({"max_epochs": max_epochs})

    def choosing_by(self, monitor: str | None) -> System:
        """Return the system with another score that chooses its best epoch, under its own name."""
        return self if monitor is None else self._changed({"monitor": monitor})

    def describe(self) -> dict[str, Any]:
        """Return the config of the network as plain values; none where there is none."""
        return {} if self.model is None else self.model.describe()

    def describe_training(self) -> dict[str, Any]:
        """Return how it is trained as plain values; none where it is not."""
        if not self.trained:
            return {}
        seen = {} if self.view == "features" else {"view": self.view}
        return described_fields(self.config) | seen

    def _changed(self, changes: Mapping[str, Any]) -> System:
        for key in changes:
            check_name("setting", key, self.settings())
        operator = check_name("operator", changes.get("operator", self.operator), OPERATORS)
        own = {f.name for f in fields(self.config)}
        config = replace(self.config, **{k: v for k, v in changes.items() if k in own})
        model = None if self.model is None else _replaced(self.model, changes)
        return replace(self, operator=operator, config=config, model=model)


def peer(
    name: str,
    title: str,
    model: ModelConfig,
    reference: str,
    *,
    operator: str = "augmented_adjacency",
    setting: str = "adapted",
    datasets: Mapping[str, Mapping[str, Any]] | None = None,
    learning_rate: float = 0.01,
    **training: Any,
) -> System:
    """Describe a system of another paper; ``training`` are fields of its training config."""
    return System(
        name, title, model, operator, replace(PAPER, learning_rate=learning_rate, **training),
        setting, reference, datasets=datasets or {},
    )  # fmt: skip


def nested_configs(config: Config | None) -> list[Config]:
    """Return a config and those inside it."""
    if config is None:
        return []
    inner = [getattr(config, f.name) for f in fields(config)]
    return [
        config,
        *(c for value in inner if isinstance(value, Config) for c in nested_configs(value)),
    ]


def _replaced(config: Any, changes: Mapping[str, Any]) -> Any:
    """Return a config with its own fields, and those of configs inside it, changed."""
    new = {}
    for f in fields(config):
        value = getattr(config, f.name)
        if isinstance(value, Config):
            new[f.name] = _replaced(value, changes)
        elif f.name in changes:
            new[f.name] = changes[f.name]
    return replace(config, **new)

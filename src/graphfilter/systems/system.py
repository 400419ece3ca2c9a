"""System: a named, trainable method; Committee: several of them; and what training them takes.

A system is a model's config, an operator and a training config. A committee decides which of its
members are trained on a graph, and in which setting (:meth:`Committee.members_for`);
:func:`estimate_cost` says what that takes, before anything is made.

Bytes are counted from sizes alone. The factors were measured: ``benchmarks/dry_run.py`` compares
the whole with the peak of a process that then trains. Freed memory that the C library keeps for the
next epoch, at most 256 MiB, is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from graphfilter import models
from graphfilter.data.graph import Graph, is_wide
from graphfilter.filters import Config, StackedFilterConfig
from graphfilter.filters.base import described_fields
from graphfilter.models import views
from graphfilter.models.base import GROWN, SPARSE_VALUE, Sizes
from graphfilter.models.places import MOST_PLACES
from graphfilter.models.relations import MOST_COLUMNS
from graphfilter.operators import OPERATORS
from graphfilter.operators.operator import channel_names
from graphfilter.splits import Split
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, check_name

__all__ = ["PAPER", "System"]

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
    model: models.ModelConfig | None
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
        return kept or views.VIEWS[self.view].keeps_graph

    @property
    def recognises(self) -> bool:
        """Whether it matters to its networks which vertices of a graph the fitted one had."""
        if self.model is None or self.model.keeps_graph:
            return False
        return self.model.recognises or views.VIEWS[self.view].recognises

    def build(self, graph: Graph, seed: int) -> models.Network[Any]:
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


# Weight decay is a prior on the weights against a mean loss: it shrinks as the labels grow.
DECAY = 0.5
# Epochs of patience, times labels: scores of few vertices take few values and rise rarely, so that
# where labels are few members wait longer.
PATIENCE_OF_FEW = 9000
# A graph is wide where so many steps do not lead far. Layers of a network with batch norms there,
# of which fewer would see little, and its dropout: each layer of more drops less.
STEPS, LAYERS_OF_WIDE, DROPOUT_OF_WIDE = 6, 12, 0.2
# Layers of all the filters of one network: those of a directed graph without edge types. Of more
# channels each has fewer, so that an epoch costs the same.
LAYERS_OF_CHANNELS = 48

_OF_COMMITTEE = ("loss_up_to", "folds_up_to", "few_labels", "refits", "refits_networks")
_SHARED = ("max_epochs", "patience", "monitor")


@dataclass(frozen=True)
class Committee(System):
    """Systems that are trained one after another and answer together.

    One setting for every graph: their weights decide which members are used. Members
    that cannot help are not trained: see :meth:`members_for`.

    Attributes
    ----------
    members : tuple of System
        ``weight_decay`` of each is the most it may be: see ``DECAY``.
    rounds : tuple of int
        Epochs after which networks are judged; none, and every network ends by itself.
    rounds_above : int
        On graphs of no more vertices every network ends by itself: few judges judge badly.
    least_patience : int or None
        How long members wait for a better score where labels are many, below their own patience;
        None where they always wait as long as their config says.
    least_repeats : int
        From how many seeds each network is trained on large graphs too.
    loss_up_to : int
        On graphs of no more vertices the best epoch is the one of the least validation loss: the
        accuracy of forty vertices has forty values.
    folds_up_to : int
        On graphs of no more vertices the networks of a member learn from other vertices each: see
        :func:`~graphfilter.systems.committee.choose_folds`.
    few_labels : int
        Of so many labels at most none is set aside on larger graphs either: there are folds, epochs
        are chosen by loss, and nobody is judged before the end.
    refits : bool
        Whether cheap members learn from validation vertices too in the end.
    refits_networks : bool
        Whether networks do, too, for as many epochs as were best: each is trained from one seed.
    """

    members: tuple[System, ...] = ()
    rounds: tuple[int, ...] = ()
    rounds_above: int = 0
    least_patience: int | None = None
    least_repeats: int = 1
    loss_up_to: int = 0
    folds_up_to: int = 0
    few_labels: int = 0
    refits: bool = False
    refits_networks: bool = False

    @property
    def trained(self) -> bool:
        return True

    @property
    def keeps_graph(self) -> bool:
        """Another graph is predicted by those members that do not keep theirs."""
        return False

    def settings(self) -> dict[str, Any]:
        first = self.members[0].settings()
        return {name: first[name] for name in _SHARED}

    def describe(self) -> dict[str, Any]:
        """Return the kind of each member and all its fields, by name."""
        members = {m.name: m.describe() | m.describe_training() for m in self.members}
        names = ["rounds", "rounds_above"] if self.rounds else []
        names += [] if self.least_patience is None else ["least_patience"]
        names += [name for name in _OF_COMMITTEE if getattr(self, name)]
        own = {name: getattr(self, name) for name in names}
        own |= {"rounds": list(self.rounds)} if self.rounds else {}
        return {"kind": "Committee", **own, **members}

    def describe_training(self) -> dict[str, Any]:
        return self.settings()

    def members_for(self, graph: Graph, n_train: int) -> Iterator[System]:
        """Yield the members to be trained on a graph, as they are for so many labels."""
        decay = DECAY / max(n_train, 1)
        # Without a setting for small graphs, a metric was asked for.
        by_loss = graph.n_vertices <= self.loss_up_to
        by_loss |= bool(self.loss_up_to) and n_train <= self.few_labels
        for member in self.members:
            if self.absence(member, graph, n_train) is not None:
                continue
            config = member.config
            patience = config.patience
            if self.least_patience is not None:
                least = max(self.least_patience, PATIENCE_OF_FEW // max(n_train, 1))
                patience = min(patience, least)
            config = replace(
                config,
                weight_decay=min(config.weight_decay, decay),
                filter_weight_decay=min(config.filter_weight_decay, decay),
                patience=patience,
                monitor="loss" if by_loss else config.monitor,
            )
            yield replace(_adapted(member, graph), config=config)

    def absence(self, member: System, graph: Graph, n_train: int) -> str | None:
        """Return why a member is not trained on a graph; None where it is."""
        member = _adapted(member, graph)
        model = member.model
        if model is None:
            return None
        if not graph.n_edges and (model.needs_edges or member.keeps_graph):
            return "there are no edges"
        has_channels = graph.directed or graph.kinds is not None
        if has_channels and model.learns_filter and member.view == "features":
            return "each direction and edge type has its own filter"
        return model.skip_reason(graph, n_train)

    def _changed(self, changes: Mapping[str, Any]) -> Committee:
        for key in changes:
            check_name("setting", key, self.settings())
        members = (replace(m, config=replace(m.config, **changes)) for m in self.members)
        least = None if "patience" in changes else self.least_patience
        by_loss = 0 if "monitor" in changes else self.loss_up_to
        return replace(self, members=tuple(members), least_patience=least, loss_up_to=by_loss)


def _adapted(member: System, graph: Graph) -> System:
    """Return a member as it is trained on a graph.

    Of features that are too many for boosted trees, trees that vote see compressed ones. A network
    is as deep as the graph is wide, and knows how many of its columns are links. Where channels are
    many, the filter of each has fewer layers.
    """
    model = member.model
    if isinstance(model, models.ChannelNetworkConfig) and isinstance(
        model.filter, StackedFilterConfig
    ):
        most = max(1, LAYERS_OF_CHANNELS // len(channel_names(graph)))
        filter = replace(model.filter, n_layers=min(model.filter.n_layers, most))
        return replace(member, model=replace(model, filter=filter))
    if isinstance(model, models.NormedConfig) and is_wide(graph, STEPS):
        deeper = replace(model, n_layers=LAYERS_OF_WIDE, dropout=DROPOUT_OF_WIDE)
        return replace(member, model=deeper)
    if isinstance(model, models.MixedConfig):
        n_links = graph.n_vertices * (2 if graph.directed else 1)
        return replace(member, model=replace(model, n_links=n_links))
    if member.view != views.AVERAGES or graph.n_features <= views.MOST_AVERAGED:
        return member
    return replace(member, view=views.COMPRESSED_AVERAGES, model=models.ForestConfig())


# Python, torch and their libraries, with what their threads hold; and of that what comes with the
# report, which draws pictures, after training.
PROGRAM, REPORT = 680 * 2**20, 150 * 2**20
# Memory of a committee for scikit-learn and for what earlier members leave behind.
JOINED = 200 * 2**20
# Bytes of each vertex and class when all are answered and reported, and of an entry of the
# adjacency when frequencies are measured for the report.
ANSWERED, MEASURED_ENTRY = 45, 16
# Bytes of an entry that averages are taken over, and of a stored value that is averaged.
AVERAGED_ENTRY, BESIDE_ENTRY = 40, 24


@dataclass(frozen=True)
class Cost:
    """What training a system takes, in bytes of memory.

    Attributes
    ----------
    training, peak : int
        Before anything is reported, and in all.
    weights : int
        Weights with their moments.
    largest : str
        The member that takes most, where a system has several.
    kept : int
        What the graph's store keeps for it.
    """

    training: int
    peak: int
    weights: int
    largest: str = ""
    kept: int = 0


def estimate_cost(system: System, graph: Graph, n_train: int) -> Cost:
    """Estimate what training takes.

    Examples
    --------
    >>> import graphfilter as gf
    >>> graph, sgf = gf.data.make_karate(), gf.systems.get_system("sgf")
    >>> cost = estimate_cost(sgf, graph, 20)
    >>> cost.peak < 1 << 30
    True
    """
    sizes, members = sizes_of(graph, n_train), iter([system])
    if of_many := isinstance(system, Committee):
        members = system.members_for(graph, n_train)
    working = [
        (member, member.model.memory(sizes)) for member in members if member.model is not None
    ]
    n, n_entries = sizes.n_vertices, sizes.n_entries
    structure = (28 if sizes.weighted else 12) * n_entries + 48 * n
    # Between rounds all members hold their weights and moments.
    weights = sum(each.optimizer for _, each in working)
    answers, costs = ANSWERED * n * sizes.n_classes + MEASURED_ENTRY * n_entries, list[Cost]()
    for member, each in working:
        features = _features(member, sizes) if each.features is None else each.features
        held = PROGRAM + JOINED * of_many + structure + features + weights
        training = held - REPORT + each.hidden
        title = member.title if of_many else ""
        costs.append(Cost(training, max(training, held + answers), weights, title, each.kept))
    return max(costs, key=lambda cost: cost.peak)


def sizes_of(graph: Graph, n_train: int) -> Sizes:
    """Return the sizes of a graph with so many training vertices."""
    x: Any = graph.features
    return Sizes(
        graph.n_vertices, len(graph.indices), graph.n_features, x.nnz if sp.issparse(x) else 0,
        graph.n_classes, n_train, graph.weights is not None, graph.opened is not None,
    )  # fmt: skip


def _features(system: System, sizes: Sizes) -> int:
    """Return the bytes of what a system sees of the vertices, with the features it is made of."""
    n, d, own = sizes.n_vertices, sizes.n_features, sizes.n_values
    values, averaged = own or n * d, AVERAGED_ENTRY * sizes.n_entries
    pressed = system.view == views.COMPRESSED_AVERAGES and d > views.MOST_AVERAGED
    width = views.COMPRESSED if pressed else d
    hops = max(0, min(views.MOST_HOPS, views.MOST_AVERAGED // max(width, 1) - 1))
    around = 4 * min(d, MOST_COLUMNS) + 4 * sizes.n_classes
    of_averages = averaged + GROWN * n * (width * (1 + hops) + 1)
    made = {
        "unit": SPARSE_VALUE * own if own else 12 * n * d,
        "unit+links": SPARSE_VALUE * (values + sizes.n_entries),
        "features+links": SPARSE_VALUE * (values + sizes.n_entries),
        views.AVERAGES: of_averages,
        views.COMPRESSED_AVERAGES: of_averages,
        views.AROUND: averaged + GROWN * n * around,
        views.BESIDE: SPARSE_VALUE * values + BESIDE_ENTRY * sizes.n_entries * values // max(n, 1),
        "places": averaged + 2 * GROWN * n * (3 * min(d, MOST_PLACES) + MOST_PLACES),
        "neighbours": averaged,
    }
    return (SPARSE_VALUE * own if own else 8 * n * d) + made.get(system.view, 0)

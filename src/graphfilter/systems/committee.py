"""Committee: systems that each see the graph in another way, and which of them are trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphfilter.errors import check_name
from graphfilter.graph import Graph, is_wide
from graphfilter.inputs import AVERAGES, COMPRESSED_AVERAGES, MOST_AVERAGED
from graphfilter.models import ForestConfig, MixedConfig, NormedConfig
from graphfilter.splits import EARLIER, N_FOLDS, Folding, Split
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.start import Start
from graphfilter.systems.system import System
from graphfilter.training import TrainConfig

# Weight decay is a prior on the weights against a mean loss: it shrinks as the labels grow.
DECAY = 0.5
# Epochs of patience, times labels: scores of few vertices take few values and rise rarely, so that
# where labels are few members wait longer.
PATIENCE_OF_FEW = 9000
# On small graphs chance in training matters, and time does not: each member is trained from
# several seeds, so many that their vertices add up to this.
REPEATED_VERTICES, MOST_REPEATS = 8000, 5
# A graph is wide where so many steps do not lead far. Layers of a network with batch norms there,
# of which fewer would see little, and its dropout: each layer of more drops less.
STEPS, LAYERS_OF_WIDE, DROPOUT_OF_WIDE = 6, 12, 0.2

# Labelled vertices per fold, on average, below which there are no folds.
LEAST_IN_FOLD = 2

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
        :meth:`folding`.
    """

    members: tuple[System, ...] = ()
    rounds: tuple[int, ...] = ()
    rounds_above: int = 0
    least_patience: int | None = None
    least_repeats: int = 1
    loss_up_to: int = 0
    folds_up_to: int = 0

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
        own: dict[str, Any] = {}
        if self.rounds:
            own = {"rounds": list(self.rounds), "rounds_above": self.rounds_above}
        own |= {} if self.least_patience is None else {"least_patience": self.least_patience}
        for name in ("loss_up_to", "folds_up_to"):
            own |= {name: getattr(self, name)} if getattr(self, name) else {}
        return {"kind": "Committee", **own, **members}

    def describe_training(self) -> dict[str, Any]:
        return self.settings()

    def members_for(self, graph: Graph, n_train: int) -> tuple[System, ...]:
        """Return the members to be trained on a graph, as they are for so many labels."""
        return tuple(
            replace(_adapted(member, graph), config=self._config(member, graph, n_train))
            for member in self.members
            if self.absence(member, graph, n_train) is None
        )

    def folding(self, prepared: Prepared, split: Split, start: Start | None) -> Folding | None:
        """Return the folds that each member has a network for; None where all learn from the same.

        Labels are few on a small graph. Each network holds one fold of the training and validation
        vertices out, validates on it and learns from the others, so that every label is learned
        from, and every labelled vertex is answered for by a network that has not seen its label.
        By these answers members are weighed.

        Only where chance alone divided them: vertices of one group, or moment, are alike. Without
        edges rows are not vertices that could be known again. Networks that begin with earlier
        weights hold out what the earlier ones did.
        """
        graph = prepared.graph
        # They take the place of seeds.
        repeated = min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)) >= N_FOLDS
        small = repeated and graph.n_edges > 0 and graph.n_vertices <= self.folds_up_to
        n_labels = len(split.train) + len(split.val)
        if not small or prepared.past is not prepared or not len(split.val):
            return None
        if n_labels < LEAST_IN_FOLD * N_FOLDS:
            return None
        kept = None if start is None else start.held
        if start is None:
            by_chance = split.is_random
        else:  # Those who were held out were divided by chance, and so are others then.
            by_chance = kept is not None and (split.is_random or split.rule.startswith(EARLIER))
        if not by_chance:
            return None
        of_classes = prepared.targets is None
        return Folding.of(split, prepared.labels if of_classes else 0 * prepared.labels, kept)

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

    def _config(self, member: System, graph: Graph, n_train: int) -> TrainConfig:
        """Return how a member is trained on a graph with so many labels."""
        decay, config = DECAY / max(n_train, 1), member.config
        patience = config.patience
        if self.least_patience is not None:
            patience = min(patience, max(self.least_patience, PATIENCE_OF_FEW // max(n_train, 1)))
        return replace(
            config,
            weight_decay=min(config.weight_decay, decay),
            filter_weight_decay=min(config.filter_weight_decay, decay),
            patience=patience,
            monitor="loss" if graph.n_vertices <= self.loss_up_to else config.monitor,
        )


def _adapted(member: System, graph: Graph) -> System:
    """Return a member as it is trained on a graph.

    Of features that are too many for boosted trees, trees that vote see compressed ones. A network
    is as deep as the graph is wide, and knows how many of its columns are links.
    """
    model = member.model
    if isinstance(model, NormedConfig) and is_wide(graph, STEPS):
        deeper = replace(model, n_layers=LAYERS_OF_WIDE, dropout=DROPOUT_OF_WIDE)
        return replace(member, model=deeper)
    if isinstance(model, MixedConfig):
        n_links = graph.n_vertices * (2 if graph.directed else 1)
        return replace(member, model=replace(model, n_links=n_links))
    if member.view != AVERAGES or graph.n_features <= MOST_AVERAGED:
        return member
    return replace(member, view=COMPRESSED_AVERAGES, model=ForestConfig())


def in_turn(present: Sequence[System]) -> list[System]:
    """Return members as they are trained: the cheap ones, without epochs, first.

    An answer is there early, and says what the others must add to.
    """
    return sorted(present, key=lambda system: not system.is_fitted)


def repeated_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repetition; the first has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence((seed, repeat)).generate_state(1)[0])


def repeats(system: System, graph: Graph, least: int = 1) -> int:
    """Return from how many seeds a member is trained on a graph."""
    if system.is_fitted:  # Little in them is drawn.
        return 1
    return max(least, min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)))

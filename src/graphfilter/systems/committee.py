"""Committee: systems that each see the graph in another way, weighed on validation vertices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, check_name
from graphfilter.filters import IdentityFilterConfig, StackedFilterConfig
from graphfilter.graph import Graph
from graphfilter.graph.views import MOST_AVERAGED
from graphfilter.models import (
    ChannelNetworkConfig,
    FilterNetworkConfig,
    ForestConfig,
    KernelConfig,
    ResidualConfig,
    TreesConfig,
)
from graphfilter.splits import Split
from graphfilter.systems.networks import Outcome, check_is_of_classes, train_networks
from graphfilter.systems.pooling import Pool, fit_pool, log_probabilities, together
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.prior import prior_weights
from graphfilter.systems.system import System
from graphfilter.training import OnEpoch, Progress
from graphfilter.training.progress import shared

# Weight decay is a prior on the weights against a mean loss: it shrinks as the labels grow.
DECAY = 0.5
# Of the work of boosting: training vertices × columns × classes.
MOST_BOOSTED = 2 * 10**7
# Of training vertices that are compared with all vertices, and of common neighbours.
MOST_COMPARED, MOST_SHARED = 50_000, 10**9
# Of bytes that a deep network keeps for its gradient.
MOST_KEPT = 4 * 2**30
# With less than this share of the weights a member is left out.
LEAST = 0.01
# On small graphs chance in training matters, and time does not: each member is trained from
# several seeds, so many that their vertices add up to this.
REPEATED_VERTICES, MOST_REPEATS = 8000, 5

Weigh = Callable[[NDArray[np.bool_]], Pool]

_SHARED = ("max_epochs", "patience", "monitor")


@dataclass(frozen=True)
class Committee(System):
    """Systems that are trained one after another and answer together.

    One setting for every graph: which members are heard is decided by their weights. Members
    that cannot help are not trained: see :meth:`sitting`.

    Attributes
    ----------
    members : tuple of System
        ``weight_decay`` of each is the most it may be: see ``DECAY``.
    """

    members: tuple[System, ...] = ()

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
        return {"kind": "Committee", **members}

    def describe_training(self) -> dict[str, Any]:
        return self.settings()

    def sitting(self, graph: Graph, n_train: int) -> tuple[System, ...]:
        """Return the members to be trained on a graph, with their decay for so many labels."""
        return tuple(
            replace(member, config=_decayed(member, n_train))
            for member in self.members
            if self.absence(member, graph, n_train) is None
        )

    def absence(self, member: System, graph: Graph, n_train: int) -> str | None:
        """Return why a member is not trained on a graph; None where it is."""
        if not graph.n_edges and not _alone(member):
            return "there are no edges"
        has_channels = graph.directed or graph.kinds is not None
        if isinstance(member.model, ChannelNetworkConfig) and not has_channels:
            return "edges have neither directions nor kinds"
        if has_channels and _filters_features(member):
            return "each direction and kind of edge has a filter of its own"
        if isinstance(member.model, TreesConfig):
            columns = graph.n_features
            if columns > MOST_AVERAGED:
                return f"{columns:,} columns are too many for trees (at most {MOST_AVERAGED:,})"
            if columns * n_train * graph.n_classes > MOST_BOOSTED:
                return "trees would take too long"
        if isinstance(member.model, KernelConfig | ForestConfig):
            if n_train > MOST_COMPARED:
                return f"{n_train:,} labels are too many to compare (at most {MOST_COMPARED:,})"
            if np.square(graph.degrees, dtype=np.float64).sum() > MOST_SHARED:
                return "there are too many pairs of vertices with a common neighbour"
        if isinstance(member.model, ResidualConfig):
            kept = 24 * graph.n_vertices * member.model.hidden_size * member.model.n_layers
            if kept > MOST_KEPT:
                return f"{graph.n_vertices:,} vertices are too many for a deep network"
        return None

    def _changed(self, changes: Mapping[str, Any]) -> Committee:
        for key in changes:
            check_name("setting", key, self.settings())
        members = (replace(m, config=replace(m.config, **changes)) for m in self.members)
        return replace(self, members=tuple(members))


@dataclass(frozen=True, eq=False)
class Part:
    """What a member of a committee ended with: its runs from several seeds, which count the same.

    ``probabilities`` (n, n_classes) are those of all runs together.
    """

    system: System
    runs: tuple[Outcome, ...]
    probabilities: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def n_epochs(self) -> int:
        return sum(run.n_epochs for run in self.runs)


@dataclass(frozen=True, eq=False)
class CommitteeOutcome(Outcome):
    """What a committee ended with; ``network`` and ``result`` are of the member with most weight.

    Attributes
    ----------
    parts : tuple of Part
        Of the members that were trained.
    pool : Pool
        Their weights.
    elsewhere : Pool
        Their weights on another graph, where those that keep theirs have none.
    weigh : callable
        From which of them are heard to their weights.
    """

    parts: tuple[Part, ...]
    pool: Pool
    elsewhere: Pool
    weigh: Weigh

    @property
    def n_epochs(self) -> int:
        return sum(part.n_epochs for part in self.parts)

    def without(self, *names: str) -> NDArray[np.float64] | None:
        """Return the probabilities of the committee without members; None where none is left."""
        heard = np.array([part.system.name not in names for part in self.parts])
        if not heard.any():
            return None
        return self.weigh(heard).answer(
            log_probabilities([part.probabilities for part in self.parts])
        )


def train_committee(
    prepared: Prepared,
    committee: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    class_weight: NDArray[np.float64] | None = None,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> list[CommitteeOutcome]:
    """Train every member on every split, and weigh them on its validation vertices.

    Each member keeps its own checkpoint; one that has ended is not trained again. Several processes
    divide the members among them.
    """
    if not isinstance(committee, Committee):
        raise ConfigError(f"{committee.name} must be a committee; it is one system.")
    check_is_of_classes(prepared, committee)
    n_train = min(len(split.train) for split in splits)
    sitting = committee.sitting(prepared.graph, n_train)
    if not sitting:
        raise ConfigError(f"no member of {committee.name} can be trained on this graph.")
    watch = _Watch(on_epoch, len(sitting))

    def work(number: int) -> list[Part] | None:
        if watch.stopped:
            return None
        system = sitting[number]
        repeats = _repeats(system, prepared.graph)
        if system.is_fitted:
            watch.announce(number, system.title)
        outcomes = train_networks(
            prepared,
            system,
            [split for split in splits for _ in range(repeats)],
            [repeated_seed(seed, r) for seed in seeds for r in range(repeats)],
            class_weight=class_weight,
            on_epoch=watch.of(number, system.title),
            checkpoint=None if checkpoint is None else member_file(checkpoint, system.name),
            resume=resume,
        )
        grouped = [outcomes[i : i + repeats] for i in range(0, len(outcomes), repeats)]
        return [_together(system, runs) for runs in grouped]

    trained = shared(len(sitting), work, on_epoch)
    by_member = [parts for parts in trained if parts is not None]
    return [
        _weighed(prepared, committee, parts, split, class_weight)
        for parts, split in zip(zip(*by_member, strict=True), splits, strict=True)
    ]


def repeated_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repetition; the first has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence((seed, repeat)).generate_state(1)[0])


def _repeats(system: System, graph: Graph) -> int:
    if system.is_fitted:  # Little in them is drawn.
        return 1
    return max(1, min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)))


def _together(system: System, runs: Sequence[Outcome]) -> Part:
    return Part(system, tuple(runs), together([run.probabilities for run in runs]))


def member_file(checkpoint: str | Path, name: str) -> Path:
    """Return where a member keeps the state of its training."""
    path = Path(checkpoint)
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _weighed(
    prepared: Prepared,
    committee: Committee,
    parts: Sequence[Part],
    split: Split,
    class_weight: NDArray[np.float64] | None,
) -> CommitteeOutcome:
    labels = prepared.labels
    logits = log_probabilities([part.probabilities for part in parts])
    prior = prior_weights([part.system for part in parts], prepared.graph, split)

    def fit(heard: NDArray[np.bool_]) -> Pool:
        weights, temperatures, spreads = (np.full(len(parts), x) for x in (0.0, 1.0, 0.0))
        pool = fit_pool(
            logits[heard][:, split.val],
            labels[split.val],
            prior=prior[heard],
            class_weight=class_weight,
        )
        weights[heard], temperatures[heard] = pool.weights, pool.temperatures
        spreads[heard] = pool.spreads
        return Pool(weights, temperatures, spreads)

    def weigh(heard: NDArray[np.bool_]) -> Pool:
        shares = fit(heard).shares
        return fit(heard & (shares >= min(LEAST, shares.max())))

    pool = weigh(np.ones(len(parts), dtype=bool))
    movable = np.array([not part.system.keeps_graph for part in parts])
    leading = parts[int(pool.shares.argmax())].runs[0]
    return CommitteeOutcome(
        committee,
        leading.network,
        leading.result,
        pool.answer(logits),
        sum(part.seconds for part in parts),
        min(run.side_by_side for part in parts for run in part.runs),
        tuple(parts),
        pool,
        weigh(movable) if movable.any() else pool,
        weigh,
    )


def _decayed(member: System, n_train: int) -> Any:
    most = DECAY / max(n_train, 1)
    config = member.config
    return replace(
        config,
        weight_decay=min(config.weight_decay, most),
        filter_weight_decay=min(config.filter_weight_decay, most),
    )


def _filters_features(member: System) -> bool:
    model = member.model
    learned = isinstance(model, FilterNetworkConfig) and isinstance(
        model.filter, StackedFilterConfig
    )
    return learned and member.view == "features"


def _alone(member: System) -> bool:
    """Return whether a member has something to say without edges."""
    model = member.model
    mlp = isinstance(model, FilterNetworkConfig) and isinstance(model.filter, IdentityFilterConfig)
    return (mlp and not member.keeps_graph) or isinstance(model, TreesConfig)


class _Watch:
    """Passes on the progress of each member, and remembers whether training was stopped."""

    def __init__(self, on_epoch: OnEpoch | None, n_members: int) -> None:
        self._on_epoch = on_epoch
        self._n_members = n_members
        self.stopped = False

    def announce(self, number: int, title: str) -> None:
        """Say that a member is fitted that has no epochs."""
        self.of(number, title)(Progress(0, 1, math.nan, math.nan, math.nan, 1, []))

    def of(self, number: int, title: str) -> Callable[[Progress], bool | None]:
        stage = f"{title} ({number + 1} of {self._n_members})"

        def report(progress: Progress) -> bool | None:
            if self._on_epoch is None:
                return None
            asked = self._on_epoch(replace(progress, stage=stage))
            self.stopped = self.stopped or bool(asked)
            return asked

        return report

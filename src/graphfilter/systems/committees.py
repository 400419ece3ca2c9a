"""The members of the committee: what each sees, and how it is filtered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphfilter.filters import (
    FilterConfig,
    IdentityFilterConfig,
    PageRankFilterConfig,
    StackedFilterConfig,
)
from graphfilter.models import (
    ChannelNetworkConfig,
    FilterNetworkConfig,
    ForestConfig,
    KernelConfig,
    MixedConfig,
    ModelConfig,
    NormedConfig,
    ResidualConfig,
    ToldConfig,
    TreesConfig,
    WeightedHopsConfig,
)
from graphfilter.systems.committee import Committee
from graphfilter.systems.system import PAPER, System

# Graphs on which one class is rare, whose own metric is the ROC AUC.
BY_RANK: dict[str, Mapping[str, Any]] = {
    name: {"monitor": "roc_auc"} for name in ("minesweeper", "tolokers")
}

# Four times the paper's learning rate: the same validation loss in a third of the epochs.
_CONFIG = replace(PAPER, patience=120, learning_rate=0.01)
_SLOW = replace(_CONFIG, learning_rate=PAPER.learning_rate)
# Epochs after which networks are judged: the fewest that are fair, then twice as many each time.
ROUNDS = (30, 60, 120, 240, 480, 960)
# Vertices of graphs whose validation vertices are too few to judge by accuracy, or early.
SMALL = 1000


def _filtered(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(dropout=0.5, filter=filter, **options)


def _member(name: str, title: str, model: ModelConfig, **options: Any) -> System:
    usual: dict[str, Any] = {"operator": "adjacency", "config": _CONFIG, "setting": "own"}
    return System(name, title, model, **(usual | options))


FEATURES = _member(
    "features", "features alone", _filtered(IdentityFilterConfig(), encoder_layers=2)
)
FILTER = _member("filter", "adaptive filter", _filtered(StackedFilterConfig(), encoder_layers=2))
CHANNELS = _member(
    "channels",
    "adaptive filter for each direction and edge type",
    ChannelNetworkConfig(dropout=0.5),
    operator="channels",
)
SMOOTH = _member(
    "smooth",
    "fixed low-pass filter",
    _filtered(PageRankFilterConfig(16, 0.1), filter_on="logits"),
    operator="augmented_adjacency",
    config=replace(_CONFIG, learning_rate=0.04, weight_decay=5e-3),
    view="unit",
)
FILTERED_LINKS = _member(
    "filtered-links",
    "adaptive filter of features and links",
    _filtered(StackedFilterConfig()),
    view="unit+links",
)
ALIKE = _member("alike", "vertices that share neighbours", KernelConfig(), view="neighbours")
PLACES = _member(
    "places", "trees on a vertex's position in the graph", ForestConfig(), view="places"
)
DEEP = _member(
    "deep",
    "deep network",
    ResidualConfig(dropout=0.4, n_layers=15),
    config=replace(_SLOW, learning_rate=0.005, weight_decay=0.0, patience_share=0.5),
)
HOPS = _member(
    "hops",
    "neighbours' averages, each distance by itself",
    WeightedHopsConfig(),
    config=replace(_CONFIG, learning_rate=0.04, weight_decay=1e-3),
)
TOLD = _member(
    "told",
    "network that is told known labels",
    ToldConfig(),
    operator="augmented_adjacency",
    config=replace(_CONFIG, weight_decay=0.0, patience_share=0.5),
)
MIXED = _member(
    "mixed",
    "low and high frequencies, features and links, mixed by each vertex",
    MixedConfig(),
    operator="augmented_adjacency",
    view="features+links",
)
TREES = _member(
    "trees", "trees on features and neighbours' averages", TreesConfig(), view="averages"
)

# Channels take the place of the filter where there are any.
COMMITTEE = Committee(
    "committee",
    "Committee of filters",
    None,
    setting="own",
    members=(
        FEATURES, FILTER, CHANNELS, SMOOTH, FILTERED_LINKS, ALIKE, PLACES, DEEP, TOLD, HOPS,
        MIXED, TREES,
    ),
    rounds=ROUNDS,
    rounds_above=SMALL,
    least_patience=40,
    loss_up_to=SMALL,
    folds_up_to=SMALL,
    datasets=BY_RANK,
)  # fmt: skip
# With few members there is nothing to stop early: each is trained at the paper's pace.
QUICK = replace(
    COMMITTEE,
    name="committee-low",
    title="Committee of filters (low effort)",
    members=tuple(replace(m, config=_SLOW) for m in (FEATURES, FILTER, CHANNELS, PLACES)),
    rounds=(),
    least_patience=None,
    loss_up_to=0,
)

# Each member by itself, trained as in the committee: its decay, its seeds, its temperature.
ALONE = tuple(
    replace(COMMITTEE, name=f"only-{member.name}", title=f"Only {member.title}", members=(member,))
    for member in COMMITTEE.members
)
# Where time matters less than the last points: wider and deeper, from at least three seeds.
WIDE = _member(
    "wide",
    "wide network",
    ResidualConfig(dropout=0.5, n_layers=4, hidden_size=256),
    config=_SLOW,
)
THOROUGH = replace(
    COMMITTEE,
    name="committee-high",
    title="Committee of filters (high effort)",
    members=(
        *(
            replace(member, model=replace(member.model, hidden_size=128))
            if isinstance(member.model, FilterNetworkConfig | ResidualConfig | NormedConfig)
            else member
            for member in COMMITTEE.members
        ),
        WIDE,
    ),
    least_repeats=3,
)

COMMITTEES = (COMMITTEE, QUICK, THOROUGH, *ALONE)

# What members look at, in words.
GROUPS: dict[str, tuple[str, ...]] = {
    "features alone": (FEATURES.name,),
    "neighbours": tuple(member.name for member in (FILTER, CHANNELS, SMOOTH, DEEP, HOPS, WIDE)),
    "labels of neighbours": (TOLD.name,),
    "who is connected to whom": tuple(
        member.name for member in (FILTERED_LINKS, ALIKE, PLACES, MIXED)
    ),
    "trees": (TREES.name,),
}

"""The members of the committee: what each sees, and how it is filtered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphfilter.filters import (
    FilterConfig,
    IdentityFilterConfig,
    PageRankFilterConfig,
    StackedFilterConfig,
)
from graphfilter.models import FilterNetworkConfig, ModelConfig, ResidualConfig, TreesConfig
from graphfilter.systems.committee import Committee
from graphfilter.systems.system import PAPER, System

_CONFIG = replace(PAPER, patience=120)


def _filtered(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(dropout=0.5, filter=filter, **options)


def _member(name: str, title: str, model: ModelConfig, **options: Any) -> System:
    usual: dict[str, Any] = {"operator": "adjacency", "config": _CONFIG, "setting": "own"}
    return System(name, title, model, **(usual | options))


FEATURES = _member(
    "features", "features alone", _filtered(IdentityFilterConfig(), encoder_layers=2)
)
FILTER = _member("filter", "adaptive filter", _filtered(StackedFilterConfig(), encoder_layers=2))
SMOOTH = _member(
    "smooth",
    "fixed low-pass filter",
    _filtered(PageRankFilterConfig(16, 0.1), filter_on="logits"),
    operator="augmented_adjacency",
    config=replace(_CONFIG, learning_rate=0.01, weight_decay=5e-3),
    view="unit",
)
LINKS = _member(
    "links", "who is connected to whom", _filtered(IdentityFilterConfig()), view="links"
)
FILTERED_LINKS = _member(
    "filtered-links",
    "adaptive filter of features and links",
    _filtered(StackedFilterConfig()),
    view="unit+links",
)
DEEP = _member("deep", "deep network", ResidualConfig(dropout=0.5, n_layers=6))
DEEPER = _member("deeper", "deeper network, less dropout", ResidualConfig(dropout=0.2, n_layers=10))
TREES = _member(
    "trees", "trees on features and neighbours' averages", TreesConfig(), view="averages"
)

COMMITTEE = Committee(
    "committee",
    "Committee of filters",
    None,
    setting="own",
    members=(FEATURES, FILTER, SMOOTH, LINKS, FILTERED_LINKS, DEEP, DEEPER, TREES),
)
QUICK = replace(
    COMMITTEE,
    name="committee-low",
    title="Committee of filters (low effort)",
    members=(FEATURES, FILTER, LINKS),
)

COMMITTEES = (COMMITTEE, QUICK)

# What members look at, in words.
GROUPS: dict[str, tuple[str, ...]] = {
    "features alone": (FEATURES.name,),
    "neighbours": (FILTER.name, SMOOTH.name, DEEP.name, DEEPER.name),
    "who is connected to whom": (LINKS.name, FILTERED_LINKS.name),
    "trees": (TREES.name,),
}

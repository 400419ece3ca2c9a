"""The systems that are FilterNetworks: one encoder, one head, and a filter of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphfilter.filters import (
    ChebyshevFilterConfig,
    ExactPageRankFilterConfig,
    FilterConfig,
    HorizontalFilterConfig,
    IdentityFilterConfig,
    PageRankFilter,
    PageRankFilterConfig,
    PowerFilterConfig,
    StackedFilterConfig,
)
from graphfilter.models import ChannelNetworkConfig, FilterNetworkConfig
from graphfilter.systems.system import PAPER, System

SGF = "NT, Maehara & Murata 2020, Adaptive Stacked Graph Filter"
KLICPERA = "Klicpera et al. 2019, Predict then Propagate"

_FAST = replace(PAPER, learning_rate=0.01)


def _network(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(filter=filter, **options)


def _on_logits(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(filter=filter, filter_on="logits", **options)


def _appnp(alpha: float) -> System:
    return System(
        f"appnp-{alpha}",
        f"APPNP ({alpha})",
        _on_logits(PageRankFilterConfig(2, alpha)),
        config=replace(PAPER, learning_rate=0.02),
        reference=KLICPERA,
    )


def _cheby(name: str, title: str, lambda_max: float) -> System:
    return System(
        name,
        title,
        _network(ChebyshevFilterConfig(lambda_max=lambda_max)),
        operator="laplacian",
        reference=SGF,
    )


FILTER_SYSTEMS = (
    System("sgf", "SGF", _network(StackedFilterConfig()), reference=SGF),
    System(
        "sgf-channels",
        "SGF, one filter per edge type and direction",
        ChannelNetworkConfig(),
        operator="channels",
        setting="adapted",
        reference=SGF,
    ),
    System("mlp", "MLP", _network(IdentityFilterConfig())),
    System(
        "sgc",
        "SGC",
        _on_logits(PowerFilterConfig(2), hidden_size=None),
        config=_FAST,
        reference="Wu et al. 2019, Simplifying Graph Convolutional Networks",
    ),
    _appnp(0.2),
    _appnp(0.8),
    System(
        "appnp",
        "APPNP",
        _on_logits(PageRankFilterConfig(10, 0.1), dropout=0.5),
        config=_FAST,
        setting="adapted",
        reference=KLICPERA,
    ),
    System(
        "ppnp",
        "PPNP",
        _on_logits(ExactPageRankFilterConfig(0.1), dropout=0.5),
        config=_FAST,
        setting="adapted",
        reference=KLICPERA,
    ),
    System(
        "gpr-gnn",
        "GPR-GNN",
        # It starts as APPNP.
        _on_logits(
            HorizontalFilterConfig(10, tuple(PageRankFilter(10, 0.1).weights().tolist())),
            dropout=0.5,
        ),
        # Its authors do not decay the filter's weights.
        config=replace(_FAST, filter_weight_decay=0.0),
        setting="adapted",
        reference="Chien et al. 2021, Adaptive Universal Generalized PageRank",
    ),
    System(
        "sgf-laplacian",
        "SGF (L)",
        _network(StackedFilterConfig()),
        operator="laplacian",
        reference=SGF,
    ),
    System("sgf-horizontal", "SGF-Horizontal", _network(HorizontalFilterConfig()), reference=SGF),
    _cheby("sgf-cheby", "SGF-Cheby (2.0)", 2.0),
    _cheby("sgf-cheby-1.5", "SGF-Cheby (1.5)", 1.5),
    System(
        "sgf-every-layer",
        "SGF (dropout everywhere)",
        _network(StackedFilterConfig(), dropout_on="every_layer"),
        reference=SGF,
    ),
    System(
        "sgf-random",
        "SGF (random start)",
        _network(StackedFilterConfig(init="uniform")),
        reference=SGF,
    ),
)

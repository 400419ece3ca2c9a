"""The systems that are FilterNetworks (an encoder, a filter, a head), and two without a filter."""

from __future__ import annotations

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
from graphfilter.models import (
    ChannelNetworkConfig,
    FilterNetworkConfig,
    HopNetworkConfig,
    TreesConfig,
)
from graphfilter.systems.system import System, peer

SGF = "NT, Maehara & Murata 2020, Adaptive Stacked Graph Filter"
KLICPERA = "Klicpera et al. 2019, Predict then Propagate"

_AS_APPNP = tuple(PageRankFilter(10, 0.1).weights().tolist())


def _network(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(filter=filter, **options)


def _on_logits(filter: FilterConfig, **options: Any) -> FilterNetworkConfig:
    return FilterNetworkConfig(filter=filter, filter_on="logits", **options)


def _appnp(alpha: float) -> System:
    model = _on_logits(PageRankFilterConfig(2, alpha))
    title = f"APPNP ({alpha})"
    return peer(f"appnp-{alpha}", title, model, KLICPERA, setting="paper", learning_rate=0.02)


def _cheby(name: str, title: str, lambda_max: float) -> System:
    model = _network(ChebyshevFilterConfig(lambda_max=lambda_max))
    return System(name, title, model, "laplacian", reference=SGF)


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
    peer(
        "sgc",
        "SGC",
        _on_logits(PowerFilterConfig(2), hidden_size=None),
        "Wu et al. 2019, Simplifying Graph Convolutional Networks",
        setting="paper",
    ),
    _appnp(0.2),
    _appnp(0.8),
    peer("appnp", "APPNP", _on_logits(PageRankFilterConfig(10, 0.1), dropout=0.5), KLICPERA),
    peer("ppnp", "PPNP", _on_logits(ExactPageRankFilterConfig(0.1), dropout=0.5), KLICPERA),
    # It starts as APPNP. Its authors do not decay the filter's weights.
    peer(
        "gpr-gnn",
        "GPR-GNN",
        _on_logits(HorizontalFilterConfig(10, _AS_APPNP), dropout=0.5),
        "Chien et al. 2021, Adaptive Universal Generalized PageRank",
        filter_weight_decay=0.0,
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
    # An epoch is a pass over all batches, not one step.
    peer(
        "hop-mlp",
        "MLP on hops",
        HopNetworkConfig(),
        "Frasca et al. 2020, SIGN: Scalable Inception Graph Neural Networks",
        patience=50,
    ),
    System(
        "trees",
        "Boosted trees on neighbours' averages",
        TreesConfig(),
        "adjacency",
        setting="own",
        view="averages",
        reference="Bazhenov et al. 2025, GraphLand: trees on features and neighbours' averages",
    ),
)

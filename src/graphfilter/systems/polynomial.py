"""The systems that are FilterNetworks: one encoder, one head, and a filter of their own."""

from __future__ import annotations

from dataclasses import replace

from graphfilter.filters import (
    ChebyshevFilter,
    ExactPageRankFilter,
    HorizontalFilter,
    IdentityFilter,
    PageRankFilter,
    PowerFilter,
    StackedFilter,
)
from graphfilter.systems.base import PAPER, System, filter_system

SGF = "NT, Maehara & Murata 2020, Adaptive Stacked Graph Filter"
KLICPERA = "Klicpera et al. 2019, Predict then Propagate"

_FAST = replace(PAPER, learning_rate=0.01)


def _gpr_weights() -> list[float]:
    return PageRankFilter(10, 0.1).weights().tolist()


def _appnp(alpha: float) -> System:
    return System(
        f"appnp-{alpha}",
        f"APPNP ({alpha})",
        filter_system(lambda _: PageRankFilter(2, alpha), filter_on="logits"),
        config=replace(PAPER, learning_rate=0.02),
        reference=KLICPERA,
    )


def _cheby(name: str, title: str, lambda_max: float) -> System:
    return System(
        name,
        title,
        filter_system(lambda _: ChebyshevFilter(lambda_max=lambda_max)),
        operator="laplacian",
        reference=SGF,
    )


POLYNOMIAL = (
    System("sgf", "SGF", filter_system(lambda _: StackedFilter()), reference=SGF),
    System("mlp", "MLP", filter_system(lambda _: IdentityFilter())),
    System(
        "sgc",
        "SGC",
        filter_system(lambda _: PowerFilter(2), hidden_size=None, filter_on="logits"),
        config=_FAST,
        reference="Wu et al. 2019, Simplifying Graph Convolutional Networks",
    ),
    _appnp(0.2),
    _appnp(0.8),
    System(
        "appnp",
        "APPNP",
        filter_system(lambda _: PageRankFilter(10, 0.1), filter_on="logits", dropout=0.5),
        config=_FAST,
        setting="authors",
        reference=KLICPERA,
    ),
    System(
        "ppnp",
        "PPNP",
        filter_system(lambda _: ExactPageRankFilter(0.1), filter_on="logits", dropout=0.5),
        config=_FAST,
        setting="authors",
        reference=KLICPERA,
    ),
    System(
        "gpr-gnn",
        "GPR-GNN",
        filter_system(
            lambda _: HorizontalFilter(10, _gpr_weights()), filter_on="logits", dropout=0.5
        ),
        # Its authors do not decay the filter's weights.
        config=replace(_FAST, filter_weight_decay=0.0),
        setting="authors",
        reference="Chien et al. 2021, Adaptive Universal Generalized PageRank",
    ),
    System(
        "sgf-laplacian",
        "SGF (L)",
        filter_system(lambda _: StackedFilter()),
        operator="laplacian",
        reference=SGF,
    ),
    System(
        "sgf-horizontal",
        "SGF-Horizontal",
        filter_system(lambda _: HorizontalFilter()),
        reference=SGF,
    ),
    _cheby("sgf-cheby", "SGF-Cheby (2.0)", 2.0),
    _cheby("sgf-cheby-1.5", "SGF-Cheby (1.5)", 1.5),
    System(
        "sgf-every-layer",
        "SGF (dropout everywhere)",
        filter_system(lambda _: StackedFilter(), dropout_on="every_layer"),
        reference=SGF,
    ),
    System(
        "sgf-random",
        "SGF (random start)",
        filter_system(lambda seed: StackedFilter(init="uniform", seed=seed)),
        reference=SGF,
    ),
)

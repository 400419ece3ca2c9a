"""The layers in the place of PyTorch Geometric's own, in scripts of the shape of its examples."""

from __future__ import annotations

import pytest
from tests.filters.examples import appnp, cheb, gcn
from tests.filters.plain import pyg

from graphfilter import pyg as gfp


def assert_learned(losses: list[float], accuracy: float, least: float) -> None:
    assert losses[-1] < losses[0] / 2
    assert accuracy >= least


def test_stacked_filter_trains_in_the_place_of_gcn() -> None:
    assert_learned(*gcn.main(gfp.StackedFilterConv), least=0.9)
    assert_learned(*gcn.main(pyg.GCNConv), least=0.9)


def test_stacked_filter_trains_in_the_place_of_appnp() -> None:
    assert_learned(*appnp.main(lambda: gfp.StackedFilterConv(cached=True)), least=0.9)


def test_fixed_pagerank_trains_as_appnp_does() -> None:
    """The same function: the same losses, to rounding."""
    ours, _ = appnp.main(lambda: gfp.PageRankFilterConv(K=10, alpha=0.1, cached=True))
    theirs, _ = appnp.main(lambda: pyg.APPNP(K=10, alpha=0.1, cached=True))
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_chebyshev_filter_trains_in_the_place_of_cheb_conv() -> None:
    """On a graph of high frequency, where its filter starts."""
    options = {"degree": 2, "cached": True}
    assert_learned(*cheb.main(gfp.ChebyshevFilterConv, "bipartite", **options), least=0.95)


def test_stacked_filter_learns_what_low_pass_layers_cannot() -> None:
    """Neighbours always disagree: one setting for both kinds of graph."""
    _, ours = appnp.main(lambda: gfp.StackedFilterConv(cached=True), "bipartite", 120)
    _, theirs = appnp.main(lambda: pyg.APPNP(K=10, alpha=0.1), "bipartite", 120)
    assert ours > 0.95 > theirs

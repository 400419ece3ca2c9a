"""Estimates by training ratio, and the figure drawn from them."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.spectral import estimate_label_frequency, label_frequency
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter_research.paper.figures6_7 import draw, frequency_estimates


def make_cycle(labels: list[int], name: str) -> Graph:
    n = len(labels)
    return Graph.from_edges([[i, (i + 1) % n] for i in range(n)], labels=labels, name=name)


LOW = make_cycle([0] * 200 + [1] * 200, "halves")
HIGH = make_cycle([0, 1] * 200, "alternating")


def estimates(records, ratio: float, method: str) -> np.ndarray:
    return np.array([r.estimate for r in records if r.ratio == ratio and r.method == method])


@pytest.mark.parametrize("graph", [LOW, HIGH], ids=["low", "high"])
def test_naive_estimate_is_drawn_towards_1_and_the_unbiased_is_not(graph):
    records = frequency_estimates(graph, ratios=(0.3, 0.7), n_samples=60)
    truth = records[0].truth
    for ratio in (0.3, 0.7):
        unbiased, naive = (estimates(records, ratio, m) for m in ("unbiased", "naive"))
        assert abs(unbiased.mean() - truth) < 4 * unbiased.std() / np.sqrt(60)
        # A neighbour of a sampled vertex is sampled with probability p: that share of the
        # distance from 1 is left.
        assert naive.mean() == pytest.approx(1 - ratio * (1 - truth), abs=0.03)


def test_estimates_come_from_their_seed_and_end_at_the_truth():
    once, again, other = (frequency_estimates(LOW, (0.5, 1.0), 3, seed=s) for s in (0, 0, 1))
    assert once == again != other
    np.testing.assert_allclose(estimates(once, 1.0, "unbiased"), once[0].truth)
    np.testing.assert_allclose(estimates(once, 1.0, "naive"), once[0].truth)


def test_estimates_reject_impossible_ratios_and_unknown_truths():
    with pytest.raises(ConfigError, match=r"up to 1; got \(0\.5, 10\)"):
        frequency_estimates(LOW, (0.5, 10))
    with pytest.raises(GraphError, match="1 have none"):
        frequency_estimates(make_cycle([0, 1, -1, 0], "hole"))


def test_figure_has_a_column_a_group_and_a_row_a_method():
    records = frequency_estimates(LOW, n_samples=3) + frequency_estimates(HIGH, n_samples=3)
    axes = draw(records).get_axes()
    assert [ax.get_title() for ax in axes if ax.get_title()] == [
        "low: r(Y) below 0.6",
        "high: r(Y) above 1.3",
    ]
    assert len(axes) == 6
    assert [len(ax.patches) for ax in axes] == [9 + 5] * 6
    with pytest.raises(ConfigError, match="at least one record"):
        draw([])


def test_proposition_3_on_cora(data_folder):
    """The numbers in the errata: class 3 of Cora, 200 samples."""
    with np.load(data_folder / "cora.npz") as arrays:
        cora = Graph.from_edges(arrays["edges"], labels=arrays["y"])
    truth = label_frequency(cora)[3]
    assert truth == pytest.approx(0.287, abs=5e-4)
    rng = np.random.default_rng(0)
    for p, induced, naive in ((0.1, -2.01, 0.93), (0.6, -0.17, 0.57)):
        samples = [np.flatnonzero(rng.random(2708) < p) for _ in range(200)]
        got = {
            method: np.array([estimate_label_frequency(cora, s, method).value[3] for s in samples])
            for method in ("unbiased", "induced", "naive")
        }
        error = got["unbiased"].std() / np.sqrt(200)
        assert abs(got["unbiased"].mean() - truth) < 4 * error
        assert got["induced"].mean() == pytest.approx(induced, abs=0.15)
        assert got["naive"].mean() == pytest.approx(naive, abs=0.01)

"""Figures of the paper, drawn from records."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from graphfilter.data import make_karate
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter
from graphfilter.spectral import estimate_label_frequency, label_frequency
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter_research.paper import figure2, figure3, figures1_5
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.figure3 import rewire, swap_edges
from graphfilter_research.paper.figures6_7 import draw, frequency_estimates
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_filter_figure_draws_the_response_of_the_recorded_scalars(tmp_path: Path) -> None:
    TARGETS["fig-filters"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-filters-quick")
    frequency = np.array([0.0, 0.7, 2.0])
    for record in records:
        start, learned = figure2.responses(record, frequency)
        lam = frequency if record.model == "sgf-laplacian" else 1 - frequency
        np.testing.assert_allclose(start, StackedFilter().response(lam))
        h = np.ones_like(lam)
        for alpha, beta in zip(record.filter["alpha"], record.filter["beta"], strict=True):
            h = alpha * lam * h + beta
        np.testing.assert_allclose(learned, h, rtol=1e-6)


def test_noise_takes_both_readings_of_dropout_where_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(figure3, "BOTH_READINGS", ("karate",))
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.model for r in records} == {*figure3.SYSTEMS, "sgf-every-layer"}
    rendered = TARGETS["fig-noise"].render(tmp_path, QUICK)
    assert [row.label for row in rendered.blocks[0].rows][-1] == "SGF (dropout everywhere)"
    assert rendered.figure is not None
    lines = rendered.figure.axes[0].get_lines()
    assert {(line.get_label(), line.get_linestyle()) for line in lines} >= {
        ("SGF", "-"),
        ("SGF (dropout everywhere)", "--"),
    }


def test_noise_runs_on_rewired_graphs_under_their_own_names(tmp_path: Path) -> None:
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.dataset for r in records} == {"karate~0", "karate~0.9"}
    assert len({r.data_checksum for r in records}) == 2
    scores = {(r.dataset, r.model, r.seed): r.scores["test"]["log_loss"] for r in records}
    for seed in (0, 1):
        # What does not see the graph does not see the noise.
        assert scores["karate~0", "mlp", seed] == scores["karate~0.9", "mlp", seed]
        assert scores["karate~0", "sgc", seed] != scores["karate~0.9", "sgc", seed]


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


def test_dynamics_record_starts_where_the_figure_says(tmp_path: Path) -> None:
    for name in ("fig-dynamics", "fig-random-dynamics"):
        TARGETS[name].collect(tmp_path, QUICK, None)
    fixed, random = (
        json.loads((tmp_path / f"{name}-quick.jsonl").read_text())
        for name in ("fig-dynamics", "fig-random-dynamics")
    )
    assert fixed["epochs"] == [0, 2]
    assert fixed["alpha"][0] == fixed["beta"][0] == [0.5] * 16
    start = StackedFilter(init="uniform", seed=0)
    np.testing.assert_allclose(random["alpha"][0], start.alpha.tolist(), atol=1e-6)
    assert np.shape(random["beta"]) == (2, 16)


def test_block_diagrams_name_every_part() -> None:
    model, vertical, horizontal = figures1_5.draw().get_axes()
    said = [text.get_text() for text in model.texts]
    assert [label for label in said if "filter" in label] == ["filter 1", "filter 2", "filter K"]
    for axes, weight in ((vertical, "beta"), (horizontal, "theta")):
        assert sum(weight in text.get_text() for text in axes.texts) >= figures1_5.ORDER


@pytest.mark.usefixtures("tiny")
def test_every_run_has_a_rewired_graph_of_its_own(tmp_path: Path) -> None:
    TARGETS["noise-seeds"].collect(tmp_path, Options(quick=True, device="cpu"), None)
    records = read_target_records(tmp_path, "noise-seeds-quick")
    runs = {(r.model, r.seed, r.split_index): r.data_checksum for r in records}
    assert len(runs) == len(records) == 2 * len(figure3.SEEDS_SYSTEMS)
    assert all(seed == split for _, seed, split in runs)
    assert runs["sgf", 0, 0] == runs["sgf-every-layer", 0, 0] != runs["sgf", 1, 1]


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return {tuple(edge) for edge in graph.edges.tolist()}


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(20, 60),
    degree=st.floats(1.0, 4.0),
    share=st.floats(0.0, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_rewiring_keeps_degrees_and_swaps_the_share_that_is_asked(n, degree, share, seed):
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(rng.integers(0, n, (int(n * degree), 2)), n)
    assume(graph.n_edges > 10)
    noisy = rewire(graph, share, seed)
    np.testing.assert_array_equal(noisy.degrees, graph.degrees)
    # Loops and repeats would have been dropped, and edges with them.
    assert noisy.n_edges == graph.n_edges
    n_new = len(pairs(noisy) - pairs(graph))
    wanted = ceil(round(share * graph.n_edges, 9))
    assert wanted <= n_new <= wanted + 1


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_swapped_edges_have_no_loop_and_no_repeat(seed):
    rng = np.random.default_rng(seed)
    edges = make_karate().edges
    swapped = swap_edges(edges, 34, 40, rng)
    assert (swapped[:, 0] != swapped[:, 1]).all()
    assert len(np.unique(np.sort(swapped, axis=1), axis=0)) == len(edges)


def test_rewiring_comes_from_its_seed_and_keeps_the_rest_of_the_graph():
    graph = make_karate()
    once, again, other = (rewire(graph, 0.5, seed) for seed in (0, 0, 1))
    assert pairs(once) == pairs(again) != pairs(other)
    assert once.features is graph.features
    assert once.labels is graph.labels
    assert pairs(rewire(graph, 0.0, 0)) == pairs(graph)


def test_rewiring_mixes_every_possible_edge():
    """A cycle of 12 is far from the only 2-regular graph: all 54 chords must turn up."""
    cycle = Graph.from_edges([[i, (i + 1) % 12] for i in range(12)])
    seen = set().union(*(pairs(rewire(cycle, 0.7, seed)) for seed in range(80)))
    assert len(seen) == 12 * 11 // 2


def test_rewiring_says_what_cannot_be_done():
    star = Graph.from_edges([[0, i] for i in range(1, 7)])
    with pytest.raises(GraphError, match="after 0 no swap was found"):
        rewire(star, 0.5, 0)
    with pytest.raises(ConfigError, match=r"in \[0, 1\]; got 90"):
        rewire(star, 90, 0)
    weighted = Graph.from_edges([[0, 1], [1, 2]], weights=[1.0, 2.0])
    with pytest.raises(GraphError, match="equal weight"):
        rewire(weighted, 0.5, 0)

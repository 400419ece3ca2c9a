"""Densities over the spectrum: exact on small graphs, and the estimate held to the exact one."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.spectral import label_energy, label_frequency, spectral_density
from graphfilter.util.errors import ConfigError

SWITCH = "graphfilter.spectral.density._EXACT_UP_TO"


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two classes, mean degree 6, some isolated vertices."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    pairs = rng.integers(0, 600, (4000, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    kept = rng.random(4000) < np.where(same, 0.9, 0.1)
    return Graph.from_edges(pairs[kept][:1800], 610, labels=np.append(labels, [0] * 10))


def wasserstein(a, b) -> float:
    """Area between the two cumulative distributions: the mean distance energy has to move."""
    return float(np.abs(np.cumsum(a.values - b.values, axis=-1)).sum(axis=-1).max() * a.width**2)


def test_density_of_complete_graph_is_two_peaks():
    n = 9
    complete = Graph.from_edges(np.argwhere(np.triu(np.ones((n, n)), 1)))
    density = spectral_density(complete, n_bins=10)
    expected = np.zeros(10)
    expected[0] = 1 / n  # the eigenvalue 0
    expected[int(n / (n - 1) / 0.2)] = (n - 1) / n  # n/(n-1), n-1 times
    np.testing.assert_allclose(density.values * density.width, expected, atol=1e-12)
    assert density.exact


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_densities_integrate_to_one(small_graph, monkeypatch, exact_up_to):
    monkeypatch.setattr(SWITCH, exact_up_to)
    labelled = small_graph.replace(labels=np.arange(small_graph.n_vertices) % 2)
    for density in (spectral_density(labelled), label_energy(labelled, "onehot", n_bins=7)):
        assert density.exact == bool(exact_up_to)
        assert (density.values >= 0).all()
        np.testing.assert_allclose(density.values.sum(axis=-1) * density.width, 1)


def test_estimated_density_moves_mass_by_less_than_a_bin(graph, monkeypatch):
    exact = spectral_density(graph)
    monkeypatch.setattr(SWITCH, 0)
    estimated = spectral_density(graph)
    assert exact.exact
    assert not estimated.exact
    assert wasserstein(exact, estimated) < exact.width


@pytest.mark.parametrize("encoding", ["signed", "onehot"])
def test_estimated_energy_moves_mass_by_less_than_a_bin(graph, monkeypatch, encoding):
    exact = label_energy(graph, encoding)
    monkeypatch.setattr(SWITCH, 0)
    assert wasserstein(exact, label_energy(graph, encoding)) < exact.width


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_mean_of_label_energy_is_the_label_frequency(graph, monkeypatch, exact_up_to):
    monkeypatch.setattr(SWITCH, exact_up_to)
    energy = label_energy(graph, n_bins=100)
    mean = energy.values @ energy.centres * energy.width
    np.testing.assert_allclose(mean, label_frequency(graph), atol=0.01)


def test_density_depends_on_its_seed_only(graph, monkeypatch):
    monkeypatch.setattr(SWITCH, 0)
    first, again, other = (spectral_density(graph, seed=s).values for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_energy_of_an_absent_class_is_nan(monkeypatch):
    path = Graph.from_edges([[0, 1], [1, 2]], labels=["a", "b", "b"]).subgraph([1, 2])
    for exact_up_to in (0, 10):
        monkeypatch.setattr(SWITCH, exact_up_to)
        values = label_energy(path, "onehot", n_bins=4).values
        assert np.isnan(values).all(axis=1).tolist() == [True, False]


def test_density_needs_a_bin():
    with pytest.raises(ConfigError, match="at least 1; got 0"):
        spectral_density(Graph.from_edges([[0, 1]]), n_bins=0)

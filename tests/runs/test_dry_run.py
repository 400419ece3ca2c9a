"""What a fit will take, said beforehand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from tests.processes import apart, peaks_of_fits

import graphfilter as gf
from graphfilter.runs.plan import Source, plan_dry_run, plan_fit
from graphfilter.systems import get_system
from graphfilter.systems.system import PROGRAM, Committee, estimate_cost
from graphfilter.util.errors import ConfigError


def make_graph(n: int = 2000, n_features: int = 8, *, sparse: bool = False) -> gf.Graph:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, n_features), dtype=np.float32)
    features = sp.csr_array(np.where(x > 1, x, 0)) if sparse else x
    labels = (x[:, 0] > 0).astype(int)
    return gf.Graph.from_edges(rng.integers(0, n, (2 * n, 2)), n, features=features, labels=labels)


@pytest.mark.parametrize(
    "name",
    [
        "sgf",
        "mlp",
        "appnp",
        "hop-mlp",
        "committee",
        *(pytest.param(m, marks=pytest.mark.research) for m in ("gcn", "gcnii")),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_cost_grows_with_the_graph(name: str, sparse: bool) -> None:
    system = get_system(name)
    small, large = (
        estimate_cost(system, make_graph(n, sparse=sparse), n // 2) for n in (1000, 4000)
    )
    assert PROGRAM < small.peak < large.peak
    assert small.training <= small.peak


def test_cost_of_a_committee_is_that_of_its_largest_member() -> None:
    graph, committee = make_graph(), get_system("committee")
    assert isinstance(committee, Committee)
    cost = estimate_cost(committee, graph, 500)
    alone = {m.title: estimate_cost(m, graph, 500).peak for m in committee.members_for(graph, 500)}
    assert cost.peak > max(alone.values())
    assert cost.largest in alone


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_estimate_is_near_the_measured_peak(tmp_path: Path) -> None:
    """Without what the program takes itself, which depends on libraries and threads.

    Nor what the C library keeps of freed memory, at most ``runtime.allocator.KEPT``.
    """
    # Each larger than the one before: hardly anything, then features, then hidden columns.
    plans = [(make_graph(2000), 16), (make_graph(12_000, 768), 16), (make_graph(12_000), 1024)]
    fits, estimated = [], []
    for number, (graph, width) in enumerate(plans):
        store = tmp_path / f"store{number}"
        gf.data.write_store(graph, store)
        fits.append((str(store), width))
        system, n_train = get_system("sgf").with_(hidden_size=width), 3 * graph.n_vertices // 5
        estimated.append(estimate_cost(system, graph, n_train).training)
    measured = apart(peaks_of_fits, fits)
    assert isinstance(measured, list), measured
    expected, found = (np.subtract(peaks[1:], peaks[0]) for peaks in (estimated, measured))
    assert expected[0] > 2**27
    assert expected == pytest.approx(found, rel=0.2)
    assert measured[0] < PROGRAM


def test_fit_that_does_not_fit_is_refused_with_the_remedy(monkeypatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "300M")
    plan = plan_fit(Source(make_graph()), 0)
    found = plan_dry_run(plan, gf.GraphClassifier())
    assert not found.fits
    with pytest.raises(ConfigError, match=r"would take about .* [MG]iB of memory.* `model='sgf'`"):
        found.check()
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "30G")
    found = plan_dry_run(plan, gf.GraphClassifier())
    assert found.fits
    found.check()


def test_plain_models_that_do_not_fit_are_known_beforehand(monkeypatch) -> None:
    plan = plan_fit(Source(make_graph(n_features=20_000)), 0)
    small = gf.SGFClassifier(hidden_size=1, device="cpu")
    assert plan_dry_run(plan, small).within_memory(plan, baselines=True) == (plan, True)
    monkeypatch.setattr("graphfilter.runs.plan.DryRun.check", lambda _: None)
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "800M")
    less, baselines = plan_dry_run(plan, small).within_memory(plan, baselines=True)
    assert not baselines
    assert less.notes[-1] == "the baselines do not fit in memory: left out."


def test_dry_run_says_all_and_writes_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    import sys

    from graphfilter.cli import main

    gf.data.write_store(make_graph(), tmp_path / "store")
    words = ["fit", "--graph", str(tmp_path / "store")]
    monkeypatch.setattr(
        sys, "argv", ["graphfilter", *words, "--model", "sgf", "--dry-run", "--quiet"]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    said = capsys.readouterr().out
    for word in ("2,000 vertices", "of memory at its peak", "Disk", "It fits"):
        assert word in said
    assert [path.name for path in tmp_path.iterdir()] == ["store"]

"""The series of measurements: like is compared with like, and what became slower is marked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import history
from attack_runs import AttackRun, read_attacks, read_summary
from graphfilter.data import make_karate
from graphfilter.filters import StackedFilter
from graphfilter.operators import augmented_adjacency
from suite_runs import SuiteRun, count_tests, read_runs


def of(commit: str, ratio: float, device: str = "a") -> history.Measurement:
    pair = history.Pair(1.0, ratio, ratio, ratio, ratio)
    return history.Measurement(commit, "2030-01-31", "1", "c", {"device": device}, {"filter": pair})


def test_peer_computes_the_filter() -> None:
    operator, x = augmented_adjacency(make_karate()), torch.eye(34)
    learned = StackedFilter(5)
    halves = torch.full((5,), 0.5)
    torch.testing.assert_close(
        history.stacked(operator.csr(), x, halves, halves), learned(operator, x).detach()
    )


def test_peer_builds_the_operator() -> None:
    graph = make_karate()
    ours, peer = history.builders(graph.edges, graph.n_vertices)
    x = torch.eye(34)
    np.testing.assert_allclose(peer().toarray(), (ours() @ x).numpy(), atol=1e-6)


def test_measurement_of_this_code_is_read_back(tmp_path: Path) -> None:
    made = history.measure("abc1234", "2030-01-31", turns=1, n_vertices=60)
    assert set(made.pairs) == set(history.TITLES)
    path = tmp_path / "series.jsonl"
    history.append(made, path)
    history.append(replace(made, commit="def5678"), path)
    assert history.read_measurements(path) == [made, replace(made, commit="def5678")]


def test_fall_by_a_fifth_is_marked() -> None:
    steady = [of(str(i), 10 + i % 2) for i in range(6)]
    assert history.falls([*steady, of("x", 8.9)]) == set()
    assert history.falls([*steady, of("x", 7.9)]) == {(6, "filter")}


def test_fall_on_another_machine_is_none() -> None:
    assert history.falls([of("1", 10), of("2", 5, device="b")]) == set()


def test_page_shows_the_latest_first_and_marks_falls() -> None:
    shown = history.page([of("older", 10), of("newer", 5)])
    assert shown.index("`newer`") < shown.index("`older`")
    assert "**5.00× (5.00 to 5.00) ▼**" in shown
    assert shown.count("▼**") == 1


def test_committed_page_is_that_of_the_series() -> None:
    series = history.read_measurements()
    assert series
    assert history.PAGE.read_text(encoding="utf-8") == history.page(
        series, read_runs(), read_attacks()
    )


def test_page_shows_runs_on_a_gpu_and_on_real_data() -> None:
    run = SuiteRun("abc1234", "2030-01-31", "gpu", 15, 0, 2, {"device": "a GPU"})
    shown = history.page([], [run])
    assert "| `abc1234` | 2030-01-31 | a CUDA GPU | 15 | 0 | 2 | a GPU |" in shown


def test_page_shows_what_attacks_did(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    formats = {"csv": {"mutants": 3000}, "npz": {"mutants": 1000}}
    found = {"findings": ["one"], "mended": ["two", "three"]}
    summary.write_text(json.dumps({"formats": formats, **found}))
    fuzzed = {"damaged files of 2 formats, of each at least 1,000": 4000}
    assert read_summary(summary) == (fuzzed, 3, 2)
    done = {"fits": {"0": 200, "1": 50}, "kills of fit": {"0": 10}}
    summary.write_text(json.dumps({"done": done, "problems": []}))
    device = {"device": "a CPU"}
    soak = AttackRun("abc1234", "2030-01-31", *read_summary(summary)[:2], device)
    shown = history.page([], [], [soak, AttackRun("abc1234", "2030-01-31", fuzzed, 3, device, 2)])
    assert "| `abc1234` | 2030-01-31 | 250 fits, 10 kills of fit | 0 |  | a CPU |" in shown
    assert "of each at least 1,000 | 3 | 2 | a CPU |" in shown


def test_tests_are_counted_from_their_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="3"/></testsuites>'
    )
    assert count_tests(report) == (4, 2, 3)

"""How benchmarks measure: time, cores that are shared, memory, steps that stay exact."""

from __future__ import annotations

import argparse

import pytest
import torch

import contention
import harness
import huge
import pictures
import write_docs
from graphfilter.util.errors import GraphFilterError
from graphs import make_graph

CPU = torch.device("cpu")


def test_epoch_time_leaves_out_what_happens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a clock that counts: 3 seconds of set-up, 0.25 an epoch."""
    clock = [0.0]

    def train_for(n_epochs: int) -> None:
        clock[0] += 3 + 0.25 * n_epochs

    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(harness.time, name, lambda: clock[0])
    timing = harness.time_epochs(train_for, CPU, seconds=10, repeats=4)
    assert timing == harness.Timing(0.25, 0.25, 0.25, 4)


def test_calls_are_timed_after_a_first_one_and_for_as_long_as_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent = iter([100.0, 3.0, 1.0, 2.0, 4.0])
    clock = [0.0]

    def call() -> None:
        clock[0] += next(spent)

    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(harness.time, name, lambda: clock[0])
    timing = harness.time_calls(call, CPU, seconds=6.5, least=2)
    assert timing == harness.Timing(2.5, 1.0, 4.0, 4)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0512, "0.0512"), (5.1, "5.10"), (51.26, "51.3"), (5123.4, "5,123")]
)
def test_numbers_are_shown_with_three_digits(value: float, shown: str) -> None:
    assert harness.three_digits(value) == shown


def test_seconds_are_shown_in_a_fitting_unit() -> None:
    shown = harness.show_seconds({"median": 0.0042, "low": 0.004, "high": 0.0105})
    assert shown == "4.20 ms (4.00 to 10.5)"


def test_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(harness.GraphFilterError, match="cpu"):
        harness.check_device("gpu")


def test_fits_find_the_line_and_the_power_they_are_given() -> None:
    sizes = [1, 10, 100, 1000]
    assert pictures.fit_power(sizes, [2e-3 * s**1.5 for s in sizes]) == pytest.approx((1.5, 2e-3))
    line = pictures.fit_line(sizes, [0.5 + 0.25 * s for s in sizes])
    assert line == pytest.approx((0.5, 0.25, 0.0), abs=1e-9)
    assert pictures.fit_line(sizes, [1.0 * s**2 for s in sizes])[2] > 0.3


def test_fair_time_is_that_alone_until_the_cores_are_shared() -> None:
    alone = {"seconds": 10.0, "cpu_seconds": 10.0, "cores": 2}
    assert contention.fair_seconds(**alone, n_busy=0) == 10
    assert contention.fair_seconds(**alone, n_busy=1) == 10
    assert contention.fair_seconds(**alone, n_busy=4) == 25
    # Two threads that kept both cores busy share one of them with another process.
    assert contention.fair_seconds(5.0, 10.0, cores=2, n_busy=1) == 10


def test_contention_table_shows_the_ratio_and_its_goal() -> None:
    row = {"busy": 4, "seconds": 30.0, "cpu_seconds": 9.0, "fair_seconds": 25.0, "ratio": 1.2}
    row |= {"work": "Pubmed", "one_thread": 40.0, "of_one_thread": 0.75}
    shown = contention.table({"epochs": 100, "cores": 2, "rows": [row]})
    assert "| Pubmed, beside 4 busy | 30.0 s | 9.00 s | 25.0 s | 1.20× | 40.0 s | 0.75× |" in shown
    assert "≤ 1.3×" in shown


def test_exact_step_has_the_gradients_of_plain_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge, "CHUNK_ROWS", 70)
    monkeypatch.setattr(huge, "LABELLED", 0.5)
    differences = huge.check(torch.device("cpu"))
    assert set(differences) == {name for name, _ in huge.make_network().named_parameters()}
    assert max(differences.values()) < 1e-11


def test_check_finds_a_wrong_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_relu(step: huge.ExactStep, grad: torch.Tensor) -> None:
        step.network.get_parameter("encoder.weight").grad = step.problem.x.T @ grad
        step.network.get_parameter("encoder.bias").grad = grad.sum(0)

    monkeypatch.setattr(huge.ExactStep, "_encoder_gradients", forget_relu)
    with pytest.raises(GraphFilterError, match="gradients"):
        huge.run_or_check(argparse.Namespace(), torch.device("cpu"))


def test_exact_steps_lower_the_loss() -> None:
    problem = huge.Problem(make_graph(500, 4000, "power-law"), torch.float32)
    step = huge.ExactStep(huge.make_network(), problem)
    losses = [step().item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


FOLDER = write_docs.RESULTS / "scale"
PAGE = write_docs.PAGE.with_name("scale.md")


def test_scale_page_holds_the_tables_of_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    records = write_docs.read_records(FOLDER)
    wanted = f"run: python benchmarks/write_docs.py --results {FOLDER.name} --page docs/scale.md"
    assert write_docs.render(page, records) == page, wanted

from __future__ import annotations

import pytest
import torch

import harness
import pictures

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

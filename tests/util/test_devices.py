"""Devices by name."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import capturing, device_title, pick_device


@pytest.fixture(params=[0, 2])
def n_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("torch.cuda.is_available", lambda: request.param > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: request.param)
    return request.param


def test_auto_takes_a_gpu_where_there_is_one(n_gpus: int) -> None:
    assert pick_device("auto") == ("cuda" if n_gpus else "cpu")
    assert pick_device("cpu") == "cpu"


@pytest.mark.parametrize("device", ["gpu", "", "mps", "cuda:x", None, 1.5, 2**63])
def test_device_must_be_a_name_of_one(n_gpus: int, device: object) -> None:
    with pytest.raises(ConfigError, match="must be auto, cpu, cuda or cuda:N"):
        pick_device(device)  # pyright: ignore


def test_gpu_must_be_one_that_there_is(n_gpus: int) -> None:
    for device in ("cuda", "cuda:1"):
        if n_gpus:
            assert pick_device(device) == device
        else:
            with pytest.raises(ConfigError, match="none that torch can use"):
                pick_device(device)
    if n_gpus:
        with pytest.raises(ConfigError, match="GPUs 0 to 1 only"):
            pick_device("cuda:2")


def test_a_cpu_has_no_model() -> None:
    assert device_title("cpu") == "cpu"


def test_one_thread_at_a_time_captures_on_a_gpu() -> None:
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    with capturing(cpu), capturing(cpu):
        pass
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with capturing(gpu):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: work(), range(3)))
    assert most == [1, 1, 1]

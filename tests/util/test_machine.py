"""What a process may use of the machine: cores, memory, devices; and that it uses no more."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from graphfilter.util import machine as threads
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import capturing, pick_device

NAMES = (*threads.WAITING, "OMP_NUM_THREADS", threads.THREADS_VARIABLE)
LARGE = 2 * threads.WORTH_A_THREAD


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which nobody has set anything."""
    monkeypatch.setattr(os, "environ", {k: v for k, v in os.environ.items() if k not in NAMES})
    return monkeypatch


@pytest.fixture
def two_threads(clean: pytest.MonkeyPatch):
    clean.setattr(threads, "usable_cores", lambda: 2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def make_groups(root: Path, membership: str, files: dict[str, str]) -> Path:
    groups = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {"proc/self/cgroup": membership, **groups}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, float("inf")),
        # The group itself has no limit, the one around it has.
        ("0::/a/b\n", {"a/cpu.max": "300000 100000"}, 3.0),
        # A container sees its own group at the root of the mount.
        ("0::/hidden\n", {"cpu.max": "50000 100000"}, 0.5),
        (
            "1:cpu:/c\n",
            {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            2.0,
        ),
        (
            "1:cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
            float("inf"),
        ),
        ("damaged", {"cpu.max": "100000 0"}, float("inf")),
        ("", {}, float("inf")),
    ],
)
def test_quota_is_the_least_of_the_groups_around(
    tmp_path: Path, membership: str, files: dict[str, str], cores: float
) -> None:
    assert threads.granted_cores(make_groups(tmp_path, membership, files)) == cores


@pytest.mark.parametrize(
    ("membership", "name"),
    [
        ("0::/job/step\n", "job/step/memory.max"),
        ("0::/job/step\n", "job/memory.max"),
        ("4:cpu,memory:/job\n", "memory/memory.limit_in_bytes"),
    ],
)
def test_memory_is_what_a_control_group_grants(membership: str, name: str, tmp_path: Path) -> None:
    whole = threads.limited_memory(tmp_path)
    assert threads.limited_memory(make_groups(tmp_path, membership, {name: "max\n"})) == whole
    make_groups(tmp_path, membership, {name: f"{2**20}\n"})
    assert threads.limited_memory(tmp_path) == 2**20


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4G", 4 * 2**30), ("500 MB", 500 * 2**20), ("1024", 1024), ("1.5 GiB", 3 * 2**29)],
)
def test_memory_is_what_the_environment_says(
    text: str, n_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(threads.VARIABLE, text)
    assert threads.memory_of_process() == n_bytes


@pytest.mark.parametrize("text", ["much", "-1", "0", "4X", "4,5G"])
def test_memory_that_is_no_size_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.VARIABLE, text)
    with pytest.raises(ConfigError, match=f"{threads.VARIABLE} must be an amount like 4GB"):
        threads.memory_of_process()


@pytest.mark.parametrize(("quota", "cores"), [(0.2, 1), (1.5, 2), (3.0, 3), (float("inf"), 4)])
def test_usable_cores_are_affinity_within_the_quota_rounded_up(
    clean: pytest.MonkeyPatch, quota: float, cores: int
) -> None:
    clean.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)
    clean.setattr(threads, "granted_cores", lambda root: quota)
    assert threads.usable_cores.__wrapped__() == cores


def test_preparing_keeps_what_the_user_set(clean: pytest.MonkeyPatch) -> None:
    clean.setattr(threads, "usable_cores", lambda: 3)
    os.environ["OMP_WAIT_POLICY"] = "ACTIVE"
    threads.prepare_threads()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["KMP_BLOCKTIME"] == "0"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"
    os.environ["OMP_NUM_THREADS"] = "7"
    threads.prepare_threads()
    assert os.environ["OMP_NUM_THREADS"] == "7"
    os.environ[threads.THREADS_VARIABLE] = " 2 "
    threads.prepare_threads()
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert threads.thread_limit() == 2


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5", "٣", "1e3", "9" * 5000])
def test_a_bad_number_of_threads_is_refused(clean: pytest.MonkeyPatch, value: str) -> None:
    os.environ[threads.THREADS_VARIABLE] = value
    with pytest.raises(ConfigError, match="GRAPHFILTER_THREADS must be a whole number from 1"):
        threads.prepare_threads()


def test_small_products_have_one_thread_and_large_ones_no_more_than_there_are(two_threads) -> None:
    assert threads.threads_worth(1) == 1
    assert threads.threads_worth(LARGE) == 2
    assert threads.threads_worth(100 * LARGE) == 2
    with threads.threads_for(LARGE - 1):
        assert torch.get_num_threads() == 1
        with threads.threads_for(LARGE):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


def test_threads_are_restored_after_an_error(two_threads) -> None:
    with pytest.raises(KeyboardInterrupt), threads.threads_for(1):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == 2


def test_the_choice_does_not_depend_on_what_runs_beside(two_threads) -> None:
    """A Python thread that starts within another's small work has all threads for a large one."""
    seen = []

    def work() -> None:
        with threads.threads_for(LARGE):
            seen.append(torch.get_num_threads())

    with threads.threads_for(1):
        beside = threading.Thread(target=work)
        beside.start()
        beside.join()
    assert seen == [2]
    assert torch.get_num_threads() == 2


def test_threads_module_needs_no_torch() -> None:
    code = "import sys, graphfilter.util.machine as t; t.prepare_threads(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"torch", "numpy"} & set(done.stdout.split())


FORK = """
import multiprocessing, os, sys
os.environ["GRAPHFILTER_THREADS"] = "2"
from graphfilter.util.machine import prepare_threads
prepare_threads()
import torch
from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.util import machine as threads
threads.WORTH_A_THREAD = 1

def fit(seed):
    graph = make_csbm(n_vertices=2000, mean_degree=10, n_features=20)
    model = SGFClassifier(n_layers=4, max_epochs=3, random_state=0).fit(graph=graph)
    return torch.get_num_threads(), threads.thread_limit(), model.predict_proba().shape

print(fit(0))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(fit, [0, 1]))
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_forked_child_fits_on_one_thread_after_its_parent_fitted() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    parent, children = map(eval, done.stdout.splitlines())
    assert parent == (2, 2, (2000, 2))
    assert children == [(1, 1, (2000, 2))] * 2


def test_compiled_code_has_threads_of_its_own_choice(two_threads) -> None:
    """Torch on one thread, compiled code on all."""
    with threads.threads_for(1):
        assert (torch.get_num_threads(), threads.threads_worth(LARGE)) == (1, 2)
        with threads.threads_for(LARGE):
            assert (torch.get_num_threads(), threads.threads_worth(LARGE)) == (2, 2)
        assert (torch.get_num_threads(), threads.threads_worth(LARGE)) == (1, 2)


def test_share_of_threads_is_that_of_one_python_thread(clean: pytest.MonkeyPatch) -> None:
    clean.setattr(threads, "usable_cores", lambda: 16)
    elsewhere: list[int] = []
    with threads.share_of_threads(5):
        other = threading.Thread(target=lambda: elsewhere.append(threads.thread_limit()))
        other.start()
        other.join()
        assert threads.thread_limit() == 5
        with threads.share_of_threads(9):
            assert threads.thread_limit() == 5
    assert threads.thread_limit() == 16
    assert elsewhere == [16]


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

"""Small named graphs, the real datasets where they are at hand, and the command line."""

# ruff: noqa: E402 - threads are set before torch loads.
from __future__ import annotations

import gc
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graphfilter.util.machine import prepare_threads

# The tests run side by side, a process per core: threads within each would only contend. Set
# before torch loads, and inherited by every process that a test starts.
os.environ.setdefault("GRAPHFILTER_THREADS", "1")
prepare_threads()
# What is imported and collected stays: nothing looks for garbage in it, now or later.
gc.disable()
# A shell lets what it starts in the background ignore Ctrl-C, and so would the processes that tests
# start, and send it to.
signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import typer.main
from filelock import FileLock
from hypothesis import settings
from tests.documentation import NEEDED, build_site

from graphfilter.cli import main
from graphfilter.data.graph import Graph

# A test never fails for being slow, and draws the same examples every time; make fuzz looks for
# new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# The parser of the command line is made once, not for every command.
typer.main.get_command = cache(typer.main.get_command)

# Without a GPU the Triton kernels run in Triton's interpreter; it reads this when imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")


# What takes longest, at the beginning: at the end one process would be left with it. The first two
# bring all files of the browser, and all that fork.
LONGEST = (
    "test_report_in_browser.py",
    "test_fit.py",
    "test_results.py",
    "test_pages.py",
    "test_kernel_contract.py",
    "test_targets.py",
    "test_system_contract.py",
    "test_committee.py",
    "test_graph_regressor.py",
    "test_filter_contract.py",
    "test_sgf_classifier.py",
    "test_answers_agree.py",
    "test_graph_classifier.py",
    "test_compiled.py",
    "test_docs.py",
)


# Of a wheel of the core alone (make test-core), the core's rooms are tested.
RESEARCH = importlib.util.find_spec("graphfilter_research") is not None
OF_BOTH = ["research", "docs", "benchmarks", "test_architecture.py", "test_docs.py"]
collect_ignore = [] if RESEARCH else OF_BOTH


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "research: needs systems or datasets of graphfilter_research"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, mark tests of real data, skip what is not installed."""
    place = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))
    for item in items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if not RESEARCH and item.get_closest_marker("research"):
            item.add_marker(pytest.mark.skip(reason="graphfilter_research is not installed"))
    if importlib.util.find_spec("torch_geometric"):
        return
    missing = pytest.mark.skip(reason="torch_geometric is not installed")
    for item in items:
        if isinstance(item, pytest.DoctestItem) and "graphfilter_research.peers.pyg" in (
            item.path.read_text()
        ):
            item.add_marker(missing)


@cache
def shared_by(file: str) -> str:
    """Name what the tests of a file share with those of others, or the file itself."""
    if file.startswith("tests/browser/"):
        return "the browser"
    content = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    forks = "tests.processes" in content
    return "the fork server" if forks or file.startswith("tests/web/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run files that share a process in one worker: it takes seconds to start another."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Sharing(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_by(super()._split_scope(nodeid))

    return Sharing(config, log)


def pytest_collection_finish() -> None:
    # pytest listens to every logger that does not propagate, anew in each phase of a test: torch
    # has fifty of them.
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("torch") and isinstance(logger, logging.Logger):
            logger.propagate = True
    gc.freeze()
    # Looked for less often than by default, which takes a tenth of the time of some tests.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


RESULTS = Path(__file__).resolve().parents[1] / "results"
SMALL_GRAPHS = ("path", "cycle", "star", "two_components", "isolated", "weighted", "edgeless")


def make_small_graph(name: str) -> Graph:
    if name == "path":
        return Graph.from_edges([[i, i + 1] for i in range(6)], name=name)
    if name == "cycle":
        return Graph.from_edges([[i, (i + 1) % 8] for i in range(8)], name=name)
    if name == "star":
        return Graph.from_edges([[0, i] for i in range(1, 7)], name=name)
    if name == "two_components":
        return Graph.from_edges([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5]], name=name)
    if name == "isolated":
        return Graph.from_edges([[0, 1], [1, 2], [2, 3]], n_vertices=6, name=name)
    if name == "weighted":
        rng = np.random.default_rng(0)
        dense = np.triu(rng.random((9, 9)) * (rng.random((9, 9)) < 0.5), 1)
        return Graph.from_scipy(sp.coo_array(dense), name=name)
    if name == "edgeless":
        return Graph.from_edges(np.empty((0, 2), dtype=int), n_vertices=4, name=name)
    raise AssertionError(name)


@pytest.fixture(params=SMALL_GRAPHS)
def small_graph(request: pytest.FixtureRequest) -> Graph:
    return make_small_graph(request.param)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real datasets: GRAPHFILTER_DATA, or ../shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GRAPHFILTER_DATA", beside))
    if not (folder / "cora.npz").is_file():
        pytest.skip("no real datasets at hand: set GRAPHFILTER_DATA to a folder with cora.npz")
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'graphfilter[docs]'")
    return made_once(tmp_path_factory, "documentation", build_site) / "site"


@pytest.fixture(scope="session")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all that is on record in results/, built again without training."""

    def build(folder: Path) -> None:
        words = ["reproduce", "all", "--from-records", RESULTS, "--out", folder, "--quiet"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["graphfilter", *map(str, words)])
            with pytest.raises(SystemExit) as stop:
                main()
        assert stop.value.code in (0, None)

    return made_once(tmp_path_factory, "rebuilt", build)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that is made once for all the processes that run tests."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not folder.exists():
            make(folder)
    return folder


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def graphfilter(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run the command in this process, which must end with this code; give what it printed."""

    def run(*words: object, code: int = 0) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["graphfilter", *map(str, words)])
        capfd.readouterr()
        ended = 0
        try:
            main()
        except SystemExit as stop:
            ended = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = capfd.readouterr()
        assert ended == code, captured.err
        return Outcome(ended, captured.out, captured.err)

    return run

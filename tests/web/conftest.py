from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from tests.processes import Command
from tests.web_client import WebClient

from graphfilter.data import make_karate
from graphfilter.runs.plan import Source

# The services cannot be imported without their packages.
collect_ignore_glob = [] if find_spec("starlette") and find_spec("uvicorn") else ["test_*.py"]
N = 60
QUICK = ("--model", "sgf", "--epochs", 15, "--set", "n_layers=3", "--no-baselines", "--quiet")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two tables: numbers with a gap, words, and a class that both tell."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2)).round(3)
    vertices = pd.DataFrame({"id": [f"v{i}" for i in range(N)], "age": x[:, 0], "size": x[:, 1]})
    vertices["colour"] = rng.choice(["red", "green", "blue"], N)
    vertices["drink"] = np.where(x[:, 0] + (vertices["colour"] == "red") > 0, "tea", "coffee")
    vertices.loc[3, "size"] = np.nan
    ends = rng.integers(0, N, (150, 2))
    edges = pd.DataFrame([[f"v{a}", f"v{b}"] for a, b in ends if a != b], columns=["from", "to"])
    vertices.to_csv(folder / "vertices.csv", index=False)
    edges.drop_duplicates().to_csv(folder / "edges.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def run(tables: Path) -> Path:
    folder = tables / "run"
    words = ("fit", "--edges", tables / "edges.csv", "--vertices", tables / "vertices.csv")
    with Command([*words, "--label", "drink", "--out", folder, *QUICK], tables / "said") as fit:
        assert fit.wait()
        assert fit.code == 0, fit.err
    return folder


@pytest.fixture(scope="session")
def scorer(run: Path, tables: Path):
    pytest.importorskip("starlette", reason="the packages of the endpoint are not installed")
    pytest.importorskip("uvicorn", reason="the packages of the endpoint are not installed")
    from graphfilter.data import read_tables
    from graphfilter.runs.loading import load_run
    from graphfilter.web.endpoint import Scorer

    estimator, about, encoder = load_run(run)
    graph, _ = read_tables(tables / "edges.csv", tables / "vertices.csv", encoder=encoder)
    return Scorer(estimator, about, encoder, graph)


@pytest.fixture(scope="session")
def ask(scorer) -> Iterator[WebClient]:
    from graphfilter.web.endpoint import Endpoint, Limits

    with Endpoint(scorer, limits=Limits(vertices=20, bytes=1 << 16)) as endpoint:
        yield WebClient(endpoint.url)


class Client(WebClient):
    """Asks a studio, whose files are in ``folder``."""

    def __init__(self, url: str, folder: Path = Path()) -> None:
        super().__init__(url)
        self.folder = folder

    def wait_for(self, key: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask for a run until it is as wanted."""
        for _ in range(2400):
            run = next(r for r in self("GET", "api/runs").json["runs"] if r["key"] == key)
            if wanted(run):
                return run
            time.sleep(0.05)
        raise AssertionError(f"run {key} is {run}")

    def dataset(self, name: str = "karate") -> str:
        return self("POST", "api/graphs", {"dataset": name}).json["key"]

    def upload(self, name: str, body: Any) -> Any:
        return self("POST", "api/uploads", body=body, headers={"X-File-Name": quote(name)})

    def read(self, vertices: Any, edges: Any = None, **choices: Any) -> Any:
        """Send tables and read them, with what is chosen for their columns."""
        request = {**choices, "vertices": self.upload("v.csv", vertices).json["key"]}
        if edges is not None:
            request["edges"] = self.upload("e.csv", edges).json["key"]
        return self("POST", "api/graphs", request)

    def train(self, graph: str, **setting: Any) -> str:
        """Begin to train a filter, or what the setting says."""
        setting = {"model": "filter", **setting}
        reply = self("POST", "api/runs", {"graph": graph, "setting": setting})
        assert reply.status == 200, reply.body
        return reply.json["key"]


@pytest.fixture
def client() -> Iterator[Client]:
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    from graphfilter.web.studio import Studio

    with Studio(Source(make_karate(), words=("--dataset", "karate")), upload_limit_mb=1) as studio:
        yield Client(studio.url, studio.folder)


@pytest.fixture
def connect() -> type[Client]:
    return Client

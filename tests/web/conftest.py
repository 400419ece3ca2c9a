from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.processes import Command
from tests.web_client import WebClient

N = 60
QUICK = ("--model", "sgf", "--epochs", 15, "--layers", 3, "--no-baselines", "--quiet")


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
    from graphfilter.web.scorer import Scorer

    estimator, about, encoder = load_run(run)
    graph, _ = read_tables(tables / "edges.csv", tables / "vertices.csv", encoder=encoder)
    return Scorer(estimator, about, encoder, graph)


@pytest.fixture(scope="session")
def ask(scorer) -> Iterator[WebClient]:
    from graphfilter.web.endpoint import Endpoint
    from graphfilter.web.limits import Limits

    with Endpoint(scorer, limits=Limits(vertices=20, bytes=1 << 16)) as endpoint:
        yield WebClient(endpoint.url)

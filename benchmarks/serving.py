"""How long ``graphfilter serve`` takes to answer, with 50 clients at a time.

    python benchmarks/serving.py                  Cora, SGF and the committee
    python benchmarks/serving.py --small          a small made graph, SGF

The endpoint runs in a process of its own. Fifty clients, threads of another process on the same
machine, each keep a connection and send the next request when the last is answered: one vertex by
its id, or one new vertex with all its features and three neighbours, which costs a prediction of
the whole graph and waits for those before it; with --within 4, one of the vertices near it, an
approximation whose distance from the whole graph's answer is measured too. The first tenth of the
requests is not counted. One client alone is measured too. Models are fitted for a few epochs: more
would not change the time.
"""

# ruff: noqa: E402 - threads are set before torch loads, as the command line does.
from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from graphfilter.util.machine import prepare_threads

prepare_threads()

import numpy as np
import torch

from graphfilter import Graph, GraphClassifier, SGFClassifier
from graphfilter.data import load_dataset, make_csbm
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.loading import RunDescription
from graphfilter.web.endpoint import Endpoint, Limits, Scorer
from harness import Record, main, markdown, option_parser, stage, three_digits

N_CLIENTS = 50
# Requests of all clients together.
N_KNOWN, N_NEW = 10_000, 500
MODELS = {"SGF": SGFClassifier, "committee": GraphClassifier}
WITHIN = 4
ASKED = {
    "known": "one vertex by id",
    "new": "one new vertex",
    "near": f"one new vertex, --within {WITHIN}",
}
Urls = dict[str, str]


def read_graph(name: str) -> Graph:
    """Return a graph whose vertices have ids."""
    made = name == "made"
    graph = make_csbm(n_vertices=200, n_features=8, frequency=0.3) if made else load_dataset(name)
    return graph.replace(vertex_names=[str(i) for i in range(graph.n_vertices)])


def serve(dataset: str, model: str, pipe: Connection) -> None:
    """Fit, and serve until told to end."""
    graph = read_graph(dataset)
    estimator = MODELS[model](max_epochs=10, random_state=0).fit(graph=graph)
    with endpoints(estimator, graph) as urls:
        pipe.send(urls)
        pipe.recv()


@contextmanager
def endpoints(estimator: VertexEstimator, graph: Graph) -> Iterator[Urls]:
    """Serve a model as it is, and with new vertices scored on those near them."""
    limits = Limits(waiting=2 * N_CLIENTS, seconds=120)
    whole, near = (Scorer(estimator, RunDescription(), None, graph, w) for w in (None, WITHIN))
    with Endpoint(whole, limits=limits) as first, Endpoint(near, limits=limits) as second:
        yield {"known": first.url, "new": first.url, "near": second.url}


@contextmanager
def served(dataset: str, model: str) -> Iterator[Urls]:
    """Serve in another process; give the addresses."""
    context = multiprocessing.get_context("spawn")
    own, other = context.Pipe()
    process = context.Process(target=serve, args=(dataset, model, other))
    process.start()
    other.close()
    try:
        yield own.recv()
        own.send(None)
    finally:
        process.join(30)
        process.kill()


def make_bodies(graph: Graph, n: int, *, new: bool, seed: int) -> list[str]:
    """Return requests for vertices drawn at random."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, graph.n_vertices, n).tolist()
    if not new:
        return [json.dumps({"ids": [number]}) for number in numbers]
    features: Any = graph.features
    found = []
    for number in numbers:
        row = features[[number]]
        row = row.toarray() if hasattr(row, "toarray") else row
        neighbours = rng.choice(graph.n_vertices, 3, replace=False).tolist()
        vertex = {"features": row[0].tolist(), "neighbours": neighbours}
        found.append(json.dumps({"vertices": [vertex]}))
    return found


def ask(url: str, bodies: list[str]) -> tuple[list[float], list[Any]]:
    """Send requests one after another on one connection; return seconds and answers of each."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    spent, said = [], []
    for body in bodies:
        started = time.perf_counter()
        connection.request("POST", "/score", body)
        reply = connection.getresponse()
        content = reply.read()
        spent.append(time.perf_counter() - started)
        if reply.status != 200:
            raise RuntimeError(f"answered with {reply.status}")
        said.append(json.loads(content))
    connection.close()
    return spent, said


def measure_difference(urls: Urls, graph: Graph, n: int) -> list[float]:
    """Return how far probabilities are from those of the whole graph, at most for each vertex."""
    bodies = make_bodies(graph, n, new=True, seed=0)
    rows = [
        np.array([list(one["vertices"][0]["probabilities"].values()) for one in said])
        for _, said in (ask(urls[asked], bodies) for asked in ("new", "near"))
    ]
    return np.abs(rows[0] - rows[1]).max(axis=1).tolist()


def measure(url: str, graph: Graph, n_clients: int, n_requests: int, *, new: bool) -> Record:
    """Send requests from several clients at a time; return how long they took."""
    each = max(n_requests // n_clients, 10)
    bodies = [make_bodies(graph, each, new=new, seed=c) for c in range(n_clients)]
    with ThreadPoolExecutor(n_clients) as pool:
        started = time.perf_counter()
        spent = list(pool.map(lambda own: ask(url, own)[0], bodies))
        seconds = time.perf_counter() - started
    counted = np.concatenate([own[each // 10 :] for own in spent])
    return {
        "clients": n_clients,
        "requests": n_clients * each,
        "per_second": n_clients * each / seconds,
        "p50": float(np.percentile(counted, 50)),
        "p99": float(np.percentile(counted, 99)),
    }


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every model, asked for known and for new vertices, by one client and by many."""
    rows = []
    dataset, models = ("made", ("SGF",)) if options.small else ("cora", tuple(MODELS))
    graph = read_graph(dataset)
    for model in models:
        with stage(f"{model} on {dataset}") as tick, served(dataset, model) as urls:
            for asked, url in urls.items():
                n = (N_KNOWN if asked == "known" else N_NEW) // (50 if options.small else 1)
                for n_clients in (1, N_CLIENTS):
                    share = n if n_clients > 1 else n // 10
                    found = measure(url, graph, n_clients, share, new=asked != "known")
                    rows.append({"model": model, "asked": asked, **found})
                    tick()
            differences = measure_difference(urls, graph, 50)
            rows[-1] |= {"difference": float(np.mean(differences)), "most": max(differences)}
    return {"dataset": dataset, "n_vertices": graph.n_vertices, "rows": rows}


def table(record: Record) -> str:
    """Show how long a request takes, and how many are answered a second."""
    rows = [
        [
            f"{row['model']}, {ASKED[row['asked']]}",
            str(row["clients"]),
            f"{row['requests']:,}",
            f"{three_digits(1e3 * row['p50'])} ms",
            f"{three_digits(1e3 * row['p99'])} ms",
            three_digits(row["per_second"]),
        ]
        for row in record["rows"]
    ]
    said = [
        f"{row['model']}: --within {WITHIN} changes the probabilities of a new vertex by "
        f"{row['difference']:.4f} on average, at most by {row['most']:.4f} (50 vertices)."
        for row in record["rows"]
        if "difference" in row
    ]
    head = [f"{record['dataset']}, {record['n_vertices']:,} vertices", "clients", "requests"]
    shown = markdown([*head, "p50", "p99", "answers per second"], rows)
    return "\n\n".join([shown, " ".join(said)]) if said else shown


if __name__ == "__main__":
    main("serving", option_parser(__doc__), run, table)

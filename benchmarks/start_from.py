"""A fit that begins with the weights of an earlier one, beside a fresh fit of the grown graph.

    python benchmarks/start_from.py                  Cora, SGF and the committee; Pubmed, SGF
    python benchmarks/start_from.py --small          a small made graph, SGF

A graph has grown: four fifths of its vertices, drawn at random, were there before. The earlier fit
is of those, with their parts of a stratified 60/20/20 split; then the whole graph is fitted on the
whole split, once anew and once with ``start_from``. Epochs are of the longest network, seconds of
one fit without the earlier one, accuracy is on all test vertices: the mean over three splits.
"""

# ruff: noqa: E402 - threads are set before torch loads, as the command line does.
from __future__ import annotations

import argparse
import time
from typing import Any

from graphfilter.util.machine import prepare_threads

prepare_threads()

import numpy as np
import torch

from graphfilter import Graph, GraphClassifier, SGFClassifier
from graphfilter.data import load_dataset, make_csbm
from graphfilter.splits import Split, stratified
from harness import Record, main, markdown, option_parser, stage, three_digits

SEEDS, KNOWN = (0, 1, 2), 0.8
FITS = (("cora", "SGF"), ("cora", "committee"), ("pubmed", "SGF"))
MODELS = {"SGF": SGFClassifier, "committee": GraphClassifier}


def read_graph(name: str) -> Graph:
    """Return a dataset whose vertices have ids."""
    made = name == "made"
    graph = make_csbm(n_vertices=300, n_features=8, frequency=0.3) if made else load_dataset(name)
    return graph.replace(vertex_names=[f"v{i}" for i in range(graph.n_vertices)])


def earlier_part(graph: Graph, split: Split, seed: int) -> tuple[Graph, Split]:
    """Return the graph as it was before some vertices came, and its part of the split."""
    n = graph.n_vertices
    known = np.sort(np.random.default_rng(seed).permutation(n)[: int(KNOWN * n)])
    number = np.full(n, -1)
    number[known] = np.arange(len(known))
    parts = (number[part] for part in (split.train, split.val, split.test))
    return graph.subgraph(known), Split(*(part[part >= 0] for part in parts))


def measure(graph: Graph, model: str, seed: int, device: str, **options: Any) -> Record:
    """Fit the earlier graph, then the whole one anew and from there."""
    assert graph.labels is not None
    split = stratified(graph.labels, seed)
    before = earlier_part(graph, split, seed)

    def fit(part: tuple[Graph, Split], start: Any = None) -> tuple[Any, Record]:
        clf = MODELS[model](random_state=seed, device=device, **options)
        started = time.perf_counter()
        clf.fit(graph=part[0], split=part[1], start_from=start)
        spent = time.perf_counter() - started
        own, test = part[0], part[1].test
        assert own.labels is not None
        right = clf.predict()[test] == own.classes[own.labels[test]]
        epochs = max(result.n_epochs for result in clf.results_)
        return clf, {"epochs": epochs, "seconds": spent, "accuracy": float(right.mean())}

    earlier, _ = fit(before)
    whole = (graph, split)
    return {"seed": seed, "fresh": fit(whole)[1], "started": fit(whole, earlier)[1]}


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every graph and model on all splits."""
    rows = []
    settings: dict[str, Any] = {"max_epochs": 60} if options.small else {}
    for name, model in (("made", "SGF"),) if options.small else FITS:
        graph = read_graph(name)
        with stage(f"{name}: {model}") as tick:
            found = []
            for seed in SEEDS[:1] if options.small else SEEDS:
                found.append(measure(graph, model, seed, device.type, **settings))
                tick()
        rows.append({"dataset": name, "model": model, "splits": found})
    return {"known": KNOWN, "rows": rows}


def table(record: Record) -> str:
    """Show epochs, seconds and accuracy of both ways: means over the splits."""

    def mean(row: Record, way: str, what: str) -> float:
        return float(np.mean([split[way][what] for split in row["splits"]]))

    rows = [
        [
            f"{row['dataset']}, {row['model']}",
            *(f"{mean(row, way, 'epochs'):,.0f}" for way in ("fresh", "started")),
            *(f"{three_digits(mean(row, way, 'seconds'))} s" for way in ("fresh", "started")),
            *(f"{100 * mean(row, way, 'accuracy'):.1f}" for way in ("fresh", "started")),
            str(len(row["splits"])),
        ]
        for row in record["rows"]
    ]
    head = ["the whole graph", "epochs, fresh", "started", "time, fresh", "started"]
    return markdown([*head, "accuracy, fresh", "started", "splits"], rows)


if __name__ == "__main__":
    main("start_from", option_parser(__doc__), run, table)

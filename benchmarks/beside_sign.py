"""hop-mlp beside SIGN on a made graph: accuracy, processor time and memory, from tables on.

    python benchmarks/beside_sign.py                       100,000 vertices, a million edges
    python benchmarks/beside_sign.py --vertices 1000000    more; ten edges per vertex
    python benchmarks/beside_sign.py --small               2,000 vertices

The graph: 16 weak features, 8 classes, 35 of 100 edges within a class on purpose, skewed degrees,
a split of 20/10/70, as two Parquet files. Each way is a process of its own that imports, reads the
tables, learns and predicts every vertex; counted are its seconds of the processor, on one thread,
and the peak of its memory. SIGN is what one writes by hand (Frasca et al. 2020): hops by scipy,
standardised, two hidden layers of 256, dropout 0.3, Adam with 0.001, the best of at most 30 epochs
by validation accuracy, patience 5. ``fit`` also writes its report with reasons of 200 rows,
predictions and the model.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from harness import Record, apart, main, markdown, option_parser, stage, three_digits

N_CLASSES, N_FEATURES, PER_VERTEX, N_HOPS = 8, 16, 10, 4
WITHIN, SKEW, HINT = 0.35, 1.7, 0.35
PARTS, SHARES = ("train", "val", "test"), (0.2, 0.1, 0.7)
EPOCHS, PATIENCE, WIDTH = 30, 5, 256
MIB = 2**20
WAYS = {
    "sign": "SIGN by hand, predictions",
    "python": "hop-mlp in Python, predictions",
    "fit": "hop-mlp by `graphfilter fit --no-baselines`, report and all",
}


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Write the tables in one process, and learn from them in one per way."""
    n = 2_000 if options.small else getattr(options, "vertices", 100_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        apart(make_tables, folder, n)
        rows = {}
        for way in WAYS:
            with stage(way):
                rows[way] = apart(measure, way, folder)
    chosen = " --small" if options.small else f" --vertices {n}"
    return {"command": f"python benchmarks/beside_sign.py{chosen}", "n_vertices": n, "rows": rows}


def make_tables(folder: Path, n: int) -> None:
    """Write edges.parquet and vertices.parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=n)
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], np.arange(N_CLASSES + 1))
    source = (rng.random(PER_VERTEX * n) ** SKEW * n).astype(np.int64)
    drawn, of = rng.random(PER_VERTEX * n), labels[source]
    alike = order[start[of] + (drawn * np.diff(start)[of]).astype(np.int64)]
    within = rng.random(PER_VERTEX * n) < WITHIN
    target = np.where(within, alike, (drawn * n).astype(np.int64))
    parquet.write_table(pa.table({"src": source, "dst": target}), folder / "edges.parquet")
    means = HINT * rng.standard_normal((N_CLASSES, N_FEATURES))
    x = (means[labels] + rng.standard_normal((n, N_FEATURES))).astype(np.float32)
    columns: dict[str, Any] = {"id": np.arange(n)}
    columns |= {f"f{i}": x[:, i] for i in range(N_FEATURES)}
    columns |= {
        "kind": np.char.add("k", labels.astype(str)),
        "split": rng.choice(PARTS, n, p=SHARES),
    }
    parquet.write_table(pa.table(columns), folder / "vertices.parquet")


def measure(way: str, folder: Path) -> Record:
    """Learn in one of the ways; return the test accuracy and what it took."""
    torch.set_num_threads(1)
    who = resource.RUSAGE_SELF
    if way == "sign":
        accuracy = learn_sign(folder)
    elif way == "python":
        accuracy = learn_hops(folder)
    else:
        accuracy, who = fit_folder(folder), resource.RUSAGE_CHILDREN
    used = resource.getrusage(who)
    # What this process took to be started counts for each: imports are a part of every way.
    return {
        "accuracy": accuracy,
        "seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
    }


def learn_hops(folder: Path) -> float:
    """Learn with this package's classifier; choose nothing by test vertices."""
    import graphfilter as gf

    tables = (folder / f"{name}.parquet" for name in ("edges", "vertices"))
    graph, _ = gf.data.read_tables(*tables, label="kind", split="split")
    assert graph.labels is not None
    classifier = gf.SystemClassifier(model="hop-mlp", random_state=0, device="cpu")
    split = graph.splits[0]
    found = classifier.fit(graph=graph, split=split).predict()[split.test]
    return float((found == np.asarray(graph.classes)[graph.labels[split.test]]).mean())


def fit_folder(folder: Path) -> float:
    """Run the command; read the accuracy that it found."""
    import json

    tables = "--vertices vertices.parquet --edges edges.parquet --label kind --split split"
    words = f"fit {tables} --model hop-mlp --no-baselines --out run".split()
    command = [sys.executable, "-m", "graphfilter", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    found = json.loads((folder / "run" / "metrics.json").read_text())
    return float(found["scores"]["test"]["accuracy"])


def learn_sign(folder: Path) -> float:
    """Learn as one would by hand."""
    import scipy.sparse as sp
    from pyarrow import parquet

    vertices, edges = (parquet.read_table(folder / f"{t}.parquet") for t in ("vertices", "edges"))
    x = np.stack([vertices[f"f{i}"].to_numpy() for i in range(N_FEATURES)], axis=1)
    y = torch.from_numpy(np.unique(vertices["kind"].to_numpy(), return_inverse=True)[1])
    part, n = vertices["split"].to_numpy(), len(x)
    train, val, test = (np.flatnonzero(part == name) for name in PARTS)
    ends = edges["src"].to_numpy(), edges["dst"].to_numpy()
    ones = np.ones(len(ends[0]), np.float32)
    adjacency = sp.coo_matrix((ones, ends), shape=(n, n)).tocsr()
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1
    adjacency = adjacency + sp.identity(n, dtype=np.float32, format="csr")
    scale = sp.diags(1 / np.sqrt(np.asarray(adjacency.sum(1)).ravel()))
    operator = (scale @ adjacency @ scale).tocsr().astype(np.float32)
    hops = [x]
    for _ in range(N_HOPS):
        hops.append(operator @ hops[-1])
    columns = np.concatenate(hops, axis=1)
    columns = (columns - columns[train].mean(0)) / columns[train].std(0)
    return train_sign(torch.from_numpy(columns), y, train, val, test, 512 if n <= 200_000 else 2048)


def train_sign(
    x: torch.Tensor, y: torch.Tensor, train: Any, val: Any, test: Any, batch: int
) -> float:
    """Train two hidden layers in mini-batches; return the test accuracy at the best epoch."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(0.3), nn.Linear(WIDTH, N_CLASSES),
    )  # fmt: skip
    optimizer, rows = torch.optim.Adam(network.parameters(), 1e-3), torch.from_numpy(train)

    def accuracy(some: Any) -> float:
        with torch.no_grad():
            said = torch.cat([network(part).argmax(1) for part in x[some].split(200_000)])
        return float((said == y[some]).float().mean())

    best, found, at = -1.0, 0.0, 0
    for epoch in range(EPOCHS):
        network.train()
        for some in rows[torch.randperm(len(rows))].split(batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[some]), y[some]).backward()
            optimizer.step()
        network.eval()
        if (score := accuracy(val)) > best:
            best, found, at = score, accuracy(test), epoch
        elif epoch - at >= PATIENCE:
            break
    return found


def table(record: Record) -> str:
    """Show every way beside the first."""
    n, first = record["n_vertices"], record["rows"]["sign"]
    about = f"{n:,} vertices, {PER_VERTEX * n:,} edges, {N_FEATURES} features, {N_CLASSES} classes."
    head = ["", "test accuracy", "beside SIGN", "seconds of the processor", "of SIGN's",
            "peak memory", "of SIGN's"]  # fmt: skip
    rows = [
        [
            WAYS[way],
            f"{found['accuracy']:.1%}",
            f"{100 * (found['accuracy'] - first['accuracy']):+.1f}",
            three_digits(found["seconds"]),
            f"{found['seconds'] / first['seconds']:.2f}×",
            f"{found['peak_bytes'] / MIB:,.0f} MiB",
            f"{found['peak_bytes'] / first['peak_bytes']:.2f}×",
        ]
        for way, found in record["rows"].items()
    ]
    return f"{about}\n\n{markdown(head, rows)}"


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--vertices", type=int, default=100_000, metavar="N")
    main("beside_sign", parser, run, table)

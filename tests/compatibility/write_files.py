"""Write the files that a version of graphfilter writes, to be loaded by every later one.

Run with the package of that version, from this folder, right before its release:

    PYTHONPATH=<its src> python write_files.py

It fills ``files/<version>/`` and never replaces what is there: what was once written stays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import graphfilter as gf
from graphfilter.training import Callback

FILES = Path(__file__).resolve().parent / "files"
TABLES = ("--edges", "edges.csv", "--vertices", "vertices.csv")
# Drawn for people, large, and read by no program.
LEFT_OUT = ("report.html", "filter.png", "channels.png", ".graphfilter-lock")
SMALL: dict[str, Any] = {"hidden_size": 4, "max_epochs": 30, "random_state": 0}
STOPPED_AFTER = 5


class StoppedError(Exception):
    """Ends a fit in the middle, as a kill would."""


def graph() -> gf.Graph:
    """Return the graph of every fixture: its numbers must not depend on the version that reads it.

    Every fourth vertex is unlabelled.
    """
    table = np.genfromtxt(
        FILES / "vertices.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    edges = np.loadtxt(FILES / "edges.csv", delimiter=",", skiprows=1, dtype=int)
    features = np.stack([table[name] for name in ("x", "y", "z")], axis=1).astype(np.float32)
    labels = [label or None for label in table["label"].tolist()]
    return gf.Graph.from_edges(edges, len(table), features=features, labels=labels)


def stop(progress: Any) -> None:
    if progress.epoch >= STOPPED_AFTER:
        raise StoppedError


def run(*words: str) -> None:
    """Run a command in ``files``, so that no path of a machine gets into them."""
    subprocess.run([sys.executable, "-m", "graphfilter", *words, "--quiet"], check=True, cwd=FILES)


def write_models(folder: Path) -> dict[str, Any]:
    """Save one small model of each class there is; return what each of them predicts."""
    g = graph()
    made = {
        "sgf": gf.SGFClassifier(n_layers=3, **SMALL),
        "members": gf.SGFClassifier(n_layers=2, n_members=2, operator="laplacian", **SMALL),
        "gpr-gnn": gf.SystemClassifier(model="gpr-gnn", max_epochs=30, random_state=0),
        "committee": gf.GraphClassifier(effort="low", max_epochs=5, random_state=0),
    }
    said = {}
    for name, estimator in made.items():
        estimator.fit(graph=g).save(folder / name)
        said[name] = estimator.predict_proba(g.features, graph=g).tolist()
    assert g.features is not None
    y = g.features[:, 0] - g.features[:, 1]
    numbers = gf.SGFRegressor(n_layers=2, **SMALL)
    numbers.fit(g.features, y, graph=g.edges).save(folder / "numbers")
    said["numbers"] = numbers.predict(g.features, graph=g.edges).tolist()
    return said


def write_checkpoint(folder: Path) -> None:
    """Leave the state of a fit that was stopped."""
    estimator = gf.SGFClassifier(n_layers=3, **SMALL)
    try:
        estimator.fit(
            graph=graph(), callback=Callback(stop, checkpoint=folder / "checkpoint.safetensors")
        )
    except StoppedError:
        return
    raise SystemExit("the fit must be stopped before its end")


def main() -> None:
    folder = FILES / gf.__version__
    if folder.exists():
        raise SystemExit(f"{folder}: written before; remove it first if it was never released.")
    folder.mkdir(parents=True)
    said = write_models(folder)
    write_checkpoint(folder)
    run("fit", *TABLES, "--model", "sgf", "--label", "label", "--epochs", "20", "--hidden", "4",
        "--layers", "3", "--no-baselines", "--coverage", "0.8", "--keep-graph",
        "--out", f"{folder.name}/run")  # fmt: skip
    run("bench", "--datasets", "karate", "--models", "sgf,mlp", "--runs", "2", "--max-epochs", "5",
        "--device", "cpu", "--out", f"{folder.name}/records.jsonl")  # fmt: skip
    (folder / "records.html").unlink()
    for name in LEFT_OUT:
        (folder / "run" / name).unlink(missing_ok=True)
    (folder / "said.json").write_text(json.dumps(said) + "\n")
    print(f"{folder}: {sum(p.stat().st_size for p in folder.rglob('*') if p.is_file()):,} bytes")


if __name__ == "__main__":
    main()

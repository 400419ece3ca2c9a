"""Record how one setting learns its filter on three kinds of graph, for the documentation site.

The graphs are those of ``graphfilter demo``. The file it writes is a script, because a page that is
opened from disk may load scripts and nothing else. ``make docs-dynamics`` runs it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.data import load_dataset, make_bipartite
from graphfilter.metrics import score_parts
from graphfilter.report.html import spread_out
from graphfilter.spectral import label_energy, label_frequency
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter_research.commands.demo import ACROSS, GRAPHS

FILE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "dynamics.js"
PREFIX = "window.graphfilterDynamics = "
SEED = 0
FRAMES = 48


def record(name: str, max_epochs: int | None = None) -> dict[str, Any]:
    """Train SGF once (seed 0, split 0) and return its α and β up to the epoch that was kept."""
    graph = make_bipartite(probability=ACROSS) if name == "bipartite" else load_dataset(name)
    system = get_system("sgf").limited(max_epochs)
    split = stratified(graph.labels, SEED)
    (outcome,) = train_system(Prepared.of(graph), system, [split], [SEED])
    kept = outcome.result.best_epoch
    epochs = spread_out(kept + 1, FRAMES)
    assert graph.labels is not None
    scores = score_parts(outcome.probabilities, graph.labels, split)
    energy = np.nanmean(label_energy(graph).values, axis=0)
    return {
        "name": name,
        "kind": GRAPHS[name],
        "operator": system.operator,
        "vertices": graph.n_vertices,
        "edges": graph.n_edges,
        "frequency": round(float(label_frequency(graph).mean()), 3),
        "accuracy": round(scores["test"]["accuracy"], 4),
        "energy": [round(float(v), 4) for v in energy],
        "epochs": list(map(int, epochs)),
        "alpha": _rows(outcome.result.history["alpha"][epochs]),
        "beta": _rows(outcome.result.history["beta"][epochs]),
    }


def _rows(values: Any) -> list[list[float]]:
    return [[round(float(v), 4) for v in row] for row in values]


def read(path: Path = FILE) -> list[dict[str, Any]]:
    """Return the records of a file that :func:`main` wrote."""
    return json.loads(path.read_text().removeprefix(PREFIX).rstrip().removesuffix(";"))


def main() -> None:
    lines = ",\n".join(json.dumps(record(name), separators=(",", ":")) for name in GRAPHS)
    FILE.write_text(f"{PREFIX}[\n{lines}\n];\n")


if __name__ == "__main__":
    main()

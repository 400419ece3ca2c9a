"""What else files are read for: stores, fits that go on or start from a run, tables of scores."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
from tests.fuzz.samples import Format, check_graph
from tests.fuzz.signed import EDGES, OPTIONS, VERTICES, command, few_seeds, tiny

from graphfilter.data import build_store, open_store
from graphfilter.estimators import GraphClassifier
from graphfilter.run_folder.layout import PREDICTIONS_FILE, REFERENCE_FILE
from graphfilter.store import build, build_ogb_store

RUN_FILES = ("config.json", "model.safetensors", PREDICTIONS_FILE, REFERENCE_FILE)
PARTS = {"train": range(8), "valid": range(8, 12), "test": range(12, 20)}


def store_format(write: Callable[[Path], Any], build: Callable[[Path, Path], Any]) -> Format:
    """Make the entry of files that a store is built of."""

    def read(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="fuzz-store-") as made:
            build(folder, Path(made) / "s")
            check_graph(open_store(Path(made) / "s"))

    return Format(write, read)


def write_ogb(folder: Path) -> None:
    """As ogbn-arxiv is laid out."""
    graph = tiny()
    (folder / "raw").mkdir()
    (folder / "split" / "time").mkdir(parents=True)
    tables = {"edge": graph.edges, "node-feat": graph.features, "node-label": graph.labels}
    for name, rows in (tables | {"num-node-list": [graph.n_vertices]}).items():
        np.savetxt(folder / "raw" / f"{name}.csv.gz", np.asarray(rows), "%s", ",")
    for part, index in PARTS.items():
        np.savetxt(folder / "split" / "time" / f"{part}.csv.gz", index, "%s")


def write_ogb_npz(folder: Path) -> None:
    """As ogbn-papers100M is laid out."""
    graph, raw = tiny(), folder / "raw"
    write_ogb(folder)
    for path in raw.iterdir():
        path.unlink()
    features = np.asarray(graph.features)
    np.savez(raw / "data.npz", edge_index=graph.edges.T.copy(), node_feat=features)
    labels = np.array(graph.labels, np.float32).reshape(-1, 1)
    np.savez(raw / "node-label.npz", node_label=labels)


def write_csv(folder: Path) -> None:
    (folder / "v.csv").write_text(VERTICES)
    (folder / "e.csv").write_text(EDGES)


def write_parquet(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        write_csv(Path(made))
        for name in "ve":
            pq.write_table(pc.read_csv(Path(made) / f"{name}.csv"), folder / f"{name}.parquet")


def build_of(ending: str) -> Callable[[Path, Path], Any]:
    return lambda folder, made: build_store(folder / f"e.{ending}", folder / f"v.{ending}", made)


@cache
def _tables() -> tuple[Any, ...]:
    """Tables in which a third of the vertices have a label."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-tables-"))
    write_csv(folder)
    head, *rows = VERTICES.splitlines()
    known = [f"{row},{'' if i % 3 else 'uw'[i % 2]}" for i, row in enumerate(rows)]
    (folder / "v.csv").write_text("\n".join([f"{head},known", *known, ""]))
    return "--edges", folder / "e.csv", "--vertices", folder / "v.csv", "--quiet"


class Stopped(Exception):  # noqa: N818 - not an error
    pass


def resume_build(folder: Path) -> None:
    """Build a store on from the stages in this folder, where there are any."""
    edges, vertices = _tables()[1], _tables()[3]
    build_store(edges, vertices, folder / "s")
    check_graph(open_store(folder / "s"))


def write_stages(folder: Path) -> None:
    with patch.object(build, "write_header", side_effect=Stopped), suppress(Stopped):
        resume_build(folder)


def resume_committee(folder: Path, on_epoch: Callable[[Any], None] | None = None) -> Any:
    """Fit a committee on from the checkpoints in this folder, where there are any."""
    graph = tiny()
    with few_seeds(1):
        model = GraphClassifier(**OPTIONS).fit(
            graph.features, graph.labels, graph=graph, on_epoch=on_epoch,
            checkpoint=folder / "checkpoint.safetensors", resume=True,
        )  # fmt: skip
    return model.predict_proba(graph.features, graph=graph)


def write_members(folder: Path) -> None:
    n = 0

    def stop(progress: Any) -> None:
        nonlocal n
        n += 1
        if n == 12:
            raise Stopped

    with suppress(Stopped):
        resume_committee(folder, stop)


@cache
def _part() -> dict[str, Any]:
    return {"n_vertices": 4, "accuracy": 0.5, "macro_f1": 0.25, "log_loss": None}


def write_scores(folder: Path) -> None:
    """The scores of a run, and lines of records that are no benchmark's."""
    scores = {"train": _part(), "val": _part(), "test": _part()}
    (folder / "metrics.json").write_text(json.dumps({"scores": scores, "baselines": {}}))
    lines = [{"name": "a", "value": i / 3, "more": {"n": i, "list": [1, 2]}} for i in range(3)]
    (folder / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def read_scores(folder: Path) -> None:
    for source in (folder, folder / "lines.jsonl"):
        for kind in ("text", "csv", "latex", "markdown"):
            command("table", source, "--format", kind)


def fit(out: Path, *words: object) -> None:
    with few_seeds(1):
        command("fit", *_tables(), "--label", "known", "--no-baselines", "--out", out, *words)


def write_run(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-run-") as made:
        fit(Path(made) / "run", "--epochs", 2)
        for name in RUN_FILES:
            shutil.copy(Path(made) / "run" / name, folder)


def suggest(folder: Path) -> None:
    command("suggest", folder, *_tables(), "--n", 3)


def start_from(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-run-") as made:
        fit(Path(made) / "run", "--epochs", 1, "--start-from", folder)


BUILT = {
    "suggest": Format(write_run, suggest),
    "start_from": Format(write_run, start_from),
    "ogb": store_format(write_ogb, build_ogb_store),
    "ogb_npz": store_format(write_ogb_npz, build_ogb_store),
    "csv_store": store_format(write_csv, build_of("csv")),
    "parquet_store": store_format(write_parquet, build_of("parquet")),
    "stopped_store": Format(write_stages, resume_build),
    "members": Format(write_members, resume_committee),
    "scores": Format(write_scores, read_scores),
}  # fmt: skip

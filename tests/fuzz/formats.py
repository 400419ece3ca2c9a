"""The formats that the package reads: a good file to start from, and how it is read."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tests import samples

from graphfilter import data
from graphfilter.cli.app import run_command
from graphfilter.data import make_csbm, open_store, read_tables, write_store
from graphfilter.data.graph import Graph
from graphfilter.estimators.graph import GraphClassifier, GraphRegressor, SGFClassifier
from graphfilter.runs.loading import REFERENCE_FILE
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import CHECKSUM, read_checked_json, write_checked_json


@dataclass(frozen=True)
class Format:
    """How a sample is written into a folder, and read from it again.

    Where the files carry checksums, ``sign`` makes those of a damaged folder true again, and what
    is read is an answer (bytes or numbers): of damage that is not signed it must be the sample's.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    sign: Callable[[Path], None] | None = None
    slow: bool = False


SMALL = samples.make_sample(24)
VERTICES = (
    "id,label,split,age,colour\na,x,train,1.5,red\nb,y,val,2,blue\nc,NA,,3,red\nd,x,test,4,\n"
)
EDGES = "source,target,weight\na,b,1\nb,c,0.5\nc,d,2\n"
MESSY = (
    "sep=;\r\nNr;Eintritt;Umsatz;Rabatt;Aktiv;Text;Klasse\r\n"
    "a;01.02.2024;1.234,50 €;12,5 %;ja;der Kunde zahlt spät;x\r\n"
    "b;03.02.2024;;5 %;nein;der Kunde zahlt nie;y\r\nc;k.A.;999,00 €;0 %;ja;;?\r\n"
)


def check_graph(graph: Graph) -> None:
    """Raise unless a graph that was read is sound."""
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == len(graph.indices)
    assert (np.diff(graph.indptr) >= 0).all()
    assert not len(graph.indices) or 0 <= graph.indices.min() <= graph.indices.max()
    assert not len(graph.indices) or graph.indices.max() < graph.n_vertices
    assert graph.labels is None or -1 <= graph.labels.min() <= graph.labels.max() < graph.n_classes
    assert graph.features is None or graph.features.shape[0] == graph.n_vertices
    names = (*(graph.vertex_names or ()), *graph.classes.tolist(), graph.name, *graph.notes)
    assert all(name.encode() is not None for name in names if isinstance(name, str))
    for split in graph.splits:
        split.check(graph.n_vertices)


def graph_format(
    write: Callable[[Path, Graph], Any], read: Callable[[Path], Graph], sample: Graph = SMALL
) -> Format:
    """Make the entry of a reader of graphs, which takes the one file there is or the folder."""

    def read_in(folder: Path) -> None:
        files = [path for path in folder.iterdir() if path.is_file()]
        check_graph(read(files[0] if len(files) == 1 else folder))

    return Format(lambda folder: write(folder, sample), read_in)


def table_format(**files: bytes) -> Format:
    """Make the entry of two tables that are text."""

    def write(folder: Path) -> None:
        for name, content in files.items():
            (folder / name.replace("_", ".")).write_bytes(content)

    return Format(write, read_two_tables)


def write_parquet(folder: Path) -> None:
    vertices = {"id": ["a", "b", "c"], "label": ["x", "y", None], "age": [1.5, None, 3]}
    vertices |= {"day": [datetime(2024, 2, day) for day in (1, 2, 3)], "vector": [[1.0, 2.0]] * 3}
    pq.write_table(pa.table(vertices), folder / "vertices.parquet", compression="none")
    edges = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 0.5]}
    pq.write_table(pa.table(edges), folder / "edges.parquet", compression="snappy")


def read_two_tables(folder: Path) -> None:
    (vertices,) = folder.glob("vertices.*")
    (edges,) = folder.glob("edges.*")
    graph, encoder = read_tables(edges, vertices)
    check_graph(graph)
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder


def write_records(folder: Path) -> None:
    """Write a few records, plain and gzipped."""
    from graphfilter_research.bench.record import Record

    part = {"n_vertices": 4, "accuracy": 0.5, "macro_f1": 0.5, "log_loss": None}
    scores = {"train": part, "val": part, "test": part}
    setting = {"lr": 0.01, "patience": 9}
    made = [
        Record("cora", "sgf", "stratified", 0, seed, "row", setting, "cpu", scores=scores)
        for seed in range(3)
    ]
    lines = "".join(record.to_json() + "\n" for record in made).encode()
    (folder / "records.jsonl").write_bytes(lines)
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines))


def read_lines(folder: Path) -> None:
    from graphfilter_research.bench.record import Record, read_records

    for path in sorted(folder.iterdir()):
        for record in read_records(path):
            line = record.to_json()  # in which what is not finite is null
            assert Record.from_json(line).to_json() == line


def tiny() -> Graph:
    return make_csbm(n_vertices=24, frequency=0.4, mean_degree=4, n_features=4)


@cache
def fitted() -> SGFClassifier:
    graph = tiny()
    model = SGFClassifier(n_layers=2, hidden_size=4, n_members=2, max_epochs=2, random_state=0)
    return model.fit(graph.features, graph.labels, graph=graph)


def read_model(folder: Path) -> Any:
    return SGFClassifier.load(folder).predict_proba(tiny().features, graph=tiny())


@cache
def committee_input() -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return a table with words, and numbers that graph and columns explain."""
    graph = make_csbm(n_vertices=40, frequency=0.4, mean_degree=4, n_features=4)
    x = np.asarray(graph.features, dtype=np.float64)
    things, places = ("red", "big"), ("sea", "hill", "lake")
    said = [f"a {things[i % 2]} house by the {places[i % 3]}, number {i}" for i in range(40)]
    assert graph.labels is not None
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "text": said}), x[:, 2] + graph.labels


@cache
def committee(kind: str) -> GraphRegressor | GraphClassifier:
    """Fit one of numbers, with a correction, or of several labels, calibrated, with trees."""
    (table, y), about = committee_input(), {"max_epochs": 2, "random_state": 0}
    edges = make_csbm(n_vertices=40, frequency=0.4, mean_degree=4, n_features=4).edges
    if kind == "numbers":
        return GraphRegressor(effort="low", **about).fit(table, y, graph=edges)
    labels = np.stack([y > 0, y > 1], axis=1).astype(float)
    labels[30:] = np.nan
    return GraphClassifier(calibration_fraction=0.3, **about).fit(table, labels, graph=edges)


def read_committee(kind: str, folder: Path) -> Any:
    model, graph = type(committee(kind)).load(folder), committee(kind).graph_
    assert isinstance(model, GraphRegressor | GraphClassifier)
    answer = model.predict_proba if isinstance(model, GraphClassifier) else model.predict
    return np.asarray(answer(committee_input()[0], graph=graph), dtype=np.float64)


def command(*words: object) -> None:
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        code = run_command([*map(str, words), "--quiet"])
    if code:
        raise ModelFileError("the command ended with an error.")


RUN_FILES = ("config.json", "model.safetensors", REFERENCE_FILE)


def write_run(folder: Path) -> None:
    short = (
        "--model",
        "sgf",
        "--set",
        "n_layers=2",
        "--set",
        "hidden_size=4",
        "--epochs",
        2,
        "--no-baselines",
    )
    with tempfile.TemporaryDirectory() as made:
        command("fit", "--dataset", "karate", *short, "--out", Path(made) / "run")
        for name in RUN_FILES:
            (folder / name).write_bytes((Path(made) / "run" / name).read_bytes())


def read_run(folder: Path) -> bytes:
    with tempfile.TemporaryDirectory() as out:
        command("predict", folder, "--dataset", "karate", "--out", Path(out) / "p.csv")
        return (Path(out) / "p.csv").read_bytes()


def sign_run(folder: Path) -> None:
    """Write the checksums that the tensor files state into the config."""

    def stated(name: str) -> str:
        content = (folder / name).read_bytes()
        head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return json.loads(head["__metadata__"]["graphfilter"])[CHECKSUM]

    config = read_checked_json(folder / "config.json")
    if "run" in config:
        config["run"]["reference_sha256"] = stated(REFERENCE_FILE)
    config["model_sha256"] = stated("model.safetensors")
    write_checked_json(folder / "config.json", config)


def write_named_store(folder: Path) -> None:
    write_store(tiny().replace(vertex_names=[f"v{i}" for i in range(23)] + [7]), folder / "s")


def read_store(folder: Path) -> bytes:
    graph = open_store(folder / "s")
    names = json.dumps([list(graph.vertex_names or ()), graph.classes.tolist()]).encode()
    parts = [np.asarray(a) for a in (graph.indptr, graph.indices, graph.features, graph.labels)]
    assert all(np.isfinite(part).all() for part in parts)
    return b"".join([names, *(np.ascontiguousarray(part).tobytes() for part in parts)])


def sign_store(folder: Path) -> None:
    """Write the checksum of every array into the header."""
    header = folder / "s" / "store.json"
    content = read_checked_json(header)
    for stored in content["arrays"].values():
        file = header.parent / stored["file"]
        if file.parent == header.parent and file.is_file():
            stored["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    write_checked_json(header, content)


FORMATS = {
    "npz": graph_format(samples.write_npz, data.read_npz),
    "graphml": graph_format(samples.write_graphml, data.read_networkx),
    "gml": graph_format(samples.write_gml, data.read_networkx),
    "edge_list": graph_format(samples.write_edge_list, data.read_edge_list),
    "csv": table_format(vertices_csv=VERTICES.encode(), edges_csv=EDGES.encode()),
    "messy": table_format(
        vertices_csv=MESSY.encode("cp1252"),
        edges_txt="von\tnach\r\na\tb\r\nb\tc\r\n".encode("utf-16"),
    ),
    "parquet": Format(write_parquet, read_two_tables),
    "store": Format(write_named_store, read_store, sign_store),
    "model": Format(lambda folder: fitted().save(folder), read_model, sign_run, slow=True),
    "run": Format(write_run, read_run, sign_run, slow=True),
} | {
    kind: Format(
        lambda folder, kind=kind: committee(kind).save(folder),
        lambda folder, kind=kind: read_committee(kind, folder),
        sign_run,
        slow=True,
    )
    for kind in ("numbers", "labels")
}
if importlib.util.find_spec("graphfilter_research"):
    from graphfilter_research.datasets import readers

    FORMATS |= {
        "planetoid": graph_format(
            samples.write_planetoid,
            lambda folder: readers.read_planetoid(folder, "tiny"),
            samples.SAMPLE,
        ),
        "geom_gcn": graph_format(
            samples.write_geom_gcn, lambda folder: readers.read_geom_gcn(folder, "tiny")
        ),
        "heterophilous": graph_format(samples.write_heterophilous, readers.read_heterophilous),
        "gnn_benchmark": graph_format(samples.write_gnn_benchmark, readers.read_gnn_benchmark),
        "graphdata": graph_format(samples.write_graphdata, readers.read_graphdata),
        "sgf": graph_format(samples.write_sgf, lambda folder: readers.read_sgf(folder, "tiny")),
        "graphland": graph_format(samples.write_graphland, readers.read_graphland),
        "records": Format(write_records, read_lines),
    }

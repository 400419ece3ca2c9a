"""Every format that the package reads: a good file to start from, and how it is read."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tests import samples
from tests.fuzz.built import BUILT
from tests.fuzz.requests import REQUESTS
from tests.fuzz.samples import Format, check_graph
from tests.fuzz.signed import SIGNED, tiny

from graphfilter.bench.record import Record, read_records
from graphfilter.data import read_tables, readers
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import stratified
from graphfilter.storage import read_json, write_json
from graphfilter.tables.encoder import TableEncoder
from graphfilter.training import TrainConfig, train

VERTICES = (
    "id,label,split,age,colour\na,x,train,1.5,red\nb,y,val,2,blue\nc,NA,,3,red\nd,x,test,4,\n"
)
EDGES = "source,target,weight\na,b,1\nb,c,0.5\nc,d,2\n"
SMALL = samples.make_sample(24)


def graph_format(
    write: Callable[[Path, Graph], Any], read: Callable[[Path], Graph], sample: Graph = SMALL
) -> Format:
    """Make the entry of a reader of graphs, which takes the one file there is or the folder."""

    def read_in(folder: Path) -> None:
        files = [path for path in folder.iterdir() if path.is_file()]
        check_graph(read(files[0] if len(files) == 1 else folder))

    return Format(lambda folder: write(folder, sample), read_in)


def write_csv(folder: Path) -> None:
    (folder / "vertices.csv").write_text(VERTICES)
    (folder / "edges.csv").write_text(EDGES)


def write_csv_gz(folder: Path) -> None:
    (folder / "vertices.csv.gz").write_bytes(gzip.compress(VERTICES.encode()))
    (folder / "edges.csv.gz").write_bytes(gzip.compress(EDGES.encode()))


MESSY = (
    "sep=;\r\nNr;Eintritt;Umsatz;Rabatt;Aktiv;Text;Klasse\r\n"
    "a;01.02.2024;1.234,50 €;12,5 %;ja;der Kunde zahlt spät;x\r\n"
    "b;03.02.2024;;5 %;nein;der Kunde zahlt nie;y\r\nc;k.A.;999,00 €;0 %;ja;;?\r\n"
)


def write_messy(folder: Path) -> None:
    (folder / "vertices.csv").write_bytes(MESSY.encode("cp1252"))
    (folder / "edges.txt").write_bytes("von\tnach\r\na\tb\r\nb\tc\r\n".encode("utf-16"))


def write_excel(folder: Path) -> None:
    import openpyxl

    for name, rows in {
        "vertices": [["id", "label", "age", "day"], ["a", "x", 1.5, datetime(2024, 2, 1)], ["b"]],
        "edges": [["source", "target", "weight"], ["a", "b", 1]],
    }.items():
        book = openpyxl.Workbook()
        sheet: Any = book.active
        for row in rows:
            sheet.append(row)
        book.save(folder / f"{name}.xlsx")


def write_parquet(folder: Path) -> None:
    vertices = {"id": ["a", "b", "c"], "label": ["x", "y", None], "age": [1.5, None, 3]}
    vertices |= {"day": [datetime(2024, 2, day) for day in (1, 2, 3)], "vector": [[1.0, 2.0]] * 3}
    pq.write_table(pa.table(vertices), folder / "vertices.parquet", compression="none")
    edges = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 0.5]}
    options: dict[str, Any] = {"use_dictionary": False, "compression": "snappy"}
    pq.write_table(pa.table(edges), folder / "edges.parquet", **options)


def read_two_tables(folder: Path) -> None:
    (vertices,) = folder.glob("vertices.*")
    (edges,) = folder.glob("edges.*")
    graph, encoder = read_tables(edges, vertices)
    check_graph(graph)
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder


def write_encoder(folder: Path) -> None:
    """The part of a run folder's config.json that says how tables are encoded."""
    columns = {
        "age": ["1,5 €", "", "2", "3"], "colour": ["red", "blue", "red", "blue"],
        "day": ["1.2.2024", "2.2.2024 12:00", "", ""], "yes": ["ja", "nein", "ja", "nein"],
        "note": ["pays late", "pays in time", "calls late", "calls in time"],
        "list": [[1.0], [2.0], [3.0], [4.0]],
    }  # fmt: skip
    encoder = TableEncoder.fit(pa.table(columns), "t.csv", kinds={"note": "text"})
    write_json(folder / "encoder.json", encoder.to_dict())


def read_encoder(folder: Path) -> None:
    encoder = TableEncoder.from_dict(read_json(folder / "encoder.json"))
    assert len(encoder.feature_names) < 1000
    columns = {"age": ["1,5 €", ""], "colour": ["red", "x"], "day": ["1.2.2024", "k.A."]}
    columns |= {"note": ["pays too late", ""], "list": [[1.0], [2.0]], "yes": ["ja", "nein"]}
    encoder.transform(pa.table(columns), "t.csv")


def resume(folder: Path, **options: Any) -> None:
    """Train one run on from the checkpoint in this folder, where there is one."""
    graph = tiny()
    network = FilterNetwork(
        4, 2, StackedFilter(2), hidden_size=4, generator=torch.Generator().manual_seed(0)
    )
    train(
        [network],
        augmented_adjacency(graph),
        torch.tensor(graph.features),
        torch.tensor(graph.labels),
        [stratified(graph.labels, 0)],
        TrainConfig(max_epochs=4),
        seeds=[0],
        checkpoint=folder / "checkpoint.safetensors",
        resume=True,
        **options,
    )


class Interrupted(Exception):  # noqa: N818 - not an error
    pass


def write_checkpoint(folder: Path) -> None:
    def interrupt(progress: Any) -> None:
        if progress.epoch == 2:
            raise Interrupted

    try:
        resume(folder, on_epoch=interrupt)
    except Interrupted:
        assert (folder / "checkpoint.safetensors").is_file()


def write_lines(folder: Path) -> None:
    """A few records, as they are and gzipped."""
    part = {"n_vertices": 4, "accuracy": 0.5, "macro_f1": 0.5, "log_loss": None}
    lines = "".join(
        Record(
            "cora", "sgf", "stratified", 0, seed, "row", {"lr": 0.01, "patience": 9}, "cpu",
            scores={"train": part, "val": part, "test": part}, filter={"alpha": [0.5, 1.0]},
        ).to_json() + "\n"
        for seed in range(3)
    ).encode()  # fmt: skip
    (folder / "records.jsonl").write_bytes(lines)
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines))


def read_lines(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        for record in read_records(path):
            line = record.to_json()  # in which what is not finite is null
            assert Record.from_json(line).to_json() == line


FORMATS = {
    "npz": graph_format(samples.write_npz, readers.read_npz),
    "matrix_market": graph_format(samples.write_matrix_market, readers.read_matrix_market),
    "graphml": graph_format(samples.write_graphml, readers.read_networkx),
    "gml": graph_format(samples.write_gml, readers.read_networkx),
    "edge_list": graph_format(samples.write_edge_list, readers.read_edge_list),
    "csv": Format(write_csv, read_two_tables),
    "messy": Format(write_messy, read_two_tables),
    "excel": Format(write_excel, read_two_tables),
    "csv_gz": Format(write_csv_gz, read_two_tables),
    "parquet": Format(write_parquet, read_two_tables),
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
    **SIGNED,
    **BUILT,
    **REQUESTS,
    "encoder": Format(write_encoder, read_encoder),
    "checkpoint": Format(write_checkpoint, resume),
    "records": Format(write_lines, read_lines),
}

"""Tables in parts, in folders, behind globs and on an S3 server: as one file would be read."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, parquet

import graphfilter as gf
from graphfilter.data import Columns
from graphfilter.tables.formats import open_table
from graphfilter.tables.parts import check_place, write_parts
from graphfilter.util.errors import ConfigError, DataFileError

RNG = np.random.default_rng(0)
N = 60
VERTICES = pa.table(
    {"id": [f"v{i}" for i in range(N)], "x": RNG.random(N), "kind": RNG.choice(["a", "b"], N)}
)
ENDS = RNG.integers(0, N, (2, 300))
EDGES = pa.table({"source": [f"v{i}" for i in ENDS[0]], "target": [f"v{i}" for i in ENDS[1]]})


def pieces(table: pa.Table, n: int = 3) -> Iterator[pa.Table]:
    size = -(-len(table) // n)
    return (table.slice(start, size) for start in range(0, len(table), size))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables whole and in parts, with what other programs leave beside them."""
    for name in ("edges", "texts", "whole"):
        (tmp_path / name).mkdir()
    for i, part in enumerate(pieces(EDGES)):
        parquet.write_table(part, tmp_path / "edges" / f"part-{i}.parquet")
    for i, part in enumerate(pieces(VERTICES)):
        csv.write_csv(part, tmp_path / "texts" / f"part-{i}.csv")
    (tmp_path / "edges" / "_SUCCESS").touch()
    (tmp_path / "edges" / ".part-0.parquet.crc").write_bytes(b"crc")
    parquet.write_table(EDGES, tmp_path / "whole" / "edges.parquet")
    parquet.write_table(VERTICES, tmp_path / "whole" / "vertices.parquet")
    dataset.write_dataset(
        VERTICES, tmp_path / "by_kind", format="parquet",
        partitioning=dataset.partitioning(pa.schema([("kind", pa.string())]), flavor="hive"),
    )  # fmt: skip
    return tmp_path


def read(edges: Any, vertices: Any) -> gf.Graph:
    return gf.read_tables(edges, vertices, label="kind")[0]


def same(one: gf.Graph, other: gf.Graph) -> bool:
    """Whether two graphs are the same, whatever the order of their vertices."""

    def facts(graph: gf.Graph) -> tuple[Any, ...]:
        names, labels = np.array(graph.vertex_names), np.array(graph.classes)[graph.labels]
        ends = np.sort(names[graph.edges], axis=1)
        x = np.asarray(graph.features).ravel().tolist()
        return (
            sorted(zip(names.tolist(), labels.tolist(), x, strict=True)),
            sorted(map(tuple, ends.tolist())),
        )

    return facts(one) == facts(other)


@pytest.mark.parametrize(
    ("edges", "vertices"),
    [("edges", "texts"), ("edges/*.parquet", "texts/part-[0-2].csv"), ("edges", "by_kind")],
    ids=["folders", "globs", "partitioned"],
)
def test_parts_are_read_as_one_table(folder: Path, edges: str, vertices: str) -> None:
    whole = read(folder / "whole" / "edges.parquet", folder / "whole" / "vertices.parquet")
    assert same(read(folder / edges, folder / vertices), whole)


def test_store_is_built_from_parts(folder: Path) -> None:
    gf.build_store(
        folder / "edges", folder / "by_kind", folder / "store", columns=Columns(label="kind")
    )
    whole = read(folder / "whole" / "edges.parquet", folder / "whole" / "vertices.parquet")
    assert same(gf.open_store(folder / "store"), whole)


def test_delta_table_is_read_as_its_last_version_is(folder: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="needs deltalake: graphfilter[lake]")
    for table in (EDGES.slice(0, 5), EDGES):
        deltalake.write_deltalake(str(folder / "delta"), table, mode="overwrite")
    assert open_table(folder / "delta").read(["source", "target"]) == EDGES


def test_folders_name_missing_values_and_escaped_ones(tmp_path: Path) -> None:
    for name in ("land=a%20b", "land=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / name).mkdir()
        parquet.write_table(pa.table({"x": [1]}), tmp_path / name / "0.parquet")
    table = open_table(tmp_path)
    assert table.names == ["x", "land"]
    assert table.read(["land"])["land"].to_pylist() == [None, "a b"]
    assert sum(map(len, table.read_batches(["land"], True))) == 2


def test_parts_of_other_types_are_read_in_the_first_ones(tmp_path: Path) -> None:
    for i, kind in enumerate((pa.int64(), pa.int32())):
        parquet.write_table(pa.table({"x": pa.array([1], kind)}), tmp_path / f"{i}.parquet")
    table = open_table(tmp_path)
    assert table.read(["x"])["x"].type == pa.int64()
    assert {batch.schema.field("x").type for batch in table.read_batches(["x"], True)} == {
        pa.int64()
    }


def test_part_without_a_column_is_named(folder: Path) -> None:
    parquet.write_table(pa.table({"source": ["v1"]}), folder / "edges" / "part-1.parquet")
    with pytest.raises(DataFileError, match=r"part-1.parquet: there is no column 'target'.+Write"):
        read(folder / "edges", folder / "texts")


@pytest.mark.parametrize("place", ["none", "edges/*.csv", "edges/none-*"])
def test_place_without_files_is_one_line(folder: Path, place: str) -> None:
    with pytest.raises(DataFileError, match=r"there is no such file\. Check the path"):
        open_table(folder / place)


def test_folder_of_other_files_is_one_line(folder: Path) -> None:
    (folder / "edges" / "notes.docx").touch()
    with pytest.raises(DataFileError, match=r"notes.docx: a table must be \.csv"):
        open_table(folder / "edges")


KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


@pytest.fixture
def bucket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An S3 server with the files of the folder in the bucket ``data``."""
    moto = pytest.importorskip("moto.server", reason="needs moto[server]")
    boto3 = pytest.importorskip("boto3", reason="needs moto[server]")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    client.create_bucket(Bucket="data")
    for path in (path for path in folder.rglob("*") if path.is_file()):
        client.upload_file(str(path), "data", path.relative_to(folder).as_posix())
    yield client
    server.stop()


def test_tables_on_s3_are_those_on_disk(folder: Path, bucket: Any) -> None:
    whole = read(folder / "whole" / "edges.parquet", folder / "whole" / "vertices.parquet")
    assert same(read("s3://data/edges", "s3://data/by_kind"), whole)
    assert same(read("s3://data/edges/*.parquet", "s3://data/texts/*.csv"), whole)
    assert same(read("s3://data/whole/edges.parquet", folder / "by_kind"), whole)
    gf.build_store(
        "s3://data/edges", "s3://data/texts", folder / "store", columns=Columns(label="kind")
    )
    assert same(gf.open_store(folder / "store"), whole)


@pytest.mark.parametrize("url", ["s3://nothing/edges", "s3://data/nothing", "s3://data/none-*"])
def test_wrong_bucket_or_key_is_one_line(bucket: Any, url: str) -> None:
    with pytest.raises(DataFileError, match=r"there is no such file\. Check the path") as error:
        open_table(url)
    assert str(error.value).startswith(url)


def test_part_that_vanishes_leaves_no_store(folder: Path, bucket: Any) -> None:
    """It is gone when the build comes to it: one line, and nothing that is taken for a store."""

    def report(what: str, done: int, total: int) -> None:
        bucket.delete_object(Bucket="data", Key="edges/part-2.parquet")

    with pytest.raises(DataFileError, match=r"part-2.parquet: cannot be read.+the credentials"):
        gf.build_store(
            "s3://data/edges", "s3://data/by_kind", folder / "store",
            columns=Columns(label="kind"), report=report,
        )  # fmt: skip
    with pytest.raises(DataFileError, match=r"no store|unfinished"):
        gf.open_store(folder / "store")
    # It goes on when the part is there again.
    bucket.upload_file(str(folder / "edges" / "part-2.parquet"), "data", "edges/part-2.parquet")
    gf.build_store(
        "s3://data/edges", "s3://data/by_kind", folder / "store", columns=Columns(label="kind")
    )


def test_predictions_are_parts_with_a_manifest(bucket: Any) -> None:
    """Of an earlier one nothing is left; where one part cannot be written there is no manifest."""
    batches = VERTICES.to_batches(max_chunksize=25)
    write_parts("s3://data/out", batches)
    manifest = json.loads(bucket.get_object(Bucket="data", Key="out/_manifest.json")["Body"].read())
    assert manifest["rows"] == N
    assert [part["rows"] for part in manifest["parts"]] == [25, 25, 10]
    with pytest.raises(ConfigError, match=r"s3://data/out: exists; pass `overwrite=True`"):
        check_place("s3://data/out", overwrite=False)
    check_place("s3://data/out", overwrite=True)
    write_parts("s3://data/out", batches[:1])
    assert open_table("s3://data/out").read(["id"])["id"].to_pylist() == [
        f"v{i}" for i in range(25)
    ]

    def broken() -> Iterator[pa.RecordBatch]:
        yield batches[0]
        raise DataFileError("answers", "cannot be read.")

    with pytest.raises(DataFileError, match="answers: cannot be read"):
        write_parts("s3://data/out", broken())
    assert not any(
        key["Key"].endswith("_manifest.json")
        for key in bucket.list_objects_v2(Bucket="data", Prefix="out")["Contents"]
    )
    with pytest.raises(DataFileError, match=r"nothing/out: cannot be written.+ a manifest"):
        write_parts("s3://nothing/out", batches)


def test_commands_read_and_write_elsewhere(graphfilter: Any, folder: Path, bucket: Any) -> None:
    tables = ["--edges", "s3://data/edges", "--vertices", "s3://data/by_kind", "--quiet"]
    model = ["--label", "kind", "--model", "mlp", "--epochs", "2", "--no-baselines"]
    run = str(folder / "run")

    graphfilter("fit", *tables, *model, "--out", run)
    graphfilter("predict", run, *tables, "--out", "s3://data/said")
    assert len(open_table("s3://data/said").read(["id"])) == N
    refused = graphfilter("predict", run, *tables, "--out", "s3://data/said", code=2)
    assert "s3://data/said: exists; pass --overwrite" in refused.err


def test_missing_credentials_and_closed_endpoints_are_one_line(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DataFileError, match=r"s3://data/edges: cannot be read.+Check that it"):
        open_table("s3://data/edges")
    monkeypatch.undo()
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    address = bucket.meta.endpoint_url.removeprefix("http://")
    url = f"s3://data/edges?scheme=http&region=us-east-1&endpoint_override={address}"
    with pytest.raises(DataFileError, match=r"cannot be read: .+, and the credentials\."):
        read(url, VERTICES)


def test_filesystem_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    from graphfilter.tables import parts

    monkeypatch.setattr(parts, "_SECONDS", 0.05)
    monkeypatch.setattr(parts, "open_system", lambda text: Event().wait(5))
    with pytest.raises(DataFileError, match=r"gs://a/b: .+ no answer within 0\.05 sec"):
        open_table("gs://a/b")


def test_unknown_scheme_names_what_is_missing() -> None:
    with pytest.raises(DataFileError, match=r"foo://a/b: cannot be read: no filesystem for it"):
        open_table("foo://a/b")


def test_one_part_more_makes_another_build(folder: Path) -> None:
    """A build is not resumed with stages of other parts."""
    before = open_table(folder / "edges").fingerprint()
    shutil.copy(folder / "edges" / "part-0.parquet", folder / "edges" / "part-9.parquet")
    assert open_table(folder / "edges").fingerprint() != before

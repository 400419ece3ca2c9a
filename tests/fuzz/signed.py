"""Formats with checksums: models, runs, stores and archives, and how their damage is signed again.

What is read is an answer: of damage that was not signed it must be the good sample's, or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import typer
from pyarrow import csv
from tests.fuzz.samples import Format

from graphfilter.cli import _run as run_command
from graphfilter.data import (
    catalogue,
    make_csbm,
    open_store,
    packing,
    readers,
    registry,
    write_store,
)
from graphfilter.errors import ModelFileError
from graphfilter.estimators import GraphClassifier, SGFClassifier, SGFRegressor
from graphfilter.graph import Graph
from graphfilter.run_folder.layout import GRAPH_FILE, REFERENCE_FILE
from graphfilter.storage import read_checked_json, write_checked_json
from graphfilter.storage.json_files import CHECKSUM, checksum_of
from graphfilter.store.arrays import write_array
from graphfilter.store.kept import keep, read_kept
from graphfilter.systems import committee_member

# The parser of the commands, which takes longer to make than most mutants to read, is made once.
typer.main.get_command = cache(typer.main.get_command)
OPTIONS: dict[str, Any] = {"max_epochs": 2, "random_state": 0}


def few_seeds(n: int) -> Any:
    """Of each network of a committee there are n, not as many as a small graph would have."""
    return patch.object(committee_member, "repeats", lambda *_: n)


def tiny() -> Graph:
    return make_csbm(n_vertices=24, frequency=0.4, mean_degree=4, n_features=4)


def sign_model(folder: Path) -> None:
    """Write the checksum of the tensors into the config."""
    stated = _stated(folder / "model.safetensors")
    config = read_checked_json(folder / "config.json")
    write_checked_json(folder / "config.json", config | {"model_sha256": stated})


def sign_run(folder: Path) -> None:
    """Write the checksums of a run's files into its config: tensors, and the graph it keeps."""
    made = {"reference_sha256": _stated(folder / REFERENCE_FILE)}
    if (graph := folder / GRAPH_FILE).is_file():
        made["graph_sha256"] = hashlib.sha256(graph.read_bytes()).hexdigest()
    stated = _stated(folder / "model.safetensors")
    config = read_checked_json(folder / "config.json")
    whole = config | {"model_sha256": stated, "run": config["run"] | made}
    write_checked_json(folder / "config.json", whole)


def _stated(path: Path) -> str:
    """Return the checksum that a file of tensors states."""
    with path.open("rb") as stream:
        n = int.from_bytes(stream.read(8), "little")
        head = json.loads(stream.read(n))
    return json.loads(head["__metadata__"]["graphfilter"])[CHECKSUM]


def _named(n_known: int = 24) -> Graph:
    """The same graph with ids: those of the fit, and new ones."""
    return tiny().replace(vertex_names=[f"v{i if i < n_known else 100 + i}" for i in range(24)])


@cache
def _fitted(kind: str) -> Any:
    graph, odd = _named() if kind == "known" else tiny(), np.arange(24) % 2
    targets = {
        "numbers": np.linspace(-1, 1, 24),
        "multilabel": np.stack([odd, 1 - odd, np.arange(24) // 12], axis=1),
    }
    models = {
        "model": SGFClassifier(n_layers=2, hidden_size=4, n_members=2, **OPTIONS),
        "committee": GraphClassifier(**OPTIONS),
        "known": GraphClassifier(**OPTIONS),
        "numbers": SGFRegressor(n_layers=2, hidden_size=4, **OPTIONS),
        "multilabel": SGFClassifier(n_layers=2, hidden_size=4, **OPTIONS),
    }
    with few_seeds(2):
        return models[kind].fit(graph.features, targets.get(kind, graph.labels), graph=graph)


def model_format(kind: str, answer: Callable[[Any, Graph], Any]) -> Format:
    """Make the entry of a kind of estimator that is saved, loaded and asked."""

    def read(folder: Path) -> Any:
        return answer(type(_fitted(kind)).load(folder), tiny())

    return Format(lambda folder: _fitted(kind).save(folder), read, sign_model)


def _probabilities(model: Any, graph: Graph) -> Any:
    return model.predict_proba(graph.features, graph=graph)


def _recognised(model: Any, graph: Graph) -> Any:
    return model.predict_proba(graph.features, graph=_named(18))


def _numbers(model: Any, graph: Graph) -> Any:
    return model.predict(graph.features, graph=graph)


def _explained(model: Any, graph: Graph) -> Any:
    found = model.explain(3, graph.features, graph=graph)
    return repr(found).encode()


VERTICES = "id,day,colour,x,size,a,b\n" + "".join(
    f"v{i},2024-03-{i + 1:02},{'red' if i % 2 else 'blue'},{'u' if i % 3 else 'w'},{i / 3:.2f},"
    f"{i % 2},{(i + 1) % 2}\n"
    for i in range(24)
)
EDGES = "source,target\n" + "".join(
    f"v{i},v{(i + 1) % 24}\nv{i},v{(i * 5) % 24}\n" for i in range(24)
)


@cache
def _tables() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-tables-"))
    (folder / "v.csv").write_text(VERTICES)
    (folder / "e.csv").write_text(EDGES)
    head, first, second, *_ = VERTICES.splitlines(keepends=True)
    (folder / "new_v.csv").write_text(head + first.replace("v0", "n0") + second)
    (folder / "new_e.csv").write_text("source,target\nn0,v5\nv1,n0\n")
    return folder


def _given(prefix: str = "") -> tuple[object, ...]:
    edges, vertices = (_tables() / f"{prefix}{name}.csv" for name in "ev")
    return "--edges", edges, "--vertices", vertices, "--quiet"


def command(*words: object) -> None:
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        code = run_command([str(word) for word in words])
    if code:
        raise ModelFileError("the command ended with an error.")


def run_format(*target: str, kept: bool = False) -> Format:
    """Make the entry of a run folder that ``predict`` is asked of, its graph ``kept`` or not."""
    files = ("config.json", "model.safetensors", REFERENCE_FILE, *([GRAPH_FILE] if kept else []))

    def write(folder: Path) -> None:
        made = Path(tempfile.mkdtemp(prefix="fuzz-run-")) / "run"
        short = ("--epochs", 2, "--no-baselines", "--out", made)
        with few_seeds(1):
            command("fit", *_given(), *target, *short)
        for name in files:
            shutil.copy(made / name, folder)

    def read(folder: Path) -> Any:
        asked = (*_given("new_"), "--with", "run") if kept else _given()
        with tempfile.TemporaryDirectory(prefix="fuzz-out-") as out:
            command("predict", folder, *asked, "--out", Path(out) / "p.csv")
            for column in csv.read_csv(Path(out) / "p.csv").columns:
                assert not pa.types.is_floating(column.type) or np.isfinite(column).all()
            return (Path(out) / "p.csv").read_bytes()

    return Format(write, read, sign_run)


def _stored() -> Graph:
    graph = tiny()
    return graph.replace(vertex_names=[f"v{i}" for i in range(23)] + [7])


def read_store(folder: Path) -> Any:
    graph = open_store(folder)
    x: Any = graph.features
    names = json.dumps([list(graph.vertex_names or ()), graph.classes.tolist()]).encode()
    parts = [graph.indptr, graph.indices, x, graph.labels]
    assert all(np.isfinite(np.asarray(part)).all() for part in parts)
    return b"".join([names, *(np.ascontiguousarray(part).tobytes() for part in parts)])


def sign_store(folder: Path, header: str = "store.json") -> None:
    """Write the checksum of every array into the header."""
    content = read_checked_json(folder / header)
    arrays = content["arrays"]
    for stored in arrays.values() if isinstance(arrays, dict) else arrays:
        file = folder / stored["file"]
        if file.parent == folder and file.is_file():
            stored["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    write_checked_json(folder / header, content)


def write_hops(folder: Path) -> None:
    x = np.asarray(tiny().features)
    keep(
        folder / "hops.json",
        "made of",
        [(24, 4)] * 2,
        lambda: [write_array(folder / f"hops-{k}.bin", np.float32(k) * x) for k in (1, 2)],
        what="Hops",
    )


def read_hops(folder: Path) -> Any:
    try:
        kept = read_kept(folder / "hops.json", "made of", [(24, 4)] * 2)
    except TypeError as error:  # As kept_hops does, which makes them again.
        raise ModelFileError(str(error)) from None
    return np.stack(kept)


@cache
def _datasets() -> Path:
    """Let this process know one dataset, which is in its cache."""
    cache_folder = Path(tempfile.mkdtemp(prefix="fuzz-cache-"))
    graph = tiny()
    readers.write_npz(graph, cache_folder / "tiny.npz")
    counts = (graph.n_vertices, graph.n_edges, graph.n_features, graph.n_classes)
    like = catalogue.DATASETS["cora"]
    entries = {"tiny": replace(like, name="tiny", file="tiny.npz", counts=counts, aliases=())}
    for module in (packing, registry):
        module.DATASETS = entries  # pyright: ignore[reportAttributeAccessIssue]
    return cache_folder


@contextlib.contextmanager
def _cache_in(folder: Path) -> Any:
    before = os.environ.get("GRAPHFILTER_CACHE")
    os.environ["GRAPHFILTER_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("GRAPHFILTER_CACHE")
        if before is not None:
            os.environ["GRAPHFILTER_CACHE"] = before


def write_packed(folder: Path) -> None:
    with _cache_in(_datasets()):
        packing.pack_datasets(folder / "datasets.tar")


def read_packed(folder: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="fuzz-cache-") as made:
        with _cache_in(Path(made)):
            packing.unpack_datasets(folder / "datasets.tar")
        return b"".join(path.read_bytes() for path in sorted(Path(made).iterdir()))


def sign_packed(folder: Path) -> None:
    """Let the manifest state what the entries are."""
    with tarfile.open(folder / "datasets.tar", "r:") as tar:
        infos = tar.getmembers()
        contents = [stream.read() if (stream := tar.extractfile(i)) else b"" for i in infos]
    manifest = json.loads(contents[0])
    manifest.pop(CHECKSUM, None)
    for file, info, content in zip(manifest["files"], infos[1:], contents[1:], strict=False):
        stated = {"size": info.size, "sha256": hashlib.sha256(content).hexdigest()}
        file.update(name=info.name, **stated)
    contents[0] = json.dumps({**manifest, CHECKSUM: checksum_of(manifest)}).encode()
    infos[0].size = len(contents[0])
    with tarfile.open(folder / "datasets.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in zip(infos, contents, strict=True):
            tar.addfile(info, io.BytesIO(content))


SIGNED = {
    "model": model_format("model", _probabilities),
    "committee": model_format("committee", _probabilities),
    "numbers": model_format("numbers", _numbers),
    "multilabel": model_format("multilabel", _probabilities),
    "explain": model_format("committee", _explained),
    "known": model_format("known", _recognised),
    "run": run_format("--label", "x"),
    "kept_run": run_format("--label", "x", kept=True),
    "number_run": run_format("--number", "size"),
    "multilabel_run": run_format("--multilabel", "a,b"),
    "store": Format(
        lambda folder: write_store(_stored(), folder / "s"),
        lambda f: read_store(f / "s"),
        lambda folder: sign_store(folder / "s"),
    ),
    "hops": Format(write_hops, read_hops, lambda folder: sign_store(folder, "hops.json")),
    "packed": Format(write_packed, read_packed, sign_packed),
}

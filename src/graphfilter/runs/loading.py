"""A run folder: its files, who may write to it, and how its model, graph and tables are read.

Tables have one row per vertex, as CSV or Parquet, and are written a block of rows at a time.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.files import read_npz
from graphfilter.data.graph import Graph
from graphfilter.estimators import graph as estimators
from graphfilter.estimators.saving import CONFIG_FILE, FORMAT, MODEL_FILE
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.answers import Decision
from graphfilter.runs.drift import Reference
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.parts import write_parts
from graphfilter.tables.roles import Columns
from graphfilter.training import Task
from graphfilter.util import files, records
from graphfilter.util.arrow import csv, pa, parquet, pc
from graphfilter.util.errors import ConfigError, DataFileError, ModelFileError
from graphfilter.util.machine import blocks
from graphfilter.version import __version__

PREDICTIONS_FILE = "predictions.csv"
PARQUET = ".parquet"
# Rows of a block, and of a row group of Parquet.
BLOCK_ROWS = 1 << 17
# A cell that begins with one of these is run as a formula, however it came into the sheet.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def id_blocks(
    graph: Graph, at_once: int = BLOCK_ROWS, order: NDArray[np.int64] | None = None
) -> Iterator[tuple[Any, list[str]]]:
    """Yield rows and the ids of their vertices, in order; numbers where the graph has no names."""
    n = graph.n_vertices
    names = range(n) if graph.vertex_names is None else graph.vertex_names
    for rows in blocks(n, at_once):
        some = rows if order is None else order[rows]
        ids = names[rows] if order is None else [names[i] for i in order[rows].tolist()]
        yield some, [str(name) for name in ids]


def write_table(
    path: files.AnyPath, batches: Iterable[pa.RecordBatch], *, excel_safe: bool
) -> None:
    """Write a table, atomically and piece by piece: Parquet where its name says so, else CSV.

    Below a URL, Parquet in parts. With ``excel_safe`` text of a CSV is written so that no
    spreadsheet runs it.
    """
    if files.IS_URL.match(fspath(path)):
        return write_parts(fspath(path), batches)
    writer: Any = None
    is_parquet = Path(path).suffix.lower() == PARQUET
    with files.atomic_file(path) as temporary:
        try:
            for batch in batches:
                batch = _excel_block(batch) if excel_safe and not is_parquet else batch
                if writer is None:
                    make = parquet.ParquetWriter if is_parquet else csv.CSVWriter
                    writer = make(temporary, batch.schema)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()


def write_predictions(
    path: files.AnyPath,
    graph: Graph,
    task: Task,
    names: list[str],
    outputs: Callable[[Any], NDArray[np.float64]],
    answers: NDArray[Any],
    parts: NDArray[np.str_],
    sets: Callable[[Any], Mapping[str, NDArray[Any]]] | None = None,
    *,
    excel_safe: bool = False,
    at_once: int = BLOCK_ROWS,
    order: NDArray[np.int64] | None = None,
) -> None:
    """Write predictions per vertex, atomically: what the task says, sets or intervals, the part.

    ``outputs`` and ``sets`` give those of the rows in a slice, or in an array of ``order``.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        for rows, ids in id_blocks(graph, at_once, order):
            said: dict[str, Any] = {"id": np.array(ids, dtype=object)}
            said |= task.columns(outputs(rows), answers[rows], names)
            said |= {} if sets is None else sets(rows)
            said["part"] = parts[rows].astype(object)
            # Words as text, whichever they are.
            yield pa.record_batch({
                name: pa.array(values, pa.string()) if values.dtype == object else values
                for name, values in said.items()
            })  # fmt: skip

    write_table(path, batches(), excel_safe=excel_safe)


def excel_text(text: str) -> str:
    """Return text that a spreadsheet shows as it is: an apostrophe before what begins a formula.

    >>> excel_text("=1+1"), excel_text("-5"), excel_text("a=b")
    ("'=1+1", "'-5", 'a=b')
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def _excel_block(block: pa.RecordBatch) -> pa.RecordBatch:
    signs = f"^([{re.escape(''.join(FORMULA_SIGNS))}])"
    columns: list[Any] = [
        pc.replace_substring_regex(column, signs, r"'\1")
        if pa.types.is_string(column.type)
        else column
        for column in block.columns
    ]
    return pa.record_batch(columns, names=[excel_text(name) for name in block.schema.names])


# The part of a vertex whose id is not in the run, and of all if its predictions are gone.
NEW, UNKNOWN = "new", "unknown"


def parts_in_run(folder: str | Path, graph: Graph) -> NDArray[np.str_]:
    """Return what each vertex was in a run: train, val, test, unlabelled, unused, or new.

    Vertices are recognised by their ids; those of a graph without names are their numbers. Where
    the ``predictions.csv`` of the run was removed or edited since, all are unknown.
    """
    if (table := read_parts(folder)) is None:
        return np.full(graph.n_vertices, UNKNOWN, dtype="<U10")
    fitted, parts = table
    words = np.array([*parts.dictionary.to_pylist(), NEW], dtype="<U10")
    codes = np.append(parts.indices.to_numpy(), len(words) - 1)
    # The ids of the run are hashed once, for all blocks.
    ids = pa.chunked_array([pa.array(block, pa.string()) for _, block in id_blocks(graph)])
    place = pc.index_in(ids, value_set=fitted).combine_chunks()
    if place.null_count:
        # As they are written for a spreadsheet.
        missing = pc.is_null(place)
        safe = pa.array(map(excel_text, ids.filter(missing).to_pylist()), pa.string())
        place = pc.replace_with_mask(place, missing, pc.index_in(safe, value_set=fitted))
    return words[codes[place.fill_null(-1).to_numpy(zero_copy_only=False)]]


def read_parts(folder: str | Path) -> tuple[Any, Any] | None:
    """Return the ids of a run and their parts, as Arrow arrays; None where they cannot be read."""
    only = csv.ConvertOptions(
        include_columns=["id", "part"], column_types={"id": pa.string(), "part": pa.string()}
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    try:
        path = Path(folder) / PREDICTIONS_FILE
        with csv.open_csv(path, convert_options=only, parse_options=parsing) as reader:
            table = reader.read_all()
    except (pa.ArrowException, OSError):
        return None
    parts = table["part"].combine_chunks().fill_null(UNKNOWN).dictionary_encode()
    return table["id"].combine_chunks(), parts


CHECKPOINT_FILE = "checkpoint.safetensors"
METRICS_FILE = "metrics.json"
FILTER_FILE = "filter.png"
REPORT_FILE = "report.html"
# Where the graph is kept.
GRAPH_FILE = "graph.npz"
# What later graphs are compared with, where the model predicts some.
REFERENCE_FILE = "reference.safetensors"
# What was answered, and known, of every vertex, where the graph is kept.
CASES_FILE = "cases.safetensors"
# Where edges have directions or kinds: their filters.
CHANNELS_FILE = "channels.png"
RUN_FILES = (
    PREDICTIONS_FILE, METRICS_FILE, FILTER_FILE, CHANNELS_FILE, REPORT_FILE, MODEL_FILE,
    CONFIG_FILE, CHECKPOINT_FILE, GRAPH_FILE, REFERENCE_FILE, CASES_FILE,
)  # fmt: skip

# One per member or fit.
_CHECKPOINTS = CHECKPOINT_FILE.replace(".", "*.", 1)
# Where a run is trained that replaces a finished one, which is whole until then.
_NEW = f"{files.OWN}new"
_BUSY = "another fit is writing to it; wait for it, or give another folder."


@dataclass(frozen=True)
class RunDescription:
    """What a run was made from, so that it can be repeated and its tables read the same way.

    Attributes
    ----------
    command : str
        The command line that repeats it; empty where there was none.
    origin : dict
        The files, or the dataset.
    data_checksum : str
        Of the graph as it was fitted.
    encoder : dict or None
        Of the vertex table, as :meth:`TableEncoder.to_dict` gives it.
    columns : Columns or None
        Which columns of the tables are what, where the user said so.
    vertex_features : bool
        False where each vertex was its own feature for want of others.
    stopped : list of str
        Why each member stopped training.
    decision : Decision or None
        When the positive of two classes is answered; None where the more probable one is.
    coverage : float or None
        Of the sets or intervals that were asked for.
    graph_sha256 : str
        Of the file of the graph; empty where the graph is not kept.
    reference_sha256 : str
        Of what later graphs are compared with; empty where there is none.
    cases_sha256 : str
        Of what was answered and known of every vertex; empty where the graph is not kept.
    noun : str
        What a vertex is called, and several; empty of runs before 0.3.
    """

    command: str = ""
    seed: int = 0
    origin: dict[str, Any] = field(default_factory=dict)
    data_checksum: str = ""
    split_rule: str = ""
    encoder: dict[str, Any] | None = None
    columns: Columns | None = None
    vertex_features: bool = True
    python: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    decision: Decision | None = None
    coverage: float | None = None
    graph_sha256: str = ""
    reference_sha256: str = ""
    cases_sha256: str = ""
    noun: str = ""


def read_kept_graph(folder: str | Path, run: RunDescription) -> Graph:
    """Read the graph that is kept with a run; its bytes must be those that were written."""
    path = Path(folder) / GRAPH_FILE
    if not run.graph_sha256:
        text = "the run has no saved graph. Fit again with `keep_graph=True`, or list all vertices."
        raise ModelFileError(f"{folder}: {text}")
    if not path.is_file():
        raise ModelFileError(f"{path}: there is no such file. Restore it, or fit again.")
    if records.sha256_of(path) != run.graph_sha256:
        raise records.changed_file(path)
    try:
        return read_npz(path)
    except DataFileError as error:
        raise ModelFileError(f"{error} Fit again.") from None


def read_reference(folder: str | Path, run: RunDescription) -> Reference | None:
    """Read the reference of a run; None of a run that has none."""
    if not run.reference_sha256:
        return None
    path = Path(folder) / REFERENCE_FILE
    tensors, _ = records.read_tensors(path, run.reference_sha256)
    try:
        return Reference.from_arrays({name: values.numpy() for name, values in tensors.items()})
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: not a file that a fit wrote ({error}). Fit again.") from None


# In config.json, instead of a model: the title of a system that is built on its graph.
_NOT_KEPT = "not_kept"
_KINDS = (
    "GraphClassifier", "GraphRegressor", "SystemClassifier", "SystemRegressor", "SGFRegressor",
    "SGFClassifier",
)  # fmt: skip


def save_run(estimator: VertexEstimator, folder: Path, run: dict[str, Any]) -> None:
    """Write the model and, last, ``config.json``, which marks the run as finished.

    A network that is built on its graph is not kept; the rest of the run is.
    """
    if not estimator.system_.keeps_graph:
        estimator.save(folder, run=run)
        return
    content = {
        "format": FORMAT, "version": __version__, "kind": type(estimator).__name__,
        _NOT_KEPT: estimator.system_.title, "run": run,
    }  # fmt: skip
    records.write_checked_json(folder / CONFIG_FILE, content)


def load_run(
    folder: str | Path, model: Any = None
) -> tuple[VertexEstimator, RunDescription, TableEncoder | None]:
    """Load the estimator of a run folder, what is known of the run, and how to read its tables.

    ``model`` is the filter or network of a user's own that was fitted, where there was one.
    """
    config = Path(folder) / CONFIG_FILE
    if checkpoints(folder) and not config.exists():
        raise ModelFileError(f"{folder}: unfinished run; finish it with graphfilter fit --resume.")
    content = records.read_checked_json(config) if config.exists() else {}
    if _NOT_KEPT in content:
        text = "is bound to its graph and is not saved; fit another model for other graphs."
        raise ModelFileError(f"{folder}: {content[_NOT_KEPT]} {text}")
    kind = content.get("kind")
    made: Any = getattr(estimators, kind if kind in _KINDS else _KINDS[-1])
    estimator: VertexEstimator = made.load(folder, model=model)
    return estimator, *read_description(folder)


def read_description(folder: str | Path) -> tuple[RunDescription, TableEncoder | None]:
    """Read what is known of a run, and how to read its tables."""
    content = records.read_checked_json(Path(folder) / CONFIG_FILE).get("run")
    if content is None:
        raise ModelFileError(f"{folder}: holds a model but no run; make one with graphfilter fit.")
    try:
        run = records.convert(RunDescription, content)
    except TypeError as error:
        problem = f"does not describe a run ({error}); fit again."
        raise ModelFileError(f"{Path(folder) / CONFIG_FILE}: {problem}") from None
    encoder = None if run.encoder is None else TableEncoder.from_dict(run.encoder)
    return run, encoder


@contextmanager
def open_folder(
    out: str | Path, *, overwrite: bool, resume: bool, names: Iterable[Any] = ()
) -> Generator[Path]:
    """Lock a run folder for the length of the block; yield the folder to train in.

    That is another one within it where a finished run is there, until :func:`finish_run`. The lock
    ends with this process, however it ends. ``names`` are those that will be written.
    """
    folder = check_folder(out, overwrite=overwrite, resume=resume)
    files.check_text(names, "names")
    files.make_folder(folder)
    with files.locked(folder / files.LOCK_FILE, f"{folder}: {_BUSY}"):
        # Another fit may have finished since.
        _check_contents(folder, overwrite=overwrite, resume=resume)
        if overwrite:
            _remove_new(folder)
            if (folder / CONFIG_FILE).exists():
                files.make_folder(folder / _NEW)
            else:
                _remove_files(folder)
        try:
            yield training_folder(folder)
        finally:
            if not _checkpoints_in(folder / _NEW):
                _remove_new(folder)


def training_folder(out: str | Path) -> Path:
    """Return the folder that a run is trained in: one within ``out`` where it replaces another."""
    new = Path(out) / _NEW
    return new if new.is_dir() and not new.is_symlink() else Path(out)


def finish_run(out: str | Path) -> None:
    """Put a run that was trained in the place of an earlier one, and remove its checkpoints.

    A process that is killed meanwhile leaves an interrupted run, which can be resumed.
    """
    folder, new = Path(out), training_folder(out)
    if new != folder:
        _remove_files(folder)
        names = {*RUN_FILES} - {CONFIG_FILE, CHECKPOINT_FILE}
        for name in (*sorted(names), CONFIG_FILE):
            if (new / name).exists():
                (new / name).replace(folder / name)
        _remove_new(folder)
    for path in _checkpoints_in(folder):
        path.unlink(missing_ok=True)


def _remove_new(folder: Path) -> None:
    """Remove the folder of a run that was to replace another, or what is in its place."""
    new = folder / _NEW
    if new.is_symlink() or new.is_file():
        new.unlink()
    shutil.rmtree(new, ignore_errors=True)


def _remove_files(folder: Path) -> None:
    """Remove the files of a run, first the one by which it is finished."""
    names = (CONFIG_FILE, *RUN_FILES)
    for path in (*(folder / name for name in names), *_checkpoints_in(folder)):
        path.unlink(missing_ok=True)


def checkpoints(folder: str | Path) -> list[Path]:
    """Return the states of training of a run: one, or one per member or fit."""
    return _checkpoints_in(training_folder(folder))


def _checkpoints_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(_CHECKPOINTS)) if folder.is_dir() else []


def check_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Path:
    """Check the run folder before any work: no file of the user is deleted silently."""
    folder = Path(out)
    if folder.is_dir() and files.in_use(folder / files.LOCK_FILE):
        raise ConfigError(f"{folder}: {_BUSY}")
    _check_contents(folder, overwrite=overwrite, resume=resume)
    return folder


def check_outputs(run: str | Path, *files: Path | None) -> None:
    """Raise where a file that a command is to write is one of the run's own."""
    for file in (file for file in files if file is not None and file.exists()):
        for path in (Path(run) / name for name in RUN_FILES):
            if path.exists() and file.samefile(path):
                raise ConfigError(f"{file}: belongs to the run itself; give another file.")


def _check_contents(folder: Path, *, overwrite: bool, resume: bool) -> None:
    unfinished = checkpoints(folder)
    present = files.files_in(folder, *RUN_FILES, _CHECKPOINTS)
    if resume and overwrite:
        raise ConfigError("`resume` continues a run, `overwrite` starts again: choose one.")
    problem = ""
    if resume and CONFIG_FILE in present and not _checkpoints_in(folder / _NEW):
        problem = "holds a finished run; there is nothing to resume. `overwrite=True` fits again."
    elif not resume and not overwrite and unfinished:
        problem = "holds an interrupted run; pass `resume=True`, or `overwrite=True`."
    elif not resume and not overwrite and present:
        problem = "exists and is not empty; pass `overwrite=True`, or give another folder."
    if problem:
        raise ConfigError(f"{folder}: {problem}")

"""Reading a run: its description, its model and encoder, the parts of its vertices, its graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.data.npz import read_npz
from graphfilter.estimators.earlier import Earlier
from graphfilter.estimators.graph import (
    GraphClassifier,
    GraphRegressor,
    SystemClassifier,
    SystemRegressor,
)
from graphfilter.estimators.saving import CONFIG_FILE, FORMAT
from graphfilter.estimators.sgf import SGFClassifier, SGFRegressor
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.layout import GRAPH_FILE, PREDICTIONS_FILE, REFERENCE_FILE, checkpoints
from graphfilter.runs.reference import Reference
from graphfilter.runs.tables import excel_text, id_blocks
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.training.thresholds import Decision
from graphfilter.util.errors import ConfigError, DataFileError, ModelFileError
from graphfilter.util.records import (
    changed_file,
    convert,
    read_checked_json,
    read_tensors,
    sha256_of,
    write_checked_json,
)
from graphfilter.version import __version__


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
    start_from : dict
        The folder of the run whose weights were begun with, and the checksum of its model; empty
        of a fresh fit.
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
    start_from: dict[str, str] = field(default_factory=dict)


# The part of a vertex whose id is not in the run, and of all if its predictions are gone.
NEW, UNKNOWN = "new", "unknown"


def parts_in_run(folder: str | Path, graph: Graph) -> NDArray[np.str_]:
    """Return what each vertex was in a run: train, val, test, unlabelled, unused, or new.

    Vertices are recognised by their ids; those of a graph without names are their numbers. Where
    the ``predictions.csv`` of the run was removed or edited since, all are unknown.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    found = read_parts(folder)
    if found is None:
        return np.full(graph.n_vertices, UNKNOWN, dtype="<U10")
    known, parts = found
    words = np.array([*parts.dictionary.to_pylist(), NEW], dtype="<U10")
    codes = np.append(parts.indices.to_numpy(), len(words) - 1)
    # The ids of the run are hashed once, for all blocks.
    ids = pa.chunked_array([pa.array(block, pa.string()) for _, block in id_blocks(graph)])
    place = pc.index_in(ids, value_set=known).combine_chunks()
    if place.null_count:
        # As they are written for a spreadsheet.
        missing = pc.is_null(place)
        safe = pa.array(map(excel_text, ids.filter(missing).to_pylist()), pa.string())
        place = pc.replace_with_mask(place, missing, pc.index_in(safe, value_set=known))
    return words[codes[place.fill_null(-1).to_numpy(zero_copy_only=False)]]


def read_parts(folder: str | Path) -> tuple[Any, Any] | None:
    """Return the ids of a run and their parts, as Arrow arrays; None where they cannot be read."""
    import pyarrow as pa
    from pyarrow import csv

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


def read_kept_graph(folder: str | Path, run: RunDescription) -> Graph:
    """Read the graph that is kept with a run; its bytes must be those that were written."""
    path = Path(folder) / GRAPH_FILE
    if not run.graph_sha256:
        raise ModelFileError(
            f"{folder}: the run has no saved graph. Fit again with `keep_graph=True`, or "
            "predict with tables that list all vertices, known ones included."
        )
    if not path.is_file():
        raise ModelFileError(
            f"{path}: there is no such file, but the run was made with one. "
            "Restore it from a copy, or fit again."
        )
    if sha256_of(path) != run.graph_sha256:
        raise changed_file(path)
    try:
        return read_npz(path)
    except DataFileError as error:
        raise ModelFileError(f"{error} Fit again.") from None


def read_reference(folder: str | Path, run: RunDescription) -> Reference | None:
    """Read the reference of a run; None of a run that has none."""
    if not run.reference_sha256:
        return None
    path = Path(folder) / REFERENCE_FILE
    tensors, _ = read_tensors(path, run.reference_sha256)
    try:
        return Reference.from_arrays({name: values.numpy() for name, values in tensors.items()})
    except (KeyError, ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: not a file that a fit wrote ({error}). Fit again.") from None


# In config.json, instead of a model: the title of a system that is built on its graph.
_NOT_KEPT = "not_kept"
_KINDS: tuple[type[VertexEstimator], ...] = (
    GraphClassifier, GraphRegressor, SystemClassifier, SystemRegressor, SGFRegressor,
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
    write_checked_json(folder / CONFIG_FILE, content)


def load_run(
    folder: str | Path, model: Any = None
) -> tuple[VertexEstimator, RunDescription, TableEncoder | None]:
    """Load the estimator of a run folder, what is known of the run, and how to read its tables.

    ``model`` is the filter or network of a user's own that was fitted, where there was one.
    """
    config = Path(folder) / CONFIG_FILE
    if checkpoints(folder) and not config.exists():
        raise ModelFileError(f"{folder}: unfinished run; finish it with graphfilter fit --resume.")
    content = read_checked_json(config) if config.exists() else {}
    if _NOT_KEPT in content:
        raise ModelFileError(
            f"{folder}: {content[_NOT_KEPT]} is bound to its graph and is not saved. Its "
            "predictions for that graph are in predictions.csv; for other graphs fit sgf, "
            "gcn, appnp, gcnii, ..."
        )
    kinds = {kind.__name__: kind for kind in _KINDS}
    estimator = kinds.get(str(content.get("kind")), SGFClassifier).load(folder, model=model)
    return estimator, *read_description(folder)


def read_description(folder: str | Path) -> tuple[RunDescription, TableEncoder | None]:
    """Read what is known of a run, and how to read its tables."""
    content = read_checked_json(Path(folder) / CONFIG_FILE).get("run")
    if content is None:
        raise ModelFileError(f"{folder}: holds a model but no run; make one with graphfilter fit.")
    try:
        run = convert(RunDescription, content)
    except TypeError as error:
        problem = f"does not describe a run ({error}); fit again."
        raise ModelFileError(f"{Path(folder) / CONFIG_FILE}: {problem}") from None
    encoder = None if run.encoder is None else TableEncoder.from_dict(run.encoder)
    return run, encoder


def read_earlier(
    folder: str | Path, model: Any = None
) -> tuple[Earlier, RunDescription, TableEncoder | None]:
    """Read a run to start from, what is known of it, and how to read its tables."""
    estimator, about, encoder = load_run(folder, model)
    if not about.vertex_features:
        raise ConfigError(
            f"{folder}: the run was fitted without vertex features, on the identity of each "
            "vertex: there are no weights to start from on another graph."
        )
    found = read_parts(folder)
    if found is None:
        raise ConfigError(
            f"{folder}: its predictions.csv must say which vertices were trained on; it is "
            "missing or was changed. Restore it, or fit without `start_from`."
        )
    ids, parts = found
    words = np.array(parts.to_pylist(), dtype="<U10")
    checksum = str(read_checked_json(Path(folder) / CONFIG_FILE).get("model_sha256", ""))
    return Earlier(estimator, ids.to_pylist(), words, str(folder), checksum), about, encoder

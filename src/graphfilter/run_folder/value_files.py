"""The predictions of numbers or of several labels on file, and predicting with such a run."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ModelFileError
from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.regressor import SGFRegressor
from graphfilter.estimators.saving import CONFIG_FILE
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.graph import Graph
from graphfilter.graph.tables.encoding import TableEncoder
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.predict import read_description
from graphfilter.run_folder.predictions import parts_of
from graphfilter.splits import Split
from graphfilter.storage import atomic_file, read_checked_json
from graphfilter.training import CLASSIFICATION

# Between the labels of one vertex.
SEPARATOR = ";"


def write_values(
    path: str | PathLike[str],
    estimator: VertexEstimator,
    graph: Graph,
    said: NDArray[np.float64],
    split: Split | None = None,
) -> None:
    """Write per vertex: id, the number or the labels predicted, probabilities, and its part."""
    import pyarrow as pa
    from pyarrow import csv

    ids = graph.vertex_names or range(graph.n_vertices)
    columns: dict[str, Any] = {"id": pa.array([str(name) for name in ids])}
    if isinstance(estimator, VertexClassifier):
        names = [str(name) for name in estimator.target_names_]
        columns["predicted"] = pa.array(named_labels(said, names))
        columns |= {f"p_{name}": said[:, c].round(6) for c, name in enumerate(names)}
    else:
        columns["predicted"] = said[:, 0]
    if split is not None:
        columns["part"] = pa.array(parts_of(graph, split).tolist())
    with atomic_file(path) as temporary:
        csv.write_csv(pa.table(columns), temporary)


def named_labels(said: NDArray[np.float64], names: list[str]) -> list[str]:
    """Return the labels above one half of each vertex, joined."""
    return [
        SEPARATOR.join(name for name, has in zip(names, row, strict=True) if has)
        for row in said > 0.5
    ]


def task_of_run(folder: str | Path) -> str:
    """Return the task of a saved run: classification unless it says otherwise."""
    path = Path(folder) / CONFIG_FILE
    if not path.exists():
        return CLASSIFICATION.name  # What is wrong with the folder is said when it is loaded.
    return str(read_checked_json(path).get("task", CLASSIFICATION.name))


def load_value_run(
    folder: str | Path,
) -> tuple[SGFRegressor | SGFClassifier, RunDescription, TableEncoder | None]:
    """Load the estimator of a run of numbers or labels, and how to read its tables."""
    kind = read_checked_json(Path(folder) / CONFIG_FILE).get("kind")
    kinds = {"SGFRegressor": SGFRegressor, "SGFClassifier": SGFClassifier}
    if kind not in kinds:
        raise ModelFileError(f"{folder}: must hold a run of numbers or labels; got a {kind}.")
    return kinds[kind].load(folder), *read_description(folder)

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
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.graph import Graph
from graphfilter.metrics.values import score_labels, score_numbers
from graphfilter.report.value_comparison import number
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.new_labels import trained_ids
from graphfilter.run_folder.predict import read_description
from graphfilter.run_folder.predictions import parts_of
from graphfilter.run_folder.row_table import text, write_rows
from graphfilter.splits import Split
from graphfilter.storage import read_checked_json
from graphfilter.tables.encoding import TableEncoder
from graphfilter.training import CLASSIFICATION, REGRESSION
from graphfilter.wording import count

# Between the labels of one vertex.
SEPARATOR = ";"


def score_values(
    target: Target, said: NDArray[np.float64], index: NDArray[np.int64]
) -> dict[str, Any]:
    """Score the answers for some vertices whose value is known."""
    assert target.values is not None
    if target.task is REGRESSION:
        return score_numbers(said[index, 0], target.values[index, 0])
    return score_labels(said[index], target.values[index])


def write_values(
    path: str | PathLike[str],
    estimator: VertexEstimator,
    graph: Graph,
    said: NDArray[np.float64],
    split: Split | None = None,
) -> None:
    """Write per vertex: id, the number or the labels predicted, probabilities, and its part."""
    names = [str(name) for name in estimator.target_names_]
    parts = None if split is None else parts_of(graph, split)

    def columns(rows: slice) -> dict[str, Any]:
        own = said[rows]
        found: dict[str, Any] = {"predicted": own[:, 0]}
        if isinstance(estimator, VertexClassifier):
            found["predicted"] = text(named_labels(own, names))
            found |= {f"p_{name}": own[:, c].round(6) for c, name in enumerate(names)}
        return found if parts is None else found | {"part": text(parts[rows])}

    write_rows(path, graph, columns)


def named_labels(said: NDArray[np.float64], names: list[str]) -> list[str]:
    """Return the labels above one half of each vertex, joined."""
    return [
        SEPARATOR.join(name for name, has in zip(names, row, strict=True) if has)
        for row in said > 0.5
    ]


def describe_values(
    folder: str | Path, graph: Graph, target: Target, said: NDArray[np.float64]
) -> list[str]:
    """Compare answers with the known values of the vertices that were not trained on."""
    trained = trained_ids(folder)
    ids = graph.vertex_names or range(graph.n_vertices)
    old = np.array([str(name) in trained for name in ids], dtype=bool)
    known = target.codes >= 0
    new = np.flatnonzero(known & ~old)
    if not len(new):
        if not known.any():
            return []
        return ["All vertices with a known value were in training: there is no other to score."]
    scores = score_values(target, said, new)
    where = f"{count(len(new), 'vertex', 'vertices')} with a known value and not trained on"
    if target.task is not REGRESSION:
        return [f"Micro F1 on the {where}: {scores['micro_f1']:.3f}."]
    r2 = f"R² {scores['r2']:.3f}, " if "r2" in scores else ""
    return [f"On the {where}: {r2}RMSE {number(scores['rmse'])}."]


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

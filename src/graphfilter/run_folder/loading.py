"""The model of a run folder, and how its tables were read: written last, loaded as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.errors import ConfigError, ModelFileError
from graphfilter.estimators import (
    CONFIG_FILE,
    FORMAT,
    Earlier,
    GraphClassifier,
    GraphRegressor,
    SGFClassifier,
    SGFRegressor,
    SystemClassifier,
    SystemRegressor,
    VertexEstimator,
)
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.layout import checkpoints
from graphfilter.run_folder.parts import read_parts
from graphfilter.storage import convert, read_checked_json, write_checked_json
from graphfilter.tables import TableEncoder
from graphfilter.version import __version__

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


def load_run(folder: str | Path) -> tuple[VertexEstimator, RunDescription, TableEncoder | None]:
    """Load the estimator of a run folder, what is known of the run, and how to read its tables."""
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
    estimator = kinds.get(str(content.get("kind")), SGFClassifier).load(folder)
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


def read_earlier(folder: str | Path) -> tuple[Earlier, RunDescription, TableEncoder | None]:
    """Read a run to start from, what is known of it, and how to read its tables."""
    estimator, about, encoder = load_run(folder)
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

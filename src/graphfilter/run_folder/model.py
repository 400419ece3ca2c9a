"""The model of a run folder, whatever its class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphfilter.errors import ModelFileError
from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.graph import GraphClassifier
from graphfilter.estimators.saving import CONFIG_FILE, FORMAT
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.system import SystemClassifier
from graphfilter.storage import read_checked_json, write_checked_json
from graphfilter.version import __version__

# In config.json, instead of a model: the title of a system that is built on its graph.
_NOT_KEPT = "not_kept"


def save_run(classifier: VertexClassifier, folder: Path, run: dict[str, Any]) -> None:
    """Write the model and, last, ``config.json``, which marks the run as finished.

    A network that is built on its graph is not kept; the rest of the run is.
    """
    if not classifier.system_.keeps_graph:
        classifier.save(folder, run=run)
        return
    content = {
        "format": FORMAT, "version": __version__, "kind": type(classifier).__name__,
        _NOT_KEPT: classifier.system_.title, "run": run,
    }  # fmt: skip
    write_checked_json(folder / CONFIG_FILE, content)


def load_classifier(folder: str | Path) -> VertexClassifier:
    """Load the classifier of a run."""
    config = Path(folder) / CONFIG_FILE
    content = read_checked_json(config) if config.exists() else {}
    if _NOT_KEPT in content:
        raise ModelFileError(
            f"{folder}: {content[_NOT_KEPT]} is built on its graph and is not kept. What it says "
            "of that graph is in predictions.csv; for others fit sgf, gcn, appnp, gcnii, ..."
        )
    kinds = {kind.__name__: kind for kind in (GraphClassifier, SystemClassifier)}
    return kinds.get(str(content.get("kind")), SGFClassifier).load(folder)

"""A finished run as the start of another fit: its weights, its vertices and their parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphfilter.errors import ConfigError
from graphfilter.estimators import CONFIG_FILE, Earlier
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.loading import load_run
from graphfilter.run_folder.parts import read_parts
from graphfilter.storage import read_checked_json
from graphfilter.tables import TableEncoder


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

"""What is kept of a fit beside its model: its graph, and what later graphs are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from graphfilter.data import read_npz, write_npz
from graphfilter.errors import DataFileError, GraphError, ModelFileError
from graphfilter.fits import Fit, Reference
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.layout import GRAPH_FILE, REFERENCE_FILE
from graphfilter.storage import changed_file, read_tensors, sha256_of, write_tensors
from graphfilter.version import __version__
from graphfilter.wording import say_bytes

# Graphs of up to this many bytes in memory are kept unless that is refused.
KEPT_BYTES = 64 << 20


@dataclass(frozen=True)
class Kept:
    """Whether the graph of a fit is kept with its run.

    Attributes
    ----------
    sha256 : str
        Of the file; empty where there is none.
    note : str
        What a user should know of it; empty where there is nothing to say.
    """

    sha256: str = ""
    note: str = ""


def keep_graph(fit: Fit, folder: Path, wanted: bool | None) -> Kept:
    """Write the graph of a fit to its folder, where that is wanted or the graph is small.

    Edges, ids and features as they were encoded, without labels, as npz without pickles. A model
    that predicts no other graph has no use for it.
    """
    if wanted is False or not fit.plan.has_features or fit.estimator.system_.keeps_graph:
        return Kept()
    graph, size = fit.graph, _n_bytes(fit.graph)
    if wanted is None and size > KEPT_BYTES:
        return Kept(
            note=f"the graph takes {say_bytes(size)}, more than {say_bytes(KEPT_BYTES)}, and "
            "is not saved with the run. With `keep_graph=True` it is, and predict --with "
            "run then needs new rows only."
        )
    ids = tuple(str(name) for name in graph.vertex_names or range(graph.n_vertices))
    bare = replace(
        graph, labels=None, classes=np.empty(0, dtype=np.int64), splits=(), notes=(), history=None,
        vertex_names=ids,
    )  # fmt: skip
    path = folder / GRAPH_FILE
    try:
        write_npz(bare, path)
    except GraphError as error:
        return Kept(note=f"the graph is not saved with the run: {error}")
    return Kept(
        sha256_of(path),
        f"the graph is saved with the run ({GRAPH_FILE}, {say_bytes(path.stat().st_size)}): "
        "predict --with run needs new rows only. `keep_graph=False` leaves it out.",
    )


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


def write_reference(fit: Fit, folder: Path) -> str:
    """Write the reference of a fit; return its checksum, empty where it predicts no other graph."""
    if fit.estimator.system_.keeps_graph or not fit.plan.has_features:
        return ""
    arrays = Reference.of(fit).to_arrays()
    tensors = {name: torch.tensor(values) for name, values in arrays.items()}
    about = {"kind": "reference", "version": __version__}
    return write_tensors(folder / REFERENCE_FILE, tensors, about)


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


def _n_bytes(graph: Graph) -> int:
    arrays = [graph.indptr, graph.indices, graph.weights, graph.arcs]
    arrays += [] if graph.kinds is None else [graph.kinds.values]
    x: Any = graph.features
    arrays += [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
    # Without reading the ids, which may lie on disk: 16 bytes each.
    return sum(a.nbytes for a in arrays if a is not None) + 16 * graph.n_vertices

"""A graph as a store."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.storage import check_text
from graphfilter.store.arrays import StoredArray, write_array
from graphfilter.store.folder import replacing
from graphfilter.store.header import FORMAT, Header, write_header
from graphfilter.store.names import write_names
from graphfilter.tables import Columns, TableEncoder
from graphfilter.version import __version__


def write_store(
    graph: Graph,
    path: str | PathLike[str],
    *,
    encoder: TableEncoder | None = None,
    columns: Columns | None = None,
    overwrite: bool = False,
) -> None:
    """Write a graph to a folder that :func:`open_store` maps into memory.

    The header is written last: until then the folder is not a store.

    Parameters
    ----------
    encoder, columns : optional
        How its table of vertices was read, kept for prediction.
    overwrite : bool
        Replace the store that is there. Graphs that were opened from it stay as they are.

    Examples
    --------
    >>> import tempfile, graphfilter as gf
    >>> folder = tempfile.mkdtemp()
    >>> gf.data.write_store(gf.data.make_karate(), folder)
    >>> gf.open_store(folder).n_vertices
    34
    """
    folder = Path(path)
    with replacing(folder, overwrite):
        arrays = {
            role: write_array(folder / f"{role}.bin", array)
            for role, array in _arrays(graph).items()
        }
        are_json = False
        if graph.vertex_names is not None:
            names, are_json = write_names(folder, graph.vertex_names)
            arrays |= names
        write_header(folder, make_header(graph, arrays, are_json, encoder, columns))


def make_header(
    graph: Graph,
    arrays: dict[str, StoredArray],
    names_are_json: bool,
    encoder: TableEncoder | None,
    columns: Columns | None,
) -> Header:
    """Describe a graph whose arrays are written."""
    classes, classes_type = _plain_classes(graph)
    texts = [*(graph.feature_names or ()), *graph.notes, graph.name]
    check_text(texts, "names and notes")
    return Header(
        FORMAT, __version__, graph.name, graph.n_vertices, len(graph.indices), arrays,
        graph.n_features, None if graph.feature_names is None else list(graph.feature_names),
        names_are_json, classes, classes_type,
        [] if graph.kinds is None else list(graph.kinds.names),
        [split.rule for split in graph.splits],
        [[len(s.train), len(s.val), len(s.test)] for s in graph.splits],
        list(graph.notes), None if encoder is None else encoder.to_dict(),
        None if columns is None else asdict(columns),
    )  # fmt: skip


def split_arrays(graph: Graph) -> dict[str, Any]:
    """Return the parts of all splits, one after the other."""
    return {
        f"split_{part}": np.concatenate([getattr(split, part) for split in graph.splits])
        for part in ("train", "val", "test")
        if graph.splits
    }


def _arrays(graph: Graph) -> dict[str, Any]:
    arrays = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "weights": graph.weights,
        "arcs": graph.arcs,
        "labels": graph.labels,
        "kinds": None if graph.kinds is None else graph.kinds.values,
        **split_arrays(graph),
    }
    x = graph.features
    if isinstance(x, np.ndarray):
        arrays["features"] = x
    elif x is not None:
        parts = {"indptr": x.indptr, "indices": x.indices, "values": x.data}
        arrays |= {f"features_{part}": array for part, array in parts.items()}
    return {role: array for role, array in arrays.items() if array is not None}


def _plain_classes(graph: Graph) -> tuple[list[Any], str]:
    names = graph.classes.tolist()
    if not all(isinstance(name, bool | int | float | str) for name in names):
        raise GraphError("classes must be text or numbers to be stored; convert them first.")
    check_text(names, "classes")
    kind = graph.classes.dtype
    return names, "object" if kind.kind in "OU" else kind.str

"""Formats that many tools write: edge lists, GraphML and GML; and the choice by suffix."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.data.arrays import PARSE_ERRORS, AnyPath, reading
from graphfilter.data.readers.matrix_market import read_matrix_market
from graphfilter.data.readers.npz import read_npz
from graphfilter.errors import DataFileError, GraphError, check_name
from graphfilter.graph import Graph


def read_graph(path: AnyPath) -> Graph:
    """Read a graph with the reader that the file's suffix names.

    ``.npz`` (the package's own format), ``.mtx``, ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    return READERS[check_name(f"file type for {str(path)!r}:", suffix, READERS)](path)


def read_edge_list(path: AnyPath) -> Graph:
    """Read lines of two vertices and perhaps a weight, apart by spaces, tabs, commas or ``;``.

    Lines that start with ``#`` or ``%`` and empty lines are skipped. Vertices may be any words;
    they are numbered in their order (by value where all are whole numbers, so a list that uses
    0..n-1 keeps its numbers) and kept in ``vertex_names``.
    """
    remedy = "Give two vertices a line, and perhaps a weight."
    ends: list[str] = []
    weights: list[float] = []
    n_fields = 0
    with reading(path, remedy, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    for i, line in enumerate(lines, start=1):
        fields = line.replace(",", " ").replace(";", " ").split()
        if not fields or fields[0][0] in "#%":
            continue
        n_fields = n_fields or len(fields)
        if len(fields) != n_fields or n_fields not in (2, 3):
            expected = n_fields if n_fields in (2, 3) else "2 or 3"
            problem = f"must have {expected} fields; got {len(fields)}. {remedy}"
            raise DataFileError(path, problem, line=i)
        ends += fields[:2]
        if n_fields == 3:
            try:
                weights.append(float(fields[2]))
            except ValueError:
                problem = f"the weight must be a number; got {fields[2][:40]!r}. {remedy}"
                raise DataFileError(path, problem, line=i) from None
    if not ends:
        raise DataFileError(path, f"must hold at least one edge; it holds none. {remedy}")
    with reading(path, remedy):
        names, number = _number_vertices(ends)
        pairs = number.reshape(-1, 2)
        return Graph.from_edges(
            pairs,
            len(names),
            weights=weights or None,
            vertex_names=names,
            name=Path(path).stem,
        )


def read_networkx(path: AnyPath, label: str = "label") -> Graph:
    """Read GraphML or GML with networkx.

    Parameters
    ----------
    label : str
        The vertex attribute that is the label; vertices without it are unlabelled.

    Notes
    -----
    Attributes that are numbers on every vertex become features; others are left out, and the
    notes say so. GraphML with a document type or entities is refused: those can make a small
    file expand without limit, and GraphML needs neither.
    """
    import networkx as nx

    suffix = Path(path).suffix.lower()
    check_name(f"file type for {str(path)!r}:", suffix, (".graphml", ".gml"))
    remedy = f"Write it again, for example with networkx.write_{suffix[1:]}."
    with reading(path, remedy, (*PARSE_ERRORS, nx.NetworkXException)):
        data = Path(path).read_bytes()
        if suffix == ".graphml":
            _refuse_entities(data, path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if suffix == ".graphml":
                graph = nx.read_graphml(io.BytesIO(data))
            else:
                graph = nx.read_gml(io.BytesIO(data), label="id")
        features, names, left_out = _numeric_attributes(graph, label)
        has_labels = any(label in attributes for _, attributes in graph.nodes(data=True))
        result = Graph.from_networkx(
            graph,
            labels=label if has_labels else None,
            features=features,
            feature_names=names,
            name=Path(path).stem,
        )
    notes = [f"networkx: {warning.message}" for warning in caught]
    notes += [f"Vertex attribute {key!r} left out: not a number everywhere." for key in left_out]
    return result.replace(notes=(*result.notes, *notes))


def _number_vertices(ends: list[str]) -> tuple[list[Any], np.ndarray]:
    if all(end.isascii() and end.isdigit() and len(end) < 19 for end in ends):
        names, number = np.unique(np.array(ends, dtype=np.int64), return_inverse=True)
    else:
        names, number = np.unique(np.array(ends, dtype=object), return_inverse=True)
    return names.tolist(), number


def _refuse_entities(data: bytes, path: AnyPath) -> None:
    # Without zero bytes it is not UTF-16, so the markup is ASCII and cannot hide.
    if b"\0" in data:
        raise DataFileError(path, "must be UTF-8 text. Convert it first.")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        problem = "must not have a document type or entities (<!DOCTYPE, <!ENTITY)"
        raise DataFileError(path, f"{problem}. Remove them: GraphML needs neither.")


def _numeric_attributes(graph: Any, label: str) -> tuple[Any, list[str] | None, list[str]]:
    table = [attributes for _, attributes in graph.nodes(data=True)]
    keys = [key for key in dict.fromkeys(k for row in table for k in row) if key != label]
    numeric = [key for key in keys if all(isinstance(row.get(key), int | float) for row in table)]
    left_out = [str(key) for key in keys if key not in numeric]
    if not numeric:
        return None, None, left_out
    try:
        features = np.array([[row[key] for key in numeric] for row in table], dtype=np.float32)
    except OverflowError:
        raise GraphError("vertex attributes must be numbers of ordinary size.") from None
    return features, list(map(str, numeric)), left_out


READERS: dict[str, Callable[[AnyPath], Graph]] = {
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".graphml": read_networkx,
    ".gml": read_networkx,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
}

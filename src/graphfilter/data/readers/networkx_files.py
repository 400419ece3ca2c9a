"""GraphML and GML, parsed by networkx."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.errors import DataFileError, GraphError, check_name
from graphfilter.graph import Graph
from graphfilter.storage import PARSE_ERRORS, AnyPath, check_text, reading


def read_networkx(path: AnyPath, label: str = "label", *, directed: bool = False) -> Graph:
    """Read GraphML or GML with networkx.

    Parameters
    ----------
    label : str
        The vertex attribute that is the label; vertices without it are unlabelled.
    directed : bool
        Keep which way the edges go, which the file must say.

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
        texts = [v for _, a in graph.nodes(data=True) for v in (*a, a.get(label))]
        check_text([*graph.nodes, *texts], "a name")
        result = Graph.from_networkx(
            graph,
            labels=label if has_labels else None,
            features=features,
            feature_names=names,
            name=Path(path).stem,
            directed=directed,
        )
    notes = [f"networkx: {warning.message}" for warning in caught]
    notes += [f"Vertex attribute {key!r} left out: not a number everywhere." for key in left_out]
    return result.replace(notes=(*result.notes, *notes))


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

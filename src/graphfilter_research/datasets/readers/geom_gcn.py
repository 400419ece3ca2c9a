"""Geom-GCN (Pei et al. 2020): tab-separated text, and ten splits as npz files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.data.npz import check_labels, splits_from_masks
from graphfilter.splits import Split
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import AnyPath, load_arrays, reading

REMEDY = "Download it again (graphdml-uiuc-jlu/geom-gcn)."


def read_geom_gcn(folder: AnyPath, name: str, splits_folder: AnyPath | None = None) -> Graph:
    """Read ``FOLDER/NAME/out1_graph_edges.txt`` and ``out1_node_feature_label.txt``.

    Parameters
    ----------
    folder : path
        The folder that holds one folder per dataset (``new_data`` in the source repository).
    splits_folder : path, optional
        Where ``NAME_split_0.6_0.2_I.npz`` are; ``FOLDER/splits`` if not given, and there no
        splits are needed.
    """
    home = Path(folder) / name
    vertices = home / "out1_node_feature_label.txt"
    features, labels = _read_vertices(vertices)
    edges = read_geom_gcn_edges(home / "out1_graph_edges.txt", len(labels))
    with reading(vertices, REMEDY):
        graph = Graph.from_edges(
            edges, len(labels), features=features, labels=check_labels(labels), name=name
        )
    where = Path(folder) / "splits" if splits_folder is None else splits_folder
    splits = read_geom_gcn_splits(where, name, len(labels), must_exist=splits_folder is not None)
    return graph.replace(splits=splits)


def read_geom_gcn_splits(
    folder: AnyPath, name: str, n_vertices: int, *, must_exist: bool = True
) -> list[Split]:
    """Read ``NAME_split_0.6_0.2_I.npz`` for I = 0, 1, ... as long as there are such files.

    Despite their name they divide 48/32/20, and some leave vertices out.
    """
    splits: list[Split] = []
    path = Path(folder) / f"{name}_split_0.6_0.2_0.npz"
    if must_exist and not path.is_file():
        raise DataFileError(path, f"there is no such file. {REMEDY}")
    while path.is_file():
        masks = load_arrays(path, ["train_mask", "val_mask", "test_mask"], remedy=REMEDY)
        with reading(path, REMEDY):
            rows = [mask.astype(bool)[None] for mask in masks.values()]
            splits += splits_from_masks(rows, n_vertices)
        path = Path(folder) / f"{name}_split_0.6_0.2_{len(splits)}.npz"
    return splits


def _rows(path: Path, n_fields: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each line after the header."""
    with reading(path, REMEDY, (UnicodeDecodeError,)):
        lines = path.read_text(encoding="ascii").splitlines()
    if not lines or not lines[0].startswith("node_id"):
        raise DataFileError(path, f"must start with a header 'node_id'. {REMEDY}", line=1)
    for i, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != n_fields:
            problem = f"must have {n_fields} fields separated by tabs; got {len(fields)}. {REMEDY}"
            raise DataFileError(path, problem, line=i)
        yield i, fields


def _number(path: Path, line: int, word: str) -> int:
    digits = word.strip()
    if not digits.isdigit() or len(digits) > 9:
        problem = f"must be a whole number; got {word[:40]!r}. {REMEDY}"
        raise DataFileError(path, problem, line=line)
    return int(digits)


def _read_vertices(path: Path) -> tuple[sp.csr_array, np.ndarray]:
    rows: dict[int, np.ndarray] = {}
    labels: dict[int, int] = {}
    width = None
    for i, (vertex_word, feature_word, label_word) in _rows(path, 3):
        vertex = _number(path, i, vertex_word)
        if vertex in rows:
            raise DataFileError(path, f"vertex {vertex} must be listed once. {REMEDY}", line=i)
        try:
            rows[vertex] = np.array(feature_word.split(","), dtype=np.float32)
        except ValueError:
            problem = f"features must be numbers separated by commas. {REMEDY}"
            raise DataFileError(path, problem, line=i) from None
        width = len(rows[vertex]) if width is None else width
        if len(rows[vertex]) != width:
            problem = f"must have {width} features like the first vertex; got {len(rows[vertex])}"
            raise DataFileError(path, f"{problem}. {REMEDY}", line=i)
        labels[vertex] = _number(path, i, label_word)
    n = len(rows)
    if not n or set(rows) != set(range(n)):
        raise DataFileError(path, f"vertices must be numbered 0..n-1, each once. {REMEDY}")
    features = sp.csr_array(np.stack([rows[v] for v in range(n)]))
    return features, np.array([labels[v] for v in range(n)], dtype=np.int64)


def read_geom_gcn_edges(path: Path, n_vertices: int) -> np.ndarray:
    """Read ``out1_graph_edges.txt``: one link per line, from the first vertex to the second."""
    pairs = []
    for i, fields in _rows(path, 2):
        pair = [_number(path, i, field) for field in fields]
        if max(pair) >= n_vertices:
            problem = f"vertices must lie in 0..{n_vertices - 1}; got {max(pair)}. {REMEDY}"
            raise DataFileError(path, problem, line=i)
        pairs.append(pair)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)

"""One small graph, written in every format that the package reads."""

from __future__ import annotations

import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data import files
from graphfilter.data.graph import Graph
from graphfilter.splits import Split

N_KNOWN, N_TEST = 530, 10
N = N_KNOWN + N_TEST


def make_sample(n: int = N) -> Graph:
    """A graph with all that these formats can hold, large enough for Planetoid's 500 + 10."""
    rng = np.random.default_rng(0)
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    chords = rng.integers(0, n, (200 * n // N, 2))
    features = sp.csr_array(np.round(rng.random((n, 5)) * (rng.random((n, 5)) < 0.4), 2))
    split = Split(np.arange(9), np.arange(9, 20), np.arange(20, n), rule="fixed")
    edges = np.concatenate([ring, chords])
    return Graph.from_edges(
        edges, features=features, labels=np.arange(n) % 3, splits=[split], name="tiny"
    )


SAMPLE = make_sample()
LABELS = np.arange(N) % 3


def masks(graph: Graph) -> dict[str, np.ndarray]:
    part = graph.splits[0].part_of(graph.n_vertices)
    return {p: part == p for p in ("train", "val", "test")}


def write_npz(folder: Path, graph: Graph = SAMPLE) -> Path:
    files.write_npz(graph, folder / "tiny.npz")
    return folder / "tiny.npz"


def write_planetoid(folder: Path, graph: Graph = SAMPLE) -> Path:
    x, onehot = sp.csr_matrix(graph.features), np.eye(3, dtype=np.int32)[graph.labels]
    order = np.random.default_rng(1).permutation(np.arange(N_KNOWN, N))
    neighbours: dict[int, list[int]] = {v: [] for v in range(N)}
    for u, v in graph.edges.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    content = {
        "x": x[:9],
        "tx": x[order],
        "allx": x[:N_KNOWN],
        "y": onehot[:9],
        "ty": onehot[order],
        "ally": onehot[:N_KNOWN],
        "graph": neighbours,
    }
    for part, value in content.items():
        (folder / f"ind.tiny.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (folder / "ind.tiny.test.index").write_text("\n".join(map(str, order)) + "\n")
    return folder


def write_geom_gcn(folder: Path, graph: Graph = SAMPLE) -> Path:
    home = folder / "tiny"
    home.mkdir()
    (folder / "splits").mkdir()
    rows = [
        f"{v}\t{','.join(map(str, row))}\t{y}"
        for v, (row, y) in enumerate(zip(dense(graph), labels_of(graph), strict=True))
    ]
    lines = [f"{u}\t{v}" for u, v in graph.edges]
    header = "node_id\tfeature\tlabel\n"
    (home / "out1_node_feature_label.txt").write_text(header + "\n".join(rows) + "\n")
    (home / "out1_graph_edges.txt").write_text("node_id\tnode_id\n" + "\n".join(lines) + "\n")
    named = {f"{part}_mask": mask for part, mask in masks(graph).items()}
    np.savez(folder / "splits" / "tiny_split_0.6_0.2_0.npz", **named)  # pyright: ignore
    return folder


def write_heterophilous(folder: Path, graph: Graph = SAMPLE) -> Path:
    named = {f"{part}_masks": mask[None] for part, mask in masks(graph).items()}
    np.savez(
        folder / "tiny.npz",
        node_features=dense(graph),
        node_labels=labels_of(graph),
        edges=graph.edges,
        **named,  # pyright: ignore
    )
    return folder / "tiny.npz"


def write_gnn_benchmark(folder: Path, graph: Graph = SAMPLE) -> Path:
    parts = {}
    for kind, matrix in (("adj", graph.adjacency), ("attr", graph.features)):
        for part in ("data", "indices", "indptr", "shape"):
            parts[f"{kind}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(folder / "tiny.npz", labels=labels_of(graph), **parts)
    return folder / "tiny.npz"


def write_graphdata(folder: Path, graph: Graph = SAMPLE) -> Path:
    boxes = {}
    for key, matrix in (("adj_matrix", graph.adjacency), ("node_attr", graph.features)):
        boxes[key] = np.empty((), dtype=object)
        boxes[key][()] = sp.csr_matrix(matrix)
    np.savez(folder / "tiny.npz", node_label=labels_of(graph), **boxes)
    return folder / "tiny.npz"


def write_sgf(folder: Path, graph: Graph = SAMPLE) -> Path:
    joined = nx.Graph(graph.edges.tolist())
    split = graph.splits[0]
    parts = {
        "train": split.train.tolist(),
        "valid": split.val.tolist(),
        "test": split.test.tolist(),
    }
    content = {"graph": joined, "X": dense(graph), "y": graph.labels, "split": parts}
    for part, value in content.items():
        (folder / f"tiny.{part}").write_bytes(pickle.dumps(value, protocol=3))
    return folder


GRAPHLAND_INFO = """\
task: {task}
target_name: target
numerical_features_names: [f0, f1, f2, f3]
fraction_features_names: [f1]
categorical_features_names: [f4]
"""


def write_graphland(folder: Path, graph: Graph = SAMPLE, task: str = "regression") -> Path:
    """As GraphLand's archives are unpacked; vertex 3 has no target, and no f0."""
    import pandas as pd  # slow to import

    names, x = ["f0", "f1", "f2", "f3", "f4"], dense(graph)
    features = pd.DataFrame(x, columns=names)
    features["f4"] = (features["f4"] > 0).astype(int)
    features.loc[3, "f0"] = np.nan
    features.to_csv(folder / "features.csv", index_label="node_id")
    target = pd.Series(np.asarray(graph.labels, float), name="target")
    target[3] = np.nan
    target.to_csv(folder / "targets.csv", index_label="node_id")
    for rule in ("RL", "RH", "TH"):
        pd.DataFrame(masks(graph)).to_csv(folder / f"split_masks_{rule}.csv", index_label="node_id")
    edges = pd.DataFrame(graph.edges, columns=["source", "target"])
    edges.to_csv(folder / "edgelist.csv", index=False)
    (folder / "info.yaml").write_text(GRAPHLAND_INFO.format(task=task))
    return folder


def write_edge_list(folder: Path, graph: Graph = SAMPLE) -> Path:
    np.savetxt(folder / "tiny.edges", graph.edges, fmt="%d", header="u v")
    return folder / "tiny.edges"


def to_networkx(sample: Graph) -> nx.Graph:
    graph = nx.Graph()
    for v, (row, y) in enumerate(zip(dense(sample), labels_of(sample), strict=True)):
        graph.add_node(v, label=int(y), **{f"f{i}": float(value) for i, value in enumerate(row)})
    graph.add_edges_from(sample.edges.tolist())
    return graph


def write_graphml(folder: Path, graph: Graph = SAMPLE) -> Path:
    nx.write_graphml(to_networkx(graph), folder / "tiny.graphml")
    return folder / "tiny.graphml"


def write_gml(folder: Path, graph: Graph = SAMPLE) -> Path:
    lines = ["graph ["]
    for v, attributes in to_networkx(graph).nodes(data=True):
        words = " ".join(f"{key} {value}" for key, value in attributes.items())
        lines.append(f"  node [ id {v} {words} ]")
    lines += [f"  edge [ source {u} target {v} ]" for u, v in graph.edges]
    (folder / "tiny.gml").write_text("\n".join([*lines, "]", ""]))
    return folder / "tiny.gml"


def labels_of(graph: Graph) -> NDArray[np.int64]:
    assert graph.labels is not None
    return graph.labels


def dense(graph: Graph) -> np.ndarray:
    assert graph.features is not None
    return graph.features.toarray() if sp.issparse(graph.features) else graph.features


def assert_same_data(got: Graph, expected: Graph) -> None:
    np.testing.assert_array_equal(got.edges, expected.edges)
    np.testing.assert_array_equal(got.labels, expected.labels)
    assert sp.issparse(got.features)
    assert abs(got.features - expected.features).nnz == 0  # pyright: ignore


def assert_same_split(got: Split, expected: Split) -> None:
    assert got.rule == expected.rule
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(got, part), getattr(expected, part))


def dropping(*columns: str) -> list[str]:
    """Return the options of the command line that leave columns out."""
    return [word for name in columns for word in ("--column", f"{name}=drop")]

"""Each reader on the genuine files."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import (
    LABELS,
    SAMPLE,
    assert_same_data,
    assert_same_split,
    dense,
    write_graphland,
)

from graphfilter.data import read_npz
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.datasets import readers

PARTS = ("train", "val", "test")


def test_planetoid_equals_its_npz_twin(data_folder):
    for name in ("cora", "citeseer"):
        got = readers.read_planetoid(data_folder / "raw" / "planetoid", name)
        twin = read_npz(data_folder / f"{name}.npz")
        assert_same_data(got, twin)
        assert_same_split(got.splits[0], twin.splits[-1])
        assert [len(getattr(got.splits[0], part)) for part in PARTS[1:]] == [500, 1000]


def test_citeseer_says_which_vertices_have_no_label(data_folder):
    graph = readers.read_planetoid(data_folder / "raw" / "planetoid", "citeseer")
    unlabelled = np.flatnonzero(graph.labels == -1)
    assert len(unlabelled) == 15
    assert not dense(graph)[unlabelled].any()
    assert graph.degrees[unlabelled].any()
    assert any("15 vertices without a label" in note for note in graph.notes)
    twin = read_npz(data_folder / "citeseer.npz")
    assert any("taken out of 10 fixed splits" in note for note in twin.notes)
    for split in twin.splits:
        for part in PARTS:
            assert not np.isin(getattr(split, part), unlabelled).any()


@pytest.mark.parametrize(
    ("raw", "name"),
    [("texas", "texas"), ("wisconsin", "wisconsin"), ("cornell", "cornell_geomgcn")],
)
def test_geom_gcn_equals_its_npz_twin(data_folder, raw, name):
    got = readers.read_geom_gcn(data_folder / "raw" / "geom-gcn", raw)
    twin = read_npz(data_folder / f"{name}.npz")
    assert_same_data(got, twin)
    assert len(got.splits) == (raw == "wisconsin")
    for split in got.splits:
        assert_same_split(split, twin.splits[0])


def test_geom_gcn_splits_equal_those_of_the_npz_twin(data_folder):
    folder = data_folder / "raw" / "geom-gcn" / "splits"
    [split] = readers.read_geom_gcn_splits(folder, "cora", 2708)
    assert_same_split(split, read_npz(data_folder / "cora.npz").splits[0])
    with pytest.raises(DataFileError, match="one column per vertex"):
        readers.read_geom_gcn_splits(folder, "cora", 2707)
    with pytest.raises(DataFileError, match="no such file"):
        readers.read_geom_gcn_splits(folder, "nowhere", 2708)


@pytest.mark.parametrize("name", ["wisconsin", "chameleon_filtered"])
def test_heterophilous_equals_its_npz_twin(data_folder, name):
    got = readers.read_heterophilous(data_folder / "raw" / "heterophilous-graphs" / f"{name}.npz")
    twin = read_npz(data_folder / f"{name}.npz")
    assert_same_data(got, twin)
    assert len(got.splits) == len(twin.splits) == 10
    for a, b in zip(got.splits, twin.splits, strict=True):
        assert_same_split(a, b)


def test_graphdata_equals_its_npz_twin(data_folder):
    got = readers.read_graphdata(data_folder / "raw" / "graphdata" / "amazon_photo.npz")
    twin = read_npz(data_folder / "photo.npz")
    assert_same_data(got, twin)
    assert [split.rule for split in twin.splits] == ["sgf"]
    with np.load(data_folder / "photo.npz") as arrays:
        lcc = twin.subgraph(arrays["lcc"])
    np.testing.assert_array_equal(twin.largest_component().edges, lcc.edges)


def test_sgf_equals_its_npz_twin(data_folder):
    got = readers.read_sgf(data_folder / "raw" / "sgf", "bipartite")
    twin = read_npz(data_folder / "bipartite.npz")
    assert_same_data(got, twin)
    assert_same_split(got.splits[0], twin.splits[0])


def test_gnn_benchmark_is_cora_under_other_numbers(data_folder):
    got = readers.read_gnn_benchmark(data_folder / "raw" / "gnn-benchmark" / "cora.npz")
    cora = read_npz(data_folder / "cora.npz")

    def signature(graph: Graph) -> list[list[float]]:
        """Per vertex: degree, words, size of the class and sum of the neighbours' degrees."""
        assert graph.labels is not None
        sizes = np.bincount(graph.labels)[graph.labels]
        around = graph.adjacency @ graph.degrees
        columns = [graph.degrees, dense(graph).sum(axis=1), sizes, around]
        return sorted(np.stack(columns, axis=1).tolist())

    assert signature(got) == signature(cora)
    assert "Neural_Networks" in got.classes
    assert got.vertex_names is not None
    assert len(set(got.vertex_names)) == 2708


def test_graphland_is_what_pyg_reads(tmp_path):
    """Edges, parts and targets are PyTorch Geometric's; features are encoded as a table's."""
    pytest.importorskip("yaml")
    datasets = pytest.importorskip("torch_geometric.datasets")
    home = tmp_path / "tolokers-2" / "raw" / "tolokers-2"
    home.mkdir(parents=True)
    write_graphland(home)
    given = {"numerical_features_transform": None, "regression_targets_transform": None}
    (theirs,) = datasets.GraphLandDataset(str(tmp_path), "tolokers-2", "RL", **given)
    graph = readers.read_graphland(home)
    assert graph.labels is None
    both = np.unique(np.sort(theirs.edge_index.numpy().T, axis=1), axis=0)
    np.testing.assert_array_equal(np.unique(np.sort(graph.edges, axis=1), axis=0), both)
    for part in PARTS:
        mask = theirs[f"{part}_mask"].numpy()
        np.testing.assert_array_equal(getattr(graph.splits[0], part), np.flatnonzero(mask))
    np.testing.assert_array_equal(readers.read_graphland_numbers(home), theirs.y.numpy())
    assert graph.feature_names is not None
    column = list(graph.feature_names).index("f1")
    np.testing.assert_allclose(dense(graph)[:, column], dense(SAMPLE)[:, 1], rtol=1e-6)


def test_graphland_has_classes_as_labels_and_says_what_is_wrong(tmp_path):
    pytest.importorskip("yaml")
    home = write_graphland(tmp_path, task="multiclass_classification")
    graph = readers.read_graphland(home, "TH", directed=True)
    assert graph.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(graph.labels, np.where(np.arange(len(LABELS)) == 3, -1, LABELS))
    assert not any(np.isin(3, getattr(graph.splits[0], part)) for part in PARTS)
    assert graph.arcs is not None
    with pytest.raises(ConfigError, match="unknown split of GraphLand 'THI'"):
        readers.read_graphland(home, "THI")
    for file, content in (
        ("targets.csv", "node_id,target\n0,1\n"), ("info.yaml", "task: [\n"), ("info.yaml", "a"),
        ("edgelist.csv", "one\n1\n"), ("features.csv", ""), ("split_masks_RL.csv", "a,b\n1,2\n"),
    ):  # fmt: skip
        kept = (home / file).read_bytes()
        (home / file).write_text(content)
        with pytest.raises(DataFileError) as caught:
            readers.read_graphland(home)
        assert str(caught.value).startswith(str(home / file))
        (home / file).write_bytes(kept)
    (home / "features.csv").unlink()
    with pytest.raises(DataFileError, match="there is no such file"):
        readers.read_graphland(home)

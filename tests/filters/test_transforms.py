"""Label frequencies of a PyTorch Geometric Data, against those of the Graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import graphfilter as gf
from graphfilter import pyg as gfp
from graphfilter.spectral import label_frequency
from graphfilter.util.errors import GraphError

torch_geometric = pytest.importorskip("torch_geometric")

KARATE = gf.load_dataset("karate")


def karate(**more: Any) -> Any:
    edges = torch.from_numpy(KARATE.edges.astype(np.int64).T.copy())
    assert KARATE.labels is not None
    return torch_geometric.data.Data(
        edge_index=torch.cat([edges, edges.flip(0)], 1),
        y=torch.tensor(KARATE.labels),
        num_nodes=34,
        **more,
    )


def test_frequencies_are_those_of_the_graph() -> None:
    data = karate()
    made = gfp.AddLabelFrequency()(data)
    np.testing.assert_allclose(made.label_frequency, label_frequency(KARATE), rtol=1e-6)
    assert "label_frequency" not in data


def test_transform_runs_among_others() -> None:
    compose = torch_geometric.transforms.Compose
    steps = [torch_geometric.transforms.ToUndirected(), gfp.AddLabelFrequency(name="frequency")]
    assert compose(steps)(karate()).frequency.shape == (2,)
    assert repr(steps[1]) == "AddLabelFrequency(mask='train_mask', name='frequency')"


def test_only_the_labels_for_training_are_looked_at() -> None:
    mask = torch.arange(34) % 2 == 0
    data = karate(train_mask=mask)
    expected = gfp.AddLabelFrequency()(data).label_frequency
    data.y = torch.where(mask, data.y, 1 - data.y)
    torch.testing.assert_close(gfp.AddLabelFrequency()(data).label_frequency, expected)
    assert gfp.diagnose(data).n_labelled == 17
    assert gfp.diagnose(data, mask=None).n_labelled == 34


def test_class_that_is_not_seen_has_no_frequency() -> None:
    data = karate()
    data.y = torch.where(data.y == 1, 2, 0)
    found = gfp.AddLabelFrequency()(data).label_frequency
    assert found.isnan().tolist() == [False, True, False]


def test_labels_may_be_unknown() -> None:
    for unknown, dtype in ((-1, torch.long), (torch.nan, torch.float32)):
        data = karate()
        data.y = data.y.to(dtype)
        data.y[:4] = unknown
        found = gfp.AddLabelFrequency()(data).label_frequency
        assert found.shape == (2,)
        assert found.isfinite().all()
        assert gfp.diagnose(data).n_labelled == 30


def test_classes_below_zero_are_refused() -> None:
    data = karate()
    data.y = 2 * data.y - 1
    with pytest.raises(GraphError, match="numbered from 0"):
        gfp.AddLabelFrequency()(data)


def test_diagnosis_is_that_of_the_graph() -> None:
    found, expected = gfp.diagnose(karate(), mask=None), gf.spectral.diagnose(KARATE)
    assert found.advice == expected.advice
    assert found.edge_homophily == expected.edge_homophily


# torch's own, of every CSR tensor that PyTorch Geometric makes.
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_sparse_adjacency_is_read_too() -> None:
    made = torch_geometric.transforms.ToSparseTensor()(karate())
    assert made.edge_index is None
    assert gfp.diagnose(made).n_edges == KARATE.n_edges


@pytest.mark.parametrize(
    ("change", "mask", "message"),
    [
        ({"y": None}, None, "a y of one class per vertex"),
        ({"y": torch.zeros(34, 3)}, None, "a y of one class per vertex"),
        ({"edge_index": None}, None, "edge_index or an adj_t"),
        ({}, "other_mask", "'other_mask'"),
        ({"train_mask": torch.ones(34, 10, dtype=torch.bool)}, "train_mask", r"\[:, 0\]"),
    ],
)
def test_data_without_what_is_needed_is_refused(change: Any, mask: Any, message: str) -> None:
    data = karate()
    for name, value in change.items():
        data[name] = value
    with pytest.raises(GraphError, match=message):
        gfp.diagnose(data, mask)

"""Embeddings: the filtered hidden layer, in Python and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphfilter import SGFClassifier, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.util.errors import ConfigError

QUICK: Any = {"max_epochs": 15, "random_state": 0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=60, frequency=0.3, mean_degree=6, n_features=4, seed=2)


def test_embedding_is_what_the_head_reads(graph: Graph) -> None:
    clf = SGFClassifier(hidden_size=8, **QUICK).fit(graph=graph)
    embedding = clf.transform()
    assert embedding.shape == (60, 8)
    network = clf.members_[0]
    assert isinstance(network, FilterNetwork)
    with torch.no_grad():
        logits = network.head(torch.from_numpy(embedding)).double()
    np.testing.assert_allclose(logits.softmax(1).numpy(), clf.predict_proba(), atol=1e-5)


def test_embedding_of_members_stands_side_by_side(graph: Graph) -> None:
    clf = SGFClassifier(hidden_size=8, n_members=3, **QUICK).fit(graph=graph)
    embedding = clf.transform()
    assert embedding.shape == (60, 24)
    each = [
        m.embed(clf.prepared_.operator(clf.filter_operator), clf.prepared_.x) for m in clf.members_
    ]
    mean = np.mean([(e @ e.T).detach().numpy() for e in each], axis=0)
    np.testing.assert_allclose(embedding @ embedding.T, mean, rtol=1e-4, atol=1e-5)


def test_embedding_without_an_encoder_is_of_the_features(graph: Graph) -> None:
    clf = SystemClassifier(model="sgc", **QUICK).fit(graph=graph)
    assert clf.transform().shape == (60, 4)


@pytest.mark.research
def test_network_without_a_filter_has_no_embedding(graph: Graph) -> None:
    clf = SystemClassifier(model="gcn", **QUICK).fit(graph=graph)
    with pytest.raises(ConfigError, match="this model has none"):
        clf.transform()


def test_new_graphs_and_bound_estimators_are_embedded(graph: Graph) -> None:
    new = make_csbm(n_vertices=30, frequency=0.3, mean_degree=6, n_features=4, seed=5)
    clf = SGFClassifier(**QUICK).fit(graph=graph)
    assert clf.transform(graph=new).shape == (30, 64)
    bound = SGFClassifier(graph=graph, **QUICK).fit(np.arange(60), graph.labels)
    np.testing.assert_array_equal(bound.transform([3, 1]), bound.transform()[[3, 1]])

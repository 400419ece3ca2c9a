"""X and y as callers hold them: tensors with gradients, masked arrays, numbers beyond floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphfilter import SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.errors import GraphError

GRAPH = make_csbm(20, n_features=2)
X, Y = np.asarray(GRAPH.features), np.asarray(GRAPH.labels)
OPTIONS: dict[str, Any] = {"n_layers": 2, "hidden_size": 4, "max_epochs": 2, "random_state": 0}


def n_known(model: SGFClassifier | SGFRegressor) -> int:
    return len(model.split_.train) + len(model.split_.val)


def test_tensor_with_a_gradient_is_taken_as_its_numbers() -> None:
    x = torch.tensor(X, requires_grad=True)
    found = SGFClassifier(**OPTIONS).fit(x, Y, graph=GRAPH.edges).predict_proba()
    expected = SGFClassifier(**OPTIONS).fit(X, Y, graph=GRAPH.edges).predict_proba()
    np.testing.assert_array_equal(found, expected)
    y = torch.arange(20.0, requires_grad=True)
    assert n_known(SGFRegressor(**OPTIONS).fit(X, y, graph=GRAPH.edges)) == 20


@pytest.mark.parametrize("dtype", [int, float])
def test_masked_labels_are_unknown(dtype: type) -> None:
    y = np.ma.array(Y.astype(dtype), mask=[True] * 5 + [False] * 15)
    model = SGFClassifier(**OPTIONS).fit(X, y, graph=GRAPH.edges)
    assert n_known(model) == 15
    assert len(model.classes_) == 2


def test_masked_numbers_are_unknown() -> None:
    y = np.ma.array(np.arange(20.0), mask=[True] * 5 + [False] * 15)
    assert n_known(SGFRegressor(**OPTIONS).fit(X, y, graph=GRAPH.edges)) == 15


def test_masked_features_are_refused() -> None:
    x = np.ma.masked_less(X, X.min() + 1e-6)
    with pytest.raises(GraphError, match="1 are masked"):
        SGFClassifier(**OPTIONS).fit(x, Y, graph=GRAPH.edges)


def test_numbers_beyond_any_float_are_refused() -> None:
    with pytest.raises(GraphError, match="X must hold numbers that a float"):
        SGFClassifier(**OPTIONS).fit([[10**400, 1]] * 20, Y, graph=GRAPH.edges)
    with pytest.raises(GraphError, match="y must hold numbers that a float"):
        SGFRegressor(**OPTIONS).fit(X, [10**400] * 20, graph=GRAPH.edges)

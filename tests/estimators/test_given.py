"""X and y as callers hold them: tensors with gradients, masked arrays, numbers beyond floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from graphfilter import GraphRegressor, SGFClassifier, SGFRegressor, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.util.errors import ConfigError, GraphError

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


@pytest.mark.parametrize(
    ("kind", "y"),
    [(SGFClassifier, Y), (SGFClassifier, Y.astype(float)), (SGFRegressor, np.arange(20.0))],
)
def test_masked_labels_and_numbers_are_unknown(kind: Any, y: np.ndarray) -> None:
    masked = np.ma.array(y, mask=[True] * 5 + [False] * 15)
    model = kind(**OPTIONS).fit(X, masked, graph=GRAPH.edges)
    assert n_known(model) == 15
    assert len(model.target_names_) == (2 if kind is SGFClassifier else 1)


def test_masked_features_are_refused() -> None:
    x = np.ma.masked_less(X, X.min() + 1e-6)
    with pytest.raises(GraphError, match="1 are masked"):
        SGFClassifier(**OPTIONS).fit(x, Y, graph=GRAPH.edges)


def test_numbers_beyond_any_float_are_refused() -> None:
    with pytest.raises(GraphError, match="X must hold numbers that a float"):
        SGFClassifier(**OPTIONS).fit([[10**400, 1]] * 20, Y, graph=GRAPH.edges)
    with pytest.raises(GraphError, match="y must hold numbers that a float"):
        SGFRegressor(**OPTIONS).fit(X, [10**400] * 20, graph=GRAPH.edges)


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        (np.where(np.eye(20, 2) > 0, np.nan, X), "contains NaN"),
        (X + 1j, "X must be real numbers; Complex data not supported"),
        (X[:, 0], "Reshape your data"),
        ([[1.0, 2.0]] * 19 + [[1.0]], "inhomogeneous"),
        (np.array([["a", "b"]] * 20), "could not convert string"),
        (np.zeros((20, 2), dtype="M8[D]"), "X must be real numbers; got datetime64"),
        (np.zeros((20, 2), dtype="m8[s]"), "X must be real numbers; got timedelta64"),
        (torch.tensor(X).bfloat16(), "numpy has; got torch.strided of torch.bfloat16"),
        (pd.DataFrame(X, columns=["a", "a"]), "X must name each column once"),
        (pd.DataFrame({"a": ["\ud800"] * 20}, dtype=object), "text that UTF-8 can write"),
    ],
)
def test_features_that_are_no_numbers_are_one_line(x: Any, problem: str) -> None:
    with pytest.raises(GraphError, match=problem) as found:
        SGFClassifier(**OPTIONS).fit(x, Y, graph=GRAPH.edges)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("estimator", "y", "problem"),
    [
        (SGFClassifier, np.linspace(0.5, 1, 20), "Unknown label type: continuous.* one class per"),
        (SGFClassifier, np.zeros((20, 2, 2)), "dim 3.* one class per"),
        (SGFRegressor, np.arange(20) + 1j, "y must be real numbers"),
        (SGFRegressor, np.arange(20).astype("M8[D]"), "y must be real numbers; got datetime64"),
        (SGFRegressor, [[1.0]] * 19 + [[1.0, 2.0]], "inhomogeneous.* numbers, one per vertex"),
    ],
)
def test_targets_that_cannot_be_learned_are_one_line(estimator: Any, y: Any, problem: str) -> None:
    with pytest.raises(GraphError, match=problem) as found:
        estimator(**OPTIONS).fit(X, y, graph=GRAPH.edges)
    assert "\n" not in str(found.value)


def test_vertices_that_are_masked_are_refused() -> None:
    train = np.ma.masked_array(np.arange(8), mask=[True] + [False] * 7)
    with pytest.raises(GraphError, match="must not be masked; 1 are"):
        SGFClassifier(**OPTIONS).fit(X, Y, graph=GRAPH.edges, split=(train, [9, 10], []))
    bound = SGFClassifier(graph=GRAPH, **OPTIONS).fit(np.arange(20), Y)
    with pytest.raises(GraphError, match="must not be masked; 1 are"):
        bound.predict(train)


def test_model_that_no_system_is_made_of_is_refused() -> None:
    for model in (None, 5):
        with pytest.raises(ConfigError, match=r"must be a system.*got (NoneType|int)"):
            SystemClassifier(model=model).fit(X, Y, graph=GRAPH.edges)


def test_sparse_features_without_an_entry_are_learned_from_as_zeros() -> None:
    """Of no entries dropout draws no numbers, which compiled code once took for no dropout."""
    options = OPTIONS | {"hidden_size": 16, "dropout": 0.5}
    for x in (sp.csr_array((20, 3)), np.zeros((20, 3))):
        found = SGFClassifier(**options).fit(x, Y, graph=GRAPH.edges).predict_proba()
        assert np.isfinite(found).all()


@pytest.mark.parametrize("scale", [None, 5])
def test_scale_that_is_no_name_is_refused(scale: Any) -> None:
    with pytest.raises(ConfigError, match="unknown scale"):
        GraphRegressor(scale=scale).fit(X, Y, graph=GRAPH.edges)

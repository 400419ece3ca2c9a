"""Feature scaling against scikit-learn's, and the tensors networks take."""

# Tests know which attributes of a graph they have set.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, normalize

from graphfilter.data.graph import Graph
from graphfilter.models.scaling import SCALINGS, FeatureScaler, deviation_of
from graphfilter.operators.sparse import DENSE_ABOVE, SparseFeatures, to_tensor
from graphfilter.util.errors import ConfigError, GraphError

tables = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    # Eighths: scikit-learn takes the smallest floats for zero.
    elements=st.integers(-800, 800).map(lambda i: i / 8),
)


def make_sparse(seed: int = 0, scale: float = 5.0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(30, 80)) * scale * (rng.random((30, 80)) < 0.2)
    return sp.csr_array(dense.astype(np.float32))


@pytest.mark.parametrize("scaling", ["standardise", "auto"])
def test_dense_scaling_equals_standard_scaler(scaling: str) -> None:
    rng = np.random.default_rng(0)
    fitted, new = (rng.normal(3, 2, size=(n, 5)).astype(np.float32) for n in (40, 7))
    ours = FeatureScaler.fit(fitted, scaling)
    theirs = StandardScaler().fit(fitted)
    for rows in (fitted, new):
        got = ours.transform(rows)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, theirs.transform(rows), rtol=1e-5, atol=1e-6)


def test_standardise_makes_sparse_features_dense_alike() -> None:
    matrix = make_sparse()
    got = FeatureScaler.fit(matrix, "standardise").transform(matrix)
    expected = StandardScaler().fit_transform(matrix.toarray())
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 64])
def test_standardise_in_blocks_has_the_bits_of_numpy(width: int) -> None:
    rng = np.random.default_rng(width)
    table = (rng.standard_normal((1000, width)) * rng.lognormal(0, 5, width)).astype(np.float32)
    mean, deviation = (f(axis=0, dtype=np.float64) for f in (table.mean, table.std))
    assert np.array_equal(deviation_of(table, mean, at_once=7 * width), deviation)
    scaler = FeatureScaler.fit(table, "standardise")
    assert scaler.scale is not None
    assert np.array_equal(scaler.scale, deviation.astype(np.float32))


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e6, 3e38])
def test_standardise_maps_a_constant_column_to_zero(value: float) -> None:
    column = np.full((1000, 1), value, dtype=np.float32)
    scaled = FeatureScaler.fit(column, "standardise").transform(column)
    np.testing.assert_array_equal(scaled, np.zeros_like(column))


def test_standardise_leaves_the_scale_of_rounding_noise_alone() -> None:
    column = np.float32(0.1) + np.float32(1e-8) * np.arange(10, dtype=np.float32)[:, None]
    assert 0 < np.ptp(column) < 1e-6
    scaled = FeatureScaler.fit(column, "standardise").transform(column)
    assert np.abs(scaled).max() < 1e-6


@given(tables)
def test_row_scaling_equals_l1_normalisation(table: NDArray[np.float32]) -> None:
    expected = normalize(table.astype(float), norm="l1")
    scaler = FeatureScaler.fit(table, "row")
    np.testing.assert_allclose(scaler.transform(table), expected, rtol=1e-5, atol=1e-7)
    sparse = scaler.transform(sp.csr_array(table))
    assert isinstance(sparse, sp.csr_array)
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("value", [3e38, 1e-42])
def test_row_scaling_holds_at_the_ends_of_float32(value: float) -> None:
    row = np.full((1, 4), value, dtype=np.float32)
    for features in (row, sp.csr_array(row)):
        scaled = FeatureScaler("row").transform(features)
        np.testing.assert_allclose(scaled.sum(), 1, rtol=1e-6)
        assert scaled.dtype == np.float32


def test_auto_divides_sparse_columns_beyond_one_as_max_abs_scaler() -> None:
    matrix = make_sparse()
    assert (abs(matrix).max(axis=0).toarray() > 1).all()
    scaler = FeatureScaler.fit(matrix)
    theirs = MaxAbsScaler().fit(matrix)
    for rows in (matrix, make_sparse(seed=1)):
        got = scaler.transform(rows)
        assert isinstance(got, sp.csr_array)
        assert got.dtype == np.float32
        assert got.nnz == rows.nnz
        np.testing.assert_allclose(got.toarray(), theirs.transform(rows).toarray(), rtol=1e-6)
        np.testing.assert_allclose(scaler.transform(rows.toarray()), got.toarray(), rtol=1e-6)


def test_auto_standardises_a_table_that_is_stored_as_sparse() -> None:
    """Few columns, of which many entries are filled, are no bag of words."""
    table = sp.csr_array(make_sparse()[:, :8])
    scaled = FeatureScaler.fit(table).transform(table)
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(table.toarray()), atol=1e-5)
    words = sp.csr_array(np.eye(40, 30, dtype=np.float32))
    np.testing.assert_array_equal(
        FeatureScaler.fit(words).transform(words).toarray(), words.toarray()
    )


def test_auto_leaves_bags_of_words_alone() -> None:
    matrix = make_sparse(scale=0.05)
    words = sp.csr_array(matrix.astype(bool).astype(np.float32))
    for bag in (matrix, words):
        scaled = FeatureScaler.fit(bag).transform(bag)
        np.testing.assert_array_equal(scaled.toarray(), bag.toarray())


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_transform_leaves_the_features_of_a_graph_alone(scaling: str, form: str) -> None:
    table = make_sparse() if form == "sparse" else make_sparse().toarray()
    graph = Graph.from_edges([[0, 1]], features=table)
    before = graph.features.copy()
    FeatureScaler.fit(graph.features, scaling).transform(graph.features)
    assert (abs(graph.features - before)).sum() == 0


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_transform_refuses_another_width(form: str) -> None:
    table = make_sparse() if form == "sparse" else make_sparse().toarray()
    with pytest.raises(GraphError, match="must have 80 columns, as when fitted; got 5"):
        FeatureScaler.fit(table).transform(table[:, :5])


def test_scaler_refuses_an_unknown_scaling() -> None:
    with pytest.raises(ConfigError, match="did you mean 'standardise'"):
        FeatureScaler.fit(np.eye(2), "standardize")


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaler_arrays_restore_it(scaling: str) -> None:
    table = make_sparse().toarray()
    fitted = FeatureScaler.fit(table, scaling)
    restored = FeatureScaler(scaling, **fitted.to_arrays())
    np.testing.assert_array_equal(restored.transform(table), fitted.transform(table))


def test_to_tensor_keeps_sparse_what_is_sparse_enough() -> None:
    matrix = sp.csr_array(make_sparse(scale=1))
    assert matrix.nnz <= DENSE_ABOVE * 2400
    x = to_tensor(matrix, dtype=torch.float64)
    assert isinstance(x, SparseFeatures)
    identity = torch.eye(80, dtype=torch.float64)
    np.testing.assert_array_equal(x.project(identity).numpy(), matrix.toarray())


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_to_tensor_copies_a_dense_table(form: str) -> None:
    table = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    graph = Graph.from_edges([[0, 1]], features=sp.csr_array(table) if form == "sparse" else table)
    x = to_tensor(graph.features, dtype=torch.float64)
    assert isinstance(x, torch.Tensor)
    assert x.dtype == torch.float64
    np.testing.assert_array_equal(x.numpy(), table)
    x.zero_()
    assert abs(graph.features).sum() == 21

"""A cached operator is that of the tensors at hand, whatever happened to them."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pytest
import torch
from tests.filters.test_filters import FakeSparseTensor
from torch import Tensor

from graphfilter.filters.pyg import OperatorCache
from graphfilter.operators import Operator
from graphfilter.pyg import (
    ChebyshevFilterConv,
    PageRankFilterConv,
    StackedFilterConv,
    prepare_operator,
)
from graphfilter.util.errors import GraphError

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


def cached_operator(conv: StackedFilterConv, *graph: Any, x: Tensor = X) -> Operator:
    """Return the operator that a call used; the call must give what it does without a cache."""
    fresh = copy.deepcopy(conv)
    fresh.cached = False
    torch.testing.assert_close(conv(x, *graph), fresh(x, *graph), rtol=0, atol=0)
    return conv.prepare(x, *graph)


@pytest.fixture
def conv() -> StackedFilterConv:
    return StackedFilterConv(n_layers=3, cached=True)


def test_cache_keeps_the_operator_of_unchanged_tensors(conv: StackedFilterConv) -> None:
    weights = torch.ones(4) * 2
    first = cached_operator(conv, PATH, weights)
    assert cached_operator(conv, PATH, weights) is first


def test_without_cached_every_call_prepares_its_own() -> None:
    conv = StackedFilterConv(n_layers=3)
    assert conv.prepare(X, PATH) is not conv.prepare(X, PATH)


def test_cache_notices_a_write_to_the_edges(conv: StackedFilterConv) -> None:
    edges = PATH.clone()
    first = cached_operator(conv, edges)
    edges[:, 2:] = torch.tensor([[0, 2], [2, 0]])
    assert cached_operator(conv, edges) is not first


def test_cache_notices_a_write_to_the_weights_through_a_view(conv: StackedFilterConv) -> None:
    weights = torch.ones(4)
    first = cached_operator(conv, PATH, weights)
    weights[:2].mul_(3)
    assert cached_operator(conv, PATH, weights) is not first


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_cache_notices_a_write_to_the_values_of_a_sparse_tensor(
    conv: StackedFilterConv, layout: torch.layout
) -> None:
    adjacency = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]).to_sparse(layout=layout)
    first = cached_operator(conv, adjacency)
    assert cached_operator(conv, adjacency) is first
    adjacency.values()[:2].mul_(2)
    assert cached_operator(conv, adjacency) is not first


def test_cache_notices_other_weights_or_none(conv: StackedFilterConv) -> None:
    weights = torch.ones(4) * 2
    with_weights = cached_operator(conv, PATH, weights)
    assert cached_operator(conv, PATH, weights.clone()) is not with_weights
    assert cached_operator(conv, PATH) is not with_weights


def test_cache_notices_another_number_of_vertices(conv: StackedFilterConv) -> None:
    first = cached_operator(conv, PATH)
    larger = cached_operator(conv, PATH, x=torch.randn(5, 4))
    assert (first.n, larger.n) == (3, 5)


def test_cache_is_not_taken_in_by_a_freed_tensor_at_the_same_address(
    conv: StackedFilterConv,
) -> None:
    """Its address, shape and count of writes are those of the freed one; its edges are not."""
    memory = torch.empty(8, dtype=torch.long)

    def edges_in_memory(values: Tensor) -> Tensor:
        made = torch.from_numpy(memory.numpy().reshape(2, 4))
        made.numpy()[:] = values.numpy()
        return made

    first = edges_in_memory(PATH)
    address, version = first.data_ptr(), first._version
    cached_operator(conv, first)
    del first
    gc.collect()
    second = edges_in_memory(torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]]))
    assert (second.data_ptr(), second._version) == (address, version)
    cached_operator(conv, second)


def test_cache_does_not_keep_a_graph_alive(conv: StackedFilterConv) -> None:
    import weakref

    edges = PATH.clone()
    conv(X, edges)
    watch = weakref.ref(edges)
    del edges
    gc.collect()
    assert watch() is None


def test_cache_follows_the_precision_of_x(conv: StackedFilterConv) -> None:
    single = cached_operator(conv, PATH)
    conv.double()
    double = cached_operator(conv, PATH, x=X.double())
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    assert cached_operator(conv, PATH, x=X.double()) is double


def test_cache_keeps_nothing_of_inference_tensors(conv: StackedFilterConv) -> None:
    """Writes to them are not counted."""
    with torch.inference_mode():
        edges = PATH.clone()
        first = cached_operator(conv, edges)
        edges[:, 2:] = torch.tensor([[0, 2], [2, 0]])
        assert cached_operator(conv, edges) is not first


def test_cache_notices_a_write_in_inference_mode(conv: StackedFilterConv) -> None:
    weights = torch.ones(4)
    first = cached_operator(conv, PATH, weights)
    with torch.inference_mode():
        weights.mul_(torch.tensor([3.0, 3.0, 1.0, 1.0]))
    assert cached_operator(conv, PATH, weights) is not first


def test_cache_notices_other_data_under_the_same_tensor(conv: StackedFilterConv) -> None:
    edges = PATH.clone()
    first = cached_operator(conv, edges)
    edges.data = torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]])
    assert cached_operator(conv, edges) is not first


def test_cache_notices_another_kind_of_operator(conv: StackedFilterConv) -> None:
    cached_operator(conv, PATH)
    conv.operator = "laplacian"
    assert cached_operator(conv, PATH).kind == "laplacian"


def test_cached_weights_that_are_to_be_learned_are_refused(conv: StackedFilterConv) -> None:
    """Before and after they are cached: their gradient would silently be missing."""
    weights = torch.ones(4)
    conv(X, PATH, weights)
    weights.requires_grad_()
    with pytest.raises(GraphError, match="must not require a gradient"):
        conv(X, PATH, weights)
    with torch.no_grad():
        conv(X, PATH, weights)
    with pytest.raises(GraphError, match="must not require a gradient"):
        conv(X, PATH, weights)


def test_cached_layer_refuses_what_is_no_graph(conv: StackedFilterConv) -> None:
    with pytest.raises(GraphError, match="got list"):
        conv(X, [[0], [1]])


def test_cache_takes_a_sparse_tensor_by_its_parts(conv: StackedFilterConv) -> None:
    adjacency: Any = FakeSparseTensor(PATH, None, 3)
    first = cached_operator(conv, adjacency)
    assert cached_operator(conv, adjacency) is first
    adjacency.parts = (*adjacency.parts[:2], torch.ones(4) * 2)
    assert cached_operator(conv, adjacency) is not first


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_of_a_layer_start_with_an_empty_cache(copier: Any, conv: StackedFilterConv) -> None:
    y = conv(X, PATH)
    copied = copier(conv)
    assert copied._cache._entry is None
    torch.testing.assert_close(copied(X, PATH), y)


def test_reset_forgets_the_operator() -> None:
    conv = PageRankFilterConv(cached=True)
    conv(X, PATH)
    conv.reset_parameters()
    assert conv._cache._entry is None


def test_explicit_operator_is_used_as_it_is() -> None:
    conv = StackedFilterConv(n_layers=3)
    operator = conv.prepare(X, PATH)
    assert conv.prepare(X, operator) is operator
    torch.testing.assert_close(conv(X, operator), conv(X, PATH))


def test_explicit_operator_of_another_kind_is_refused() -> None:
    operator = prepare_operator(PATH)
    with pytest.raises(GraphError, match="operator='laplacian'"):
        ChebyshevFilterConv(4, 2)(X, operator)
    with pytest.raises(GraphError, match="has its weights"):
        StackedFilterConv(4, 2)(X, operator, torch.ones(4))


def test_empty_cache_of_a_pickled_one_is_new() -> None:
    assert isinstance(copy.copy(OperatorCache()), OperatorCache)

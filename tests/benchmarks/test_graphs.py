from __future__ import annotations

import pytest
import torch
from torch import Tensor

import graphs
from graphfilter.util.errors import GraphFilterError

SHAPES = [(1, 2), (3, 2), (7, 10), (5, 100), (97, 1234), (64, 4096), (500, 4098)]
DEGREES = ("uniform", "power-law", "communities")


def dense(graph: graphs.RandomGraph) -> Tensor:
    rows = graphs.row_of_entries(graph.offsets, graph.offsets.diff()).long()
    ones = torch.ones(graph.n_entries, dtype=torch.float64)
    made = torch.zeros(graph.n, graph.n, dtype=torch.float64)
    return made.index_put_((rows, graph.columns.long()), ones, accumulate=True)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize(("n", "n_entries"), SHAPES)
def test_random_graph_is_symmetric_with_the_entries_asked_for(
    n: int, n_entries: int, degrees: graphs.Degrees
) -> None:
    graph = graphs.make_graph(n, n_entries, degrees, seed=3)
    matrix = dense(graph)
    assert torch.equal(matrix, matrix.T)
    assert graph.n == n
    assert matrix.sum() == graph.n_entries == n_entries
    assert graph.offsets.dtype == torch.int64
    assert graph.columns.dtype == torch.int32


def test_chunks_do_not_change_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = graphs.make_graph(97, 1234, "power-law", seed=1)
    monkeypatch.setattr(graphs, "CHUNK", 100)
    cut = graphs.make_graph(97, 1234, "power-law", seed=1)
    assert torch.equal(whole.offsets, cut.offsets)
    assert torch.equal(whole.columns, cut.columns)


def test_communities_have_nine_of_ten_neighbours_near_by() -> None:
    graph = graphs.make_graph(20_000, 400_000, "communities")
    rows = graphs.row_of_entries(graph.offsets, graph.offsets.diff())
    near = ((rows - graph.columns).abs() <= graphs.IN_A_COMMUNITY).double().mean()
    # A tenth of the entries goes anywhere, and a twentieth of these by chance near by.
    assert 0.9 < near < 0.91


def test_uniform_degrees_differ_by_at_most_one() -> None:
    degrees = graphs.make_graph(7, 30).offsets.diff()
    assert degrees.sum() == 30
    assert degrees.max() - degrees.min() <= 1


def test_power_law_degrees_have_the_tail_of_their_exponent() -> None:
    degrees = graphs.make_graph(50_000, 500_000, "power-law").offsets.diff().double()
    low = 4 * degrees.median()
    tail = degrees[degrees > low]
    # Hill's estimate of the exponent of the tail's density; the cap is far out.
    exponent = 1 + 1 / (tail / low).log().mean()
    assert abs(exponent - graphs.EXPONENT) < 0.25
    assert degrees.max() <= 500 + 1


def test_random_graph_depends_on_the_seed_alone() -> None:
    first, again, other = (
        graphs.make_graph(100, 1000, "power-law", seed=seed) for seed in (5, 5, 6)
    )
    assert torch.equal(first.columns, again.columns)
    assert not torch.equal(first.columns, other.columns)


@pytest.mark.parametrize("size", [2, 3, 5, 16, 17, 1000, 4096, 4097])
def test_shuffle_is_a_bijection_with_its_inverse(size: int) -> None:
    shuffle = graphs.Shuffle(size, seed=0)
    x = torch.arange(size)
    y = shuffle(x)
    assert torch.equal(y.sort().values, x)
    assert torch.equal(shuffle.inverse(y), x)


def test_operator_is_the_normalised_adjacency() -> None:
    graph = graphs.make_graph(50, 300, "power-law")
    matrix = dense(graph)
    scale = (matrix.sum(1) + 1).rsqrt()
    wanted = scale[:, None] * (matrix + torch.eye(50)) * scale
    x = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(graph.operator(torch.float64) @ x, wanted @ x)


@pytest.mark.parametrize(
    ("n", "n_entries", "degrees"), [(0, 2, "uniform"), (3, 5, "uniform"), (3, 4, "powerlaw")]
)
def test_random_graph_refuses_what_it_cannot_make(n: int, n_entries: int, degrees) -> None:
    with pytest.raises(GraphFilterError):
        graphs.make_graph(n, n_entries, degrees)

"""Edge lists as users have them, and the clean symmetric adjacency they become."""

# Tests hand in what users do.
# pyright: reportArgumentType=false

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphfilter.data.attributes import as_pairs, check_weights
from graphfilter.data.edges import build_links, index_type
from graphfilter.util.errors import GraphError


@pytest.mark.parametrize(
    "edges",
    [
        [[0, 1], [1, 2], [5, 0]],
        [(0, 1), (1, 2), (5, 0)],
        np.array([[0, 1], [1, 2], [5, 0]], dtype=np.uint8),
        np.array([[0, 1], [1, 2], [5, 0]], dtype=np.float32),
        np.array([[0, 1, 5], [1, 2, 0]]),
        torch.tensor([[0, 1, 5], [1, 2, 0]]),
    ],
    ids=["lists", "tuples", "uint8", "whole floats", "two rows", "torch edge_index"],
)
def test_as_pairs_takes_every_usual_form(edges: object) -> None:
    np.testing.assert_array_equal(as_pairs(edges), [[0, 1], [1, 2], [5, 0]])


def test_as_pairs_reads_a_two_by_two_array_as_rows() -> None:
    np.testing.assert_array_equal(as_pairs([[0, 1], [2, 3]]), [[0, 1], [2, 3]])


@pytest.mark.parametrize("empty", [[], np.empty((2, 0), int), np.empty((0, 2), int)])
def test_as_pairs_of_nothing_is_no_edges(empty: object) -> None:
    pairs = as_pairs(empty)
    assert pairs.shape == (0, 2)
    assert pairs.dtype == np.int64


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([0, 1, 2], r"shape \(m, 2\) or \(2, m\); got \(3,\)"),
        (np.eye(3, dtype=int), "csr_array"),
        ([[0, 1], [1, 2, 3]], "unequal length"),
        ([["a", "b"]], "read_tables"),
        ([[0.5, 1.0]], "whole vertex numbers"),
        ([[True, False]], "whole vertex numbers; got bool"),
        ([[0, -3]], "not be negative; got -3"),
        ([[0.0, np.nan]], "whole vertex numbers"),
        ([[0.0, np.inf]], "must run from 0.*got inf"),
        ([[0.0, 1e30]], "must run from 0.*1e\\+30"),
        (np.array([[0, 2**63]], dtype=np.uint64), "must run from 0"),
        ([[0, 2**70]], "whole vertex numbers"),
    ],
)
def test_as_pairs_refuses_what_is_no_edge_list(edges: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        as_pairs(edges)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0], r"one number per edge \(2\); got \(1,\)"),
        ([[1.0, 2.0]], r"got \(1, 2\)"),
        (["light", "heavy"], "must be numbers"),
        ([1.0, -2.0], "not be negative; got -2. Use absolute values"),
        ([1.0, np.nan], "finite.* Fill those in"),
        ([1.0, np.inf], "finite"),
        ([1.0, 1e60], "finite in float32"),
        ([1.0, 2j], "real"),
    ],
)
def test_check_weights_refuses_what_is_no_weight(weights: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        check_weights(weights, 2)


def test_check_weights_takes_a_tensor_that_requires_grad() -> None:
    weights = torch.tensor([1.0, 0.5], requires_grad=True)
    np.testing.assert_array_equal(check_weights(weights, 2), [1.0, 0.5])


def test_build_links_adds_repeats_and_keeps_the_larger_direction() -> None:
    """0→1 weighs 1 + 2 = 3, 1→0 weighs 2.5: the edge weighs 3."""
    pairs = as_pairs([[0, 1], [1, 0], [0, 1], [1, 2]])
    indptr, indices, weights, _, notes = build_links(pairs, check_weights([1, 2.5, 2, 7], 4), 3)
    np.testing.assert_array_equal(indptr, [0, 1, 3, 4])
    np.testing.assert_array_equal(indices, [1, 0, 2, 1])
    np.testing.assert_array_equal(weights, [3, 3, 7, 7])
    assert notes == [
        "2 repeated edges merged: those of one direction were added up.",
        "1 edge had a different weight in each direction: the larger was kept.",
    ]


def test_build_links_drops_edges_of_weight_zero() -> None:
    pairs = as_pairs([[0, 1], [1, 2], [2, 2]])
    indptr, _, weights, _, notes = build_links(pairs, check_weights([0, 2, 0], 3), 3)
    np.testing.assert_array_equal(indptr, [0, 0, 1, 2])
    np.testing.assert_array_equal(weights, [2, 2])
    assert notes == [
        "1 self loop dropped.",
        "1 edge of weight 0 dropped.",
        "1 isolated vertex kept.",
    ]


def test_build_links_merges_more_repeats_than_a_byte_can_count() -> None:
    pairs = np.tile([[0, 1]], (512, 1))
    _, indices, _, _, notes = build_links(pairs, None, 2)
    np.testing.assert_array_equal(indices, [1, 0])
    assert notes == ["511 repeated edges merged."]


def test_build_links_refuses_repeats_that_add_up_beyond_float32() -> None:
    pairs = as_pairs([[0, 1], [0, 1]])
    with pytest.raises(GraphError, match="finite in float32"):
        build_links(pairs, check_weights([3e38, 3e38], 2), 2)


@pytest.mark.parametrize(
    ("edges", "notes"),
    [
        ([[0, 1], [1, 2]], []),
        ([[0, 1], [1, 0], [1, 2], [2, 1]], []),
        ([[0, 1], [1, 0], [1, 2]], ["1 repeated edge merged."]),
        ([[0, 1], [0, 1], [1, 2]], ["1 repeated edge merged."]),
        (
            [[0, 1], [1, 2], [0, 0], [1, 1], [0, 1]],
            ["2 self loops dropped.", "1 repeated edge merged."],
        ),
        ([[2, 2]], ["1 self loop dropped.", "3 isolated vertices kept."]),
    ],
)
def test_build_links_notes_say_what_was_cleaned(edges: list[list[int]], notes: list[str]) -> None:
    """Listing every edge in both directions, as symmetric matrices do, is no repeat."""
    assert build_links(as_pairs(edges), None, 3).notes == notes


def test_index_type_is_the_narrower_that_fits() -> None:
    assert index_type(2**31 - 1) is np.int32
    assert index_type(2**31) is np.int64


def test_build_links_chooses_each_index_type_by_what_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Vertex numbers are held to n, row pointers to the number of entries."""
    narrow = {False: np.int16, True: np.int64}
    monkeypatch.setattr("graphfilter.data.edges.index_type", lambda largest: narrow[largest > 4])
    path = as_pairs([[0, 1], [1, 2], [2, 3]])
    indptr, indices, *_ = build_links(path, None, 4)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int16)
    indptr, indices, *_ = build_links(path[:1], None, 9)
    assert (indptr.dtype, indices.dtype) == (np.int16, np.int64)

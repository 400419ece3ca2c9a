"""Dense products of several runs side by side, and their gradients."""

from __future__ import annotations

import pytest
import torch

from graphfilter.models.layers import draw_kept, long_sums, matmul_side_by_side


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded())


@pytest.mark.parametrize("width", [3, 16])
def test_each_run_has_its_own_matrix(width: int) -> None:
    x, weights = normal(9, 4, 5), normal(4, 5, width)
    expected = torch.einsum("nrc,rcd->nrd", x, weights)
    torch.testing.assert_close(matmul_side_by_side(x, weights), expected)


@pytest.mark.parametrize("width", [3, 16])
def test_gradient_of_products_side_by_side(width: int) -> None:
    x, weights = normal(6, 2, 3), normal(2, 3, width)
    inputs = x.requires_grad_(), weights.requires_grad_()
    assert torch.autograd.gradcheck(matmul_side_by_side, inputs)


@pytest.mark.parametrize("n_pieces", [1, 2, 5, 11, 40])
def test_sums_in_pieces_are_the_sums(n_pieces: int) -> None:
    x, y = normal(11, 3, 4), normal(11, 3, 2)
    expected = torch.einsum("nrc,nrd->rcd", x, y)
    torch.testing.assert_close(long_sums(x, y, n_pieces), expected)


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    generator = seeded(1)
    assert draw_kept((3, 4), 0.0, [generator], torch.device("cpu")) == (None, 1.0)
    assert torch.equal(generator.get_state(), seeded(1).get_state())


def test_dropout_keeps_the_mean() -> None:
    kept, scale = draw_kept((400, 50), 0.7, [seeded(0), seeded(1)], torch.device("cpu"))
    assert kept is not None
    torch.testing.assert_close(scale * kept.float().mean((1, 2)), torch.ones(2), atol=0.03, rtol=0)
    assert not torch.equal(kept[0], kept[1])

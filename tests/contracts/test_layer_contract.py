"""Linear layers, on compiled and on torch's products, against the same in dense float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.models.layers import Linear, linear_side_by_side
from graphfilter.operators import SparseFeatures, kernels, to_tensor
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.sparse import draw

MATRIX = sp.random_array((70, 30), density=0.2, rng=0, dtype=np.float32).tocsr()
CPU = torch.device("cpu")
NOT_BUILT = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
ways = pytest.mark.parametrize("way", [pytest.param("compiled", marks=NOT_BUILT), "torch"])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def choose(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "torch":
        monkeypatch.setattr(kernels, "native_library", lambda: None)


def layers(n_runs: int, n_in: int, n_out: int) -> list[Linear]:
    return [Linear(n_in, n_out, seeded(10 + run)) for run in range(n_runs)]


def check_layers(x: SparseFeatures | Tensor, made: list[Linear], rate: float, relu: bool) -> None:
    """Compare output and gradients with X W + b in float64, with masks of the same seeds."""
    n, n_runs = x.shape[0], len(made)
    inputs = [] if isinstance(x, SparseFeatures) else [x.requires_grad_()]
    out = linear_side_by_side(made, x, rate, [seeded(run) for run in range(n_runs)], relu=relu)
    parameters = [p for layer in made for p in (layer.weight, layer.bias)]
    weight = torch.randn(out.shape, generator=seeded(99))
    got = torch.autograd.grad((out * weight).sum(), [*inputs, *parameters])

    exact = [p.detach().double().requires_grad_() for p in parameters]
    if isinstance(x, SparseFeatures):
        drawn = draw(x.values.shape, rate, [seeded(run) for run in range(n_runs)], CPU)
        columns = [x.to_dense().double()] * n_runs
        if drawn is not None:
            offsets, indices, values = x.tensors()
            for run, mask in enumerate(drawn.masks(torch.float64)):
                entries = values.double() * mask
                parts = (entries.numpy(), indices.numpy(), offsets.numpy())
                columns[run] = torch.from_numpy(sp.csr_array(parts, shape=x.shape).toarray())
        leaves = []
    else:
        leaf = x.detach().double().requires_grad_()
        leaves = [leaf]
        drawn = draw(x.shape[::2], rate, [seeded(run) for run in range(n_runs)], CPU)
        mask = None if drawn is None else drawn.masks(torch.float64).transpose(0, 1)
        columns = [*(leaf if mask is None else leaf * mask).unbind(1)]
    expected = torch.stack(
        [c @ exact[2 * run] + exact[2 * run + 1] for run, c in enumerate(columns)], dim=1
    )
    expected = torch.relu(expected) if relu else expected
    wanted = torch.autograd.grad((expected * weight.double()).sum(), [*leaves, *exact])
    assert out.shape == (n, n_runs, made[0].weight.shape[1])
    for a, b in zip([out, *got], [expected, *wanted], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@ways
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize(("n_runs", "width"), [(1, 16), (3, 48), (2, 80), (2, 5)])
def test_sparse_layer_equals_its_closed_form(
    way: str, relu: bool, rate: float, n_runs: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(way, monkeypatch)
    check_layers(SparseFeatures(MATRIX), layers(n_runs, 30, width), rate, relu)


def test_features_that_are_hardly_sparse_are_dense() -> None:
    for density, kind in ((0.2, SparseFeatures), (0.4, Tensor)):
        assert isinstance(to_tensor(sp.random_array((60, 50), density=density, rng=0)), kind)


@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize(("n_runs", "width", "n_out"), [(1, 64, 7), (3, 16, 1), (2, 48, 16)])
@pytest.mark.parametrize("n", [1, 67])
def test_head_equals_its_closed_form(
    rate: float, n_runs: int, width: int, n_out: int, n: int
) -> None:
    x = torch.randn(n, n_runs, width, generator=seeded())
    check_layers(x, layers(n_runs, width, n_out), rate, False)

"""The compiled kernel at every level of vector instructions that this processor has."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import pytest
import torch
from torch import Tensor

from graphfilter.data import make_karate
from graphfilter.filters import StackedFilter
from graphfilter.models.deep import residual_layers
from graphfilter.operators import adjacency
from graphfilter.operators.kernels.native_kernel import (
    LEVELS,
    LIBRARY,
    choose_level,
    native_library,
)
from graphfilter.operators.sparse import draw

pytestmark = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
N, CPU = 34, torch.device("cpu")


@cache
def library_of(level: int) -> ctypes.CDLL:
    """The library at a level; skip where this processor, or what was built, does not have it."""
    library = ctypes.CDLL(str(LIBRARY))
    ending = LEVELS[level]
    if level > library.graphfilter_level() or not hasattr(library, f"graphfilter_residual{ending}"):
        pytest.skip("this processor or this compiler has no such level")
    choose_level(library, level)
    return library


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def walk(dtype: torch.dtype, width: int) -> list[Tensor]:
    operator, network = adjacency(make_karate()).to(dtype=dtype), StackedFilter(5)
    x = numbers(N, width).to(dtype).requires_grad_(dtype == torch.float32)
    out = network(operator, x)
    if dtype != torch.float32:
        return [out.detach()]
    return [out.detach(), *torch.autograd.grad(out.pow(2).sum(), [x, *network.parameters()])]


def residual(width: int) -> list[Tensor]:
    given = numbers(N, 1, width), numbers(2, 1, 2 * width, width, seed=1) / 8, numbers(2, 1, width)
    for tensor in given:
        tensor.requires_grad_()
    drawn = draw((2, N, width), 0.3, [seeded(5)], CPU)
    out = residual_layers(adjacency(make_karate()), *given, drawn)
    return [out.detach(), *torch.autograd.grad(out.pow(2).sum(), given)]


PASSES = {
    "a walk": lambda: walk(torch.float32, 112),
    "a walk, padded": lambda: walk(torch.float32, 7),
    "a walk in half precision": lambda: walk(torch.bfloat16, 40),
    "residual layers": lambda: residual(16),
    "wide residual layers": lambda: residual(80),
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_levels_differ_by_rounding_and_those_that_fuse_operations_by_nothing(
    level: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, chosen = PASSES[name](), library_of(level)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("graphfilter.") and hasattr(module, "native_library"):
            monkeypatch.setattr(module, "native_library", lambda: chosen)
    got = PASSES[name]()
    tolerance = 2e-2 if "half" in name else 1e-4
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        assert level == 0 or torch.equal(a, b)

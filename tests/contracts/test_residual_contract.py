"""The layers of a residual network, compiled and by torch, against the same in dense float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models import deep as module
from graphfilter.models.deep import residual_layers
from graphfilter.operators import Operator, adjacency
from graphfilter.operators.kernels import native_kernel, native_residual
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.sparse import Drawn, draw
from graphfilter.util.errors import GraphError

NOT_BUILT = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
ways = pytest.mark.parametrize("way", [pytest.param("compiled", marks=NOT_BUILT), "torch"])
N_LAYERS = 3


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_operator(n: int) -> Operator:
    """A hub, vertices of few neighbours, and the last one alone."""
    edges = np.random.default_rng(0).integers(0, n - 1, (2 * n, 2))
    hub = [[0, v] for v in range(1, n - 1)]
    return adjacency(Graph.from_edges([*edges[edges[:, 0] != edges[:, 1]], *hub], n_vertices=n))


def parameters(n: int, n_runs: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    shapes = (n, n_runs, width), (N_LAYERS, n_runs, 2 * width, width), (N_LAYERS, n_runs, width)
    scales = 1.0, (2 * width) ** -0.5, 0.1
    hidden, weights, biases = (
        (scale * torch.randn(shape, generator=seeded(s))).requires_grad_()
        for s, (shape, scale) in enumerate(zip(shapes, scales, strict=True))
    )
    return hidden, weights, biases


def draws(n: int, n_runs: int, width: int, rate: float) -> Drawn | None:
    generators = [seeded(10 + run) for run in range(n_runs)]
    return draw((N_LAYERS, n, width), rate, generators, torch.device("cpu"))


def dense_layers(
    matrix: sp.csr_array, hidden: Tensor, weights: Tensor, biases: Tensor, drawn: Drawn | None
) -> Tensor:
    """The layers by their definition, run by run."""
    dense = torch.from_numpy(matrix.toarray())
    runs = []
    for run, h in enumerate(hidden.unbind(1)):
        for layer in range(len(weights)):
            mean, variance = h.mean(1, keepdim=True), h.var(1, correction=0, keepdim=True)
            normed = (h - mean) / (variance + 1e-5).sqrt()
            first, second = weights[layer, run].chunk(2)
            new = (normed @ first + dense @ normed @ second + biases[layer, run]).clamp(min=0)
            h = h + (new if drawn is None else new * drawn.masks(torch.float64)[run, layer])
        mean, variance = h.mean(1, keepdim=True), h.var(1, correction=0, keepdim=True)
        runs.append((h - mean) / (variance + 1e-5).sqrt())
    return torch.stack(runs, dim=1)


@ways
@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize(
    ("n", "n_runs", "width"), [(3, 1, 16), (70, 1, 64), (37, 3, 48), (33, 2, 80)]
)
def test_residual_layers_equal_their_closed_form(
    way: str, rate: float, n: int, n_runs: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "torch":
        monkeypatch.setattr(module, "takes_residual", lambda *given: False)
    operator, given = make_operator(n), parameters(n, n_runs, width)
    drawn = draws(n, n_runs, width, rate)
    out = residual_layers(operator, *given, drawn)
    weight = torch.randn(out.shape, generator=seeded(9))
    got = torch.autograd.grad((out * weight).sum(), given)
    h, w, b = (tensor.detach().double().requires_grad_() for tensor in given)
    exact = (h, w, b)
    expected = dense_layers(operator.matrix, h, w, b, drawn)
    wanted = torch.autograd.grad((expected * weight.double()).sum(), exact)
    for a, b in zip([out, *got], [expected, *wanted], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(residual_layers(operator, *given, drawn), out)


@NOT_BUILT
def test_compiled_residual_layers_give_the_same_bits_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_kernel, "CHUNK", 100)
    operator, given = make_operator(150), parameters(150, 2, 32)
    assert operator.kernel.chunks[0] > 3  # pyright: ignore
    found = []
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(native_residual, "threads_worth", lambda work, n=threads: n)
        out = residual_layers(operator, *given, draws(150, 2, 32, 0.3))
        found.append([out, *torch.autograd.grad(out.pow(3).sum(), given)])
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@NOT_BUILT
def test_compiled_residual_layers_keep_what_is_not_a_number() -> None:
    operator, (hidden, weights, biases) = make_operator(20), parameters(20, 1, 16)
    with torch.no_grad():
        weights[0].fill_(torch.nan)
        assert residual_layers(operator, hidden, weights, biases, None).isnan().all()


@NOT_BUILT
def test_compiled_residual_layers_refuse_other_shapes() -> None:
    operator, (hidden, weights, biases) = make_operator(20), parameters(20, 1, 16)
    with pytest.raises(GraphError, match=r"weights must be .* of shape \(3, 1, 32, 16\)"):
        residual_layers(operator, hidden, weights[:, :, :16], biases, None)
    with pytest.raises(GraphError, match="random numbers must be"):
        residual_layers(operator, hidden, weights, biases, draws(10, 1, 16, 0.5))

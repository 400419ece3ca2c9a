"""Linear layers and the loss, compiled and by torch, against the same in dense float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from graphfilter.models.layers import Linear, linear_side_by_side
from graphfilter.operators import SparseFeatures, to_tensor
from graphfilter.operators.dropout import draw
from graphfilter.operators.kernels import choice, native_kernel, native_layers, native_loss
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.kernels.native_loss import CompiledLoss
from graphfilter.training import CLASSIFICATION
from graphfilter.training.vertices import accuracies, mean_cross_entropy
from graphfilter.util.errors import GraphError
from graphfilter_research.peers.pyg import Projection

MATRIX = sp.random_array((70, 30), density=0.2, rng=0, dtype=np.float32).tocsr()
CPU, ZERO = torch.device("cpu"), torch.tensor([0])
NOT_BUILT = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
ways = pytest.mark.parametrize("way", [pytest.param("compiled", marks=NOT_BUILT), "torch"])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def choose(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "torch":
        for module in (choice, native_kernel, native_layers, native_loss):
            monkeypatch.setattr(module, "native_library", lambda: None)


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


@ways
@pytest.mark.parametrize("n_runs", [1, 2])
def test_sparse_layer_that_draws_zeros_equals_a_dense_one(
    way: str, n_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same seeds: which cells are dropped does not depend on how they are stored."""
    choose(way, monkeypatch)
    made = layers(n_runs, 30, 16)
    sparse, dense = SparseFeatures(MATRIX, draw_zeros=True), torch.tensor(MATRIX.toarray())
    first, second = (
        linear_side_by_side(made, x, 0.5, [seeded(run) for run in range(n_runs)], relu=True)
        for x in (sparse, dense)
    )
    torch.testing.assert_close(first, second)
    one = Projection(30, 16, seeded())
    torch.testing.assert_close(*(one(x, dropout=0.5, generator=seeded(3)) for x in (sparse, dense)))


@NOT_BUILT
def test_compiled_features_stay_sparse_up_to_half_full() -> None:
    rng = np.random.default_rng(0)
    for share, draws_zeros in ((0.2, False), (0.4, True)):
        x = to_tensor(sp.random_array((60, 50), density=share, rng=rng).tocsr())
        assert isinstance(x, SparseFeatures)
        assert (x.drawn_shape == (60, 50)) is draws_zeros
        assert isinstance(to_tensor(x.to_scipy(), dtype=torch.float64), Tensor) is draws_zeros
    assert isinstance(to_tensor(sp.random_array((60, 50), density=0.6, rng=rng).tocsr()), Tensor)


@ways
@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize(("n_runs", "width", "n_out"), [(1, 64, 7), (3, 16, 1), (2, 48, 16)])
@pytest.mark.parametrize("n", [1, 6, 67])
def test_head_equals_its_closed_form(
    way: str, rate: float, n_runs: int, width: int, n_out: int, n: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    choose(way, monkeypatch)
    x = torch.randn(n, n_runs, width, generator=seeded())
    check_layers(x, layers(n_runs, width, n_out), rate, False)


@NOT_BUILT
@pytest.mark.parametrize("strange", [torch.nan, -torch.nan])
def test_compiled_layers_keep_what_is_not_a_number(strange: float) -> None:
    layer, x = layers(1, 30, 16), SparseFeatures(MATRIX)
    with torch.no_grad():
        layer[0].weight.fill_(strange)
    rows = np.flatnonzero(np.diff(MATRIX.indptr))
    assert linear_side_by_side(layer, x, 0.0, [None], relu=True)[rows].isnan().all()


@NOT_BUILT
def test_compiled_layers_give_the_same_bits_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows are cut into the same chunks whatever the threads, and added up chunk by chunk."""
    monkeypatch.setattr(native_kernel, "CHUNK", 100)
    monkeypatch.setattr(native_layers, "CHUNK_OF_ROWS", 9)
    native_layers.cut_rows.cache_clear()
    x, made, heads = SparseFeatures(MATRIX), layers(2, 30, 64), layers(2, 64, 7)
    assert x.kernel.chunks[0] > 3  # pyright: ignore
    found = []
    for threads in (1, 2, 3):
        for module in (native_kernel, native_layers):
            monkeypatch.setattr(module, "threads_worth", lambda work, n=threads: n)
        hidden = linear_side_by_side(made, x, 0.5, [seeded(0), seeded(1)], relu=True)
        out = linear_side_by_side(heads, hidden, 0.5, [seeded(2), seeded(3)])
        parameters = [p for layer in (*made, *heads) for p in layer.parameters()]
        found.append([out, *torch.autograd.grad(out.square().sum(), parameters)])
    native_layers.cut_rows.cache_clear()
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def loss_case(n_classes: int, n_runs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of 40 vertices, and rows, classes and weights (2, 25, R) of 25 of them."""
    logits = 4 * torch.randn(40, n_runs, n_classes, generator=seeded())
    rows = torch.arange(40)[::2].repeat(2)[:25].sort().values.contiguous()
    classes = torch.randint(n_classes, (25,), generator=seeded(1))
    weights = torch.rand(2, 25, n_runs, generator=seeded(2))
    return logits, rows.unique(), classes[: len(rows.unique())], weights[:, : len(rows.unique())]


@NOT_BUILT
@pytest.mark.parametrize("n_runs", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 7, 16, 40])
def test_compiled_loss_equals_cross_entropy(n_classes: int, n_runs: int) -> None:
    logits, rows, classes, weights = loss_case(n_classes, n_runs)
    loss = CompiledLoss(rows, classes, weights.contiguous())
    sums = weights.sum(1, dtype=torch.float64)
    got = mean_cross_entropy(logits.requires_grad_(), loss, sums[0].reciprocal().float())
    own = torch.rand(n_runs, generator=seeded(3))
    (grad,) = torch.autograd.grad(got, logits, own)

    exact = logits.detach().double().requires_grad_()
    every = torch.stack(
        [
            functional.cross_entropy(exact[rows, r], classes, reduction="none")
            for r in range(n_runs)
        ],
        dim=1,
    )
    means = (weights.double() * every).sum(1) / sums
    (expected,) = torch.autograd.grad(means[0], exact, own.double())
    torch.testing.assert_close(got.double(), means[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(grad.double(), expected, rtol=1e-5, atol=1e-7)

    scored = accuracies(logits.detach(), loss, sums[[0, 1, 1]])
    right = CLASSIFICATION.score(exact[rows], CLASSIFICATION.aligned(classes, n_runs), weights)
    torch.testing.assert_close(scored, torch.stack([right[0], means[1], right[1]]).detach())


@NOT_BUILT
@pytest.mark.parametrize("strange", [torch.nan, torch.inf])
def test_compiled_loss_of_what_is_not_finite_is_not_finite(strange: float) -> None:
    logits, rows, classes, weights = loss_case(5, 1)
    logits[rows[3], 0, 2] = strange
    sums, _ = CompiledLoss(rows, classes, weights.contiguous()).sums(logits)
    assert not sums[:, 0].isfinite().any()


@NOT_BUILT
def test_compiled_loss_is_right_where_logits_lie_far_apart() -> None:
    loss = CompiledLoss(torch.arange(2), torch.tensor([0, 1]), torch.ones(1, 2, 1))
    sums, _ = loss.sums(torch.tensor([[[0.0, -300.0]], [[0.0, -300.0]]]))
    assert sums.flatten().tolist() == [300.0, 1.0]


def damaged_head(**changes: Any) -> Callable[[], object]:
    x, weight, bias = torch.ones(3, 1, 16), torch.ones(16, 2), torch.ones(2)
    drawn = draw((3, 16), 0.5, [seeded()], CPU)
    parts: dict[str, Any] = {"x": x, "weight": weight, "bias": bias, "drawn": drawn, **changes}
    return lambda: native_layers.head(
        parts["x"], [parts["weight"]], [parts["bias"]], parts["drawn"]
    )


@NOT_BUILT
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (damaged_head(weight=torch.ones(15, 2)), "weights must be"),
        (damaged_head(bias=torch.ones(1)), "a bias must be"),
        (damaged_head(x=torch.ones(3, 2, 16)), "columns must be"),
        (damaged_head(x=torch.ones(3, 1, 16).double()), "columns must be"),
        (damaged_head(drawn=draw((2, 16), 0.5, [seeded()], CPU)), "random numbers must be"),
        (lambda: CompiledLoss(torch.tensor([-1]), ZERO, torch.ones(1, 1, 1)), "not be negative"),
        (lambda: CompiledLoss(ZERO, ZERO, torch.ones(1, 2, 1)), "rows must be"),
    ],
)  # fmt: skip
def test_compiled_layers_refuse_what_does_not_fit(call, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        call()


@NOT_BUILT
@pytest.mark.parametrize("shape", [(2, 1, 2), (3, 2, 2), (3, 1, 1), (3, 1, 300)])
def test_compiled_loss_refuses_logits_that_do_not_fit(shape: tuple[int, ...]) -> None:
    loss = CompiledLoss(torch.tensor([2]), torch.tensor([1]), torch.ones(1, 1, 1))
    assert not loss.takes(torch.zeros(shape))
    with pytest.raises(GraphError, match="logits must fit"):
        loss.sums(torch.zeros(shape))

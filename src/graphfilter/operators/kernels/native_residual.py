"""The layers of a residual network on a CPU, by the compiled code of ``native.c``.

Everything is checked before it reaches compiled code.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphfilter.operators.kernels.native_kernel import LANES, NativeKernel, native_library
from graphfilter.operators.kernels.product_kernel import ProductKernel, check_tensor
from graphfilter.operators.operator import Operator
from graphfilter.operators.sparse import Drawn
from graphfilter.util.machine import threads_worth

# As in native_residual.h.
WIDEST_LAYER = 256
# So many multiplications by a dense matrix take the time of one by a sparse one.
DENSE = 2


def takes_residual(kernel: ProductKernel, hidden: Tensor) -> bool:
    """Return whether :func:`residual` takes this matrix and columns (n, R, c)."""
    return (
        isinstance(kernel, NativeKernel)
        and native_library() is not None
        and kernel.dtype == hidden.dtype == torch.float32
        and hidden.device.type == "cpu"
        and hidden.shape[2] % LANES == 0
        and hidden.shape[2] <= WIDEST_LAYER
        and kernel.takes(hidden)
    )


def residual(
    operator: Operator, hidden: Tensor, weights: Tensor, biases: Tensor, drawn: Drawn | None
) -> Tensor:
    """Return the normed rows after L layers, H + drop(relu([N, P N] W + b)) of the normed rows N.

    Shapes
    ------
    hidden, output : (n, R, c);  weights : (L, R, 2 c, c);  biases : (L, R, c);  drawn : (L, n, c)
    """
    return _Residual.apply(hidden, weights, biases, operator, drawn)


class _Residual(torch.autograd.Function):
    """The layers, whose gradient reads these and nothing else that is kept.

    Shapes
    ------
    normed : (L + 1, n, R, c), the rows that each layer reads, and the result
    inverses : (L + 1, n, R), of the rows' deviations
    active : int8 (L, n, R, c), -1 where something was added
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weights: Tensor,
        biases: Tensor,
        operator: Operator,
        drawn: Drawn | None,
    ) -> Tensor:
        hidden, weights, biases = hidden.clone(), weights.contiguous(), biases.contiguous()
        (n, n_runs, width), n_layers = hidden.shape, len(weights)
        kernel: Any = operator.kernel
        check = (torch.float32, operator.device)
        check_tensor("columns", hidden, (kernel.matrix.shape[0], n_runs, width), *check)
        check_tensor("weights", weights, (n_layers, n_runs, 2 * width, width), *check)
        check_tensor("biases", biases, (n_layers, n_runs, width), *check)
        draws, draws_of_run, below, scale = None, 0, 0, 1.0
        if drawn is not None:
            words, n_words = drawn.words, (n_layers * n * width + 3) // 4
            check_tensor("random numbers", words, (n_runs, n_words), torch.int64, operator.device)
            draws, draws_of_run = words.data_ptr(), 4 * n_words
            below, scale = drawn.below, drawn.scale
        keep = any(ctx.needs_input_grad)
        normed = hidden.new_empty(n_layers + 1 if keep else 2, n, n_runs, width)
        inverses = hidden.new_empty(n_layers + 1 if keep else 0, n, n_runs)
        active = hidden.new_empty(n_layers if keep else 0, n, n_runs, width, dtype=torch.int8)
        library: Any = native_library()
        library.graphfilter_residual(
            n_runs, width, n_layers, *(part.data_ptr() for part in kernel.csr_parts),
            weights.data_ptr(), biases.data_ptr(), draws, draws_of_run, below, scale,
            hidden.data_ptr(), normed.data_ptr(), inverses.data_ptr() if keep else None,
            active.data_ptr() if keep else None, *kernel.chunks, _threads(kernel, n_runs, width),
        )  # fmt: skip
        ctx.operator, ctx.scale = operator, scale
        ctx.save_for_backward(weights)
        ctx.kept = normed, inverses, active
        return normed[n_layers if keep else n_layers % 2]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (weights,), (normed, inverses, active) = ctx.saved_tensors, ctx.kept
        kernel, grad = ctx.operator.transposed.kernel, grad.contiguous()
        n_layers, n_runs, _, width = weights.shape
        shape = (kernel.matrix.shape[0], n_runs, width)
        check_tensor("a gradient", grad, shape, torch.float32, weights.device)
        mirrors = weights.view(n_layers, n_runs, 2, width, width).transpose(3, 4).contiguous()
        sums_shape = (n_runs, width + 1, 2 * width)
        out, spread = torch.empty_like(grad), grad.new_empty(2, *shape)
        sums = grad.new_empty(2, kernel.chunks[0], *sums_shape)
        totals = grad.new_empty(n_layers, *sums_shape)
        library: Any = native_library()
        library.graphfilter_residual_gradient(
            n_runs, width, n_layers, *(part.data_ptr() for part in kernel.csr_parts),
            mirrors.data_ptr(), ctx.scale, grad.data_ptr(), normed.data_ptr(),
            inverses.data_ptr(), active.data_ptr(), out.data_ptr(), spread.data_ptr(),
            sums.data_ptr(), totals.data_ptr(), *kernel.chunks, _threads(kernel, n_runs, width),
        )  # fmt: skip
        halves = totals[:, :, :width].view(n_layers, n_runs, width, 2, width).transpose(2, 3)
        return out, halves.reshape(weights.shape), totals[:, :, width, :width], None, None


def _threads(kernel: NativeKernel, n_runs: int, width: int) -> int:
    """Return the threads that share the rows of a layer, after each of which they wait."""
    dense = 2 * kernel.matrix.shape[0] * width // DENSE
    return threads_worth((kernel.work + dense) * n_runs * width)

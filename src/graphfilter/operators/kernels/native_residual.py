"""The layers of a residual network on a CPU, by the compiled code of ``native.c``.

Everything is checked before it reaches compiled code. None of it is seen by autograd: whoever calls
these functions writes the gradient out.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from graphfilter.operators.dropout import Drawn
from graphfilter.operators.kernels.native_kernel import (
    LANES,
    NativeKernel,
    check_tensor,
    native_library,
)
from graphfilter.operators.kernels.product_kernel import ProductKernel
from graphfilter.util.machine import threads_worth

# As in native_residual.h.
WIDEST_LAYER = 256
# So many multiplications by a dense matrix take the time of one by a sparse one.
DENSE = 2


class Kept(NamedTuple):
    """What the gradient of L layers reads, and nothing else is kept.

    Shapes
    ------
    normed : (L + 1, n, R, c), the rows that each layer reads, and the result
    inverses : (L + 1, n, R), of the rows' deviations
    active : int8 (L, n, R, c), -1 where something was added
    """

    normed: Tensor
    inverses: Tensor
    active: Tensor
    scale: float


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
    kernel: ProductKernel,
    hidden: Tensor,
    weights: Tensor,
    biases: Tensor,
    drawn: Drawn | None,
    *,
    keep: bool,
) -> tuple[Tensor, Kept | None]:
    """Return the normed rows after L layers, H + drop(relu([N, P N] W + b)) of the normed rows N.

    With ``keep`` also what the gradient reads.

    Shapes
    ------
    hidden, output : (n, R, c);  weights : (L, R, 2 c, c);  biases : (L, R, c);  drawn : (L, n, c)
    """
    assert isinstance(kernel, NativeKernel)
    library = native_library()
    assert library is not None
    (n, n_runs, width), n_layers = hidden.shape, len(weights)
    check_tensor("columns", hidden, (kernel.matrix.shape[0], n_runs, width))
    check_tensor("weights", weights, (n_layers, n_runs, 2 * width, width))
    check_tensor("biases", biases, (n_layers, n_runs, width))
    draws, draws_of_run, below, scale = None, 0, 0, 1.0
    if drawn is not None:
        words = drawn.words
        check_tensor(
            "random numbers", words, (n_runs, (n_layers * n * width + 3) // 4), torch.int64
        )
        draws, draws_of_run = words.data_ptr(), 4 * words.shape[1]
        below, scale = drawn.below, drawn.scale
    hidden = hidden.clone()
    normed = hidden.new_empty(n_layers + 1 if keep else 2, n, n_runs, width)
    kept = None
    if keep:
        inverses = hidden.new_empty(n_layers + 1, n, n_runs)
        active = hidden.new_empty(n_layers, n, n_runs, width, dtype=torch.int8)
        kept = Kept(normed, inverses, active, scale)
    library.graphfilter_residual(
        n_runs, width, n_layers, *(part.data_ptr() for part in kernel.csr_parts),
        weights.data_ptr(), biases.data_ptr(), draws, draws_of_run, below, scale,
        hidden.data_ptr(), normed.data_ptr(), None if kept is None else kept.inverses.data_ptr(),
        None if kept is None else kept.active.data_ptr(), *kernel.chunks,
        _threads(kernel, n_runs, width),
    )  # fmt: skip
    return normed[n_layers if keep else n_layers % 2], kept


def residual_gradient(
    kernel: ProductKernel, kept: Kept, weights: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of :func:`residual` at columns, weights and biases.

    The kernel is that of the transposed matrix.
    """
    assert isinstance(kernel, NativeKernel)
    library = native_library()
    assert library is not None
    n_layers, n_runs, _, width = weights.shape
    n = kernel.matrix.shape[0]
    check_tensor("weights", weights, (n_layers, n_runs, 2 * width, width))
    check_tensor("a gradient", grad, (n, n_runs, width))
    check_tensor("normed rows", kept.normed, (n_layers + 1, n, n_runs, width))
    mirrors = weights.view(n_layers, n_runs, 2, width, width).transpose(3, 4).contiguous()
    found = (n_runs, width + 1, 2 * width)
    out, spread = torch.empty_like(grad), grad.new_empty(2, n, n_runs, width)
    sums = grad.new_empty(2, kernel.chunks[0], *found)
    totals = grad.new_empty(n_layers, *found)
    library.graphfilter_residual_gradient(
        n_runs, width, n_layers, *(part.data_ptr() for part in kernel.csr_parts),
        mirrors.data_ptr(), kept.scale, grad.data_ptr(), kept.normed.data_ptr(),
        kept.inverses.data_ptr(), kept.active.data_ptr(), out.data_ptr(), spread.data_ptr(),
        sums.data_ptr(), totals.data_ptr(), *kernel.chunks, _threads(kernel, n_runs, width),
    )  # fmt: skip
    halves = totals[:, :, :width].view(n_layers, n_runs, width, 2, width).transpose(2, 3)
    return out, halves.reshape(weights.shape), totals[:, :, width, :width]


def _threads(kernel: NativeKernel, n_runs: int, width: int) -> int:
    """Return the threads that share the rows of a layer, after each of which they wait."""
    dense = 2 * kernel.matrix.shape[0] * width // DENSE
    return threads_worth((kernel.work + dense) * n_runs * width)

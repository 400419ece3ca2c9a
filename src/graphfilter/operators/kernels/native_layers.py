"""The linear layers of a network and its loss on a CPU, by the compiled code of ``native.c``.

Each function compares shapes, precision, device and layout of what it is given, so that nothing
else reaches compiled code. Whether it runs at all, ``takes_…`` says; torch computes the same
otherwise. None of them is seen by autograd: those who call them write the gradient out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from graphfilter.operators.dropout import Drawn
from graphfilter.operators.kernels.native_kernel import (
    LANES,
    MOST_CHUNKS,
    NativeKernel,
    native_library,
)
from graphfilter.operators.kernels.product_kernel import ProductKernel
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import threads_worth

# As in native_layers.h: the widest rows and most outputs of a head, and the most classes of a loss.
WIDEST_ROW, MOST_OUTPUTS, MOST_CLASSES = 512, LANES, 256
# Rows of a dense layer are cut into chunks of so many.
CHUNK_OF_ROWS = 512


class Kept(NamedTuple):
    """The entries of a sparse matrix that dropout keeps: where each row starts and ends."""

    offsets: Tensor
    ends: Tensor
    columns: Tensor
    values: Tensor


def compiles(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether compiled code takes columns of this precision on this device."""
    return device.type == "cpu" and dtype == torch.float32 and native_library() is not None


def takes_encoder(kernel: ProductKernel, weights: Sequence[Tensor]) -> bool:
    """Return whether :func:`encode` takes the features of this kernel and these weights."""
    return (
        isinstance(kernel, NativeKernel)
        and weights[0].ndim == 2
        and weights[0].shape[1] % LANES == 0
        # Random numbers for no entries have no place in memory, as where there is no dropout.
        and kernel.takes(kernel.csr_parts[1], *weights)
        and all(each.dtype == torch.float32 and each.device.type == "cpu" for each in weights)
    )


def encode(
    kernel: ProductKernel,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    drawn: Drawn | None,
    *,
    relu: bool,
) -> tuple[Tensor, list[Kept]]:
    """Return X W + b of each of R runs, with dropout on X and relu, and the entries it is made of.

    Dropout is drawn per stored entry, or per cell of X where its shape is that of X.

    Shapes
    ------
    X : (n, d), the kernel's;  weights : R of (d, h);  biases : R of (h,);  output : (n, R, h)
    """
    assert isinstance(kernel, NativeKernel)
    (n, d), width, n_runs = kernel.matrix.shape, weights[0].shape[1], len(weights)
    offsets, columns, values = kernel.csr_parts
    per_cell = drawn is not None and len(drawn.shape) == 2
    draws = _draws(drawn, n_runs, n * d if per_cell else values.shape[0])
    out = torch.empty(n, n_runs, width, dtype=torch.float32, device="cpu")
    threads = threads_worth(kernel.work * width)
    made = []
    for run, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        check_tensor("weights", weight, (d, width))
        check_tensor("a bias", bias, (width,))
        kept = Kept(offsets, offsets[1:], columns, values)
        if drawn is not None:
            kept = Kept(
                offsets, torch.empty_like(kept.ends), torch.empty_like(columns),
                torch.empty_like(values),
            )  # fmt: skip
        _library().graphfilter_encode(
            width, offsets.data_ptr(), columns.data_ptr(), values.data_ptr(), draws[run],
            d if per_cell else 0, *_limits(drawn), kept.ends.data_ptr(), kept.columns.data_ptr(),
            kept.values.data_ptr(), weight.data_ptr(), bias.data_ptr(), int(relu),
            out.data_ptr() + 4 * run * width, n_runs * width, *kernel.chunks, threads,
        )  # fmt: skip
        made.append(kept)
    return out, made


def encode_gradient(
    made: Sequence[Kept], grad: Tensor, out: Tensor, n_rows: int, *, relu: bool
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the gradients of :func:`encode` at weights (n_rows, h) and biases (h,)."""
    n, n_runs, width = out.shape
    check_tensor("a gradient", grad, (n, n_runs, width))
    weights, biases = [], []
    for run, kept in enumerate(made):
        weight = torch.zeros(n_rows, width, dtype=torch.float32, device="cpu")
        bias = torch.empty(width, dtype=torch.float32, device="cpu")
        place = 4 * run * width
        threads = min(threads_worth(kept.values.shape[0] * width), width // LANES)
        _library().graphfilter_encode_gradient(
            n, width, kept.offsets.data_ptr(), kept.ends.data_ptr(), kept.columns.data_ptr(),
            kept.values.data_ptr(), grad.data_ptr() + place,
            out.data_ptr() + place if relu else None, n_runs * width, weight.data_ptr(),
            bias.data_ptr(), threads,
        )  # fmt: skip
        weights.append(weight)
        biases.append(bias)
    return weights, biases


def takes_head(x: Tensor, weights: Sequence[Tensor]) -> bool:
    """Return whether :func:`head` takes columns (n, R, c) and weights (c, d)."""
    return (
        native_library() is not None
        and all(t.dtype == torch.float32 and t.device.type == "cpu" for t in (x, *weights))
        and x.numel() > 0
        and x.shape[2] % LANES == 0
        and x.shape[2] <= WIDEST_ROW
        and 0 < weights[0].shape[1] <= MOST_OUTPUTS
    )


def head(
    x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], drawn: Drawn | None
) -> Tensor:
    """Return x W + b of each of R runs, with dropout on x.

    Shapes
    ------
    x : (n, R, c), contiguous;  weights : R of (c, d);  biases : R of (d,);  output : (n, R, d)
    """
    n, n_runs, width = x.shape
    n_out = weights[0].shape[1]
    check_tensor("columns", x, (n, len(weights), width))
    draws = _draws(drawn, n_runs, n * width)
    out = torch.empty(n, n_runs, n_out, dtype=torch.float32, device="cpu")
    cuts, threads = cut_rows(n), threads_worth(n * width)
    for run, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        check_tensor("weights", weight, (width, n_out))
        check_tensor("a bias", bias, (n_out,))
        _library().graphfilter_head(
            width, n_out, x.data_ptr() + 4 * run * width, n_runs * width, draws[run],
            *_limits(drawn), weight.data_ptr(), bias.data_ptr(), out.data_ptr() + 4 * run * n_out,
            n_runs * n_out, len(cuts) - 1, ctypes.addressof(cuts), threads,
        )  # fmt: skip
    return out


def head_gradient(
    grad: Tensor, x: Tensor, weights: Sequence[Tensor], drawn: Drawn | None
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Return the gradients of :func:`head` at x, weights and biases."""
    n, n_runs, width = x.shape
    n_out = weights[0].shape[1]
    check_tensor("a gradient", grad, (n, n_runs, n_out))
    draws = _draws(drawn, n_runs, n * width)
    x_grad = torch.empty_like(x)
    cuts, threads = cut_rows(n), threads_worth(n * width)
    of_weights, of_biases = [], []
    for run, weight in enumerate(weights):
        sums = torch.zeros(len(cuts) - 1, n_out * (width + 1), dtype=torch.float64, device="cpu")
        place = 4 * run * width
        _library().graphfilter_head_gradient(
            width, n_out, x.data_ptr() + place, n_runs * width, draws[run], *_limits(drawn),
            weight.data_ptr(), grad.data_ptr() + 4 * run * n_out, n_runs * n_out,
            x_grad.data_ptr() + place, sums.data_ptr(), len(cuts) - 1, ctypes.addressof(cuts),
            threads,
        )  # fmt: skip
        added = sums.sum(0).float()
        of_weights.append(added[: n_out * width].view(n_out, width).T)
        of_biases.append(added[n_out * width :])
    return x_grad, of_weights, of_biases


def _library() -> ctypes.CDLL:
    library = native_library()
    assert library is not None
    return library


def _draws(drawn: Drawn | None, n_runs: int, size: int) -> list[int | None]:
    """Return where the random numbers of each run lie, after checking that they are enough."""
    if drawn is None:
        return [None] * n_runs
    words = drawn.words
    check_tensor("random numbers", words, (n_runs, (size + 3) // 4), torch.int64)
    return [words.data_ptr() + 8 * run * words.shape[1] for run in range(n_runs)]


def _limits(drawn: Drawn | None) -> tuple[int, float]:
    return (0, 1.0) if drawn is None else (drawn.below, drawn.scale)


@cache
def cut_rows(n: int) -> ctypes.Array[ctypes.c_int64]:
    """Return where rows are cut into equal chunks, whatever the threads."""
    n_chunks = max(1, min(MOST_CHUNKS, n // CHUNK_OF_ROWS))
    return (ctypes.c_int64 * (n_chunks + 1))(*(n * p // n_chunks for p in range(n_chunks + 1)))


def check_tensor(
    what: str, tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> None:
    """Raise unless a tensor is what compiled code reads."""
    if (
        tensor.shape != shape
        or tensor.dtype != dtype
        or tensor.device.type != "cpu"
        or tensor.layout != torch.strided
        or not tensor.is_contiguous()
    ):
        raise GraphError(
            f"{what} must be a contiguous {dtype} tensor of shape {shape} on a CPU; got "
            f"{tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}. Convert it with "
            ".to() and .contiguous()."
        )

"""Products on a CPU by the compiled kernel of ``native.c``.

It runs for float32 on a CPU wherever it was built at install; torch's products run otherwise.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import pad

from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.kernels.product_kernel import Step
from graphfilter.operators.kernels.torch_kernel import TorchKernel
from graphfilter.runtime.threads import threads_worth

LIBRARY = Path(__file__).with_name("native.so")

# The number that native.c gives for what its functions take.
INTERFACE = 1
# Columns are padded to a multiple of this: one vector register, one line of a cache.
LANES = 16

_POINTER, _COUNT, _NUMBER = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


@cache
def native_library() -> ctypes.CDLL | None:
    """Return the compiled kernel.

    None where it was not built, is of another version, or where torch has no OpenMP to share.
    """
    try:
        library = ctypes.CDLL(str(LIBRARY))
        if library.graphfilter_interface() != INTERFACE:
            return None
    except (OSError, AttributeError):
        return None
    library.graphfilter_walk.argtypes = [_COUNT] * 2 + [_POINTER] * 11 + [_COUNT, _POINTER]
    library.graphfilter_multiply.argtypes = (
        [_COUNT] * 2 + [_POINTER] * 5 + [_NUMBER] * 2 + [_COUNT, _POINTER]
    )
    for function in (library.graphfilter_walk, library.graphfilter_multiply):
        function.restype = None
    return library


class NativeKernel(TorchKernel):
    """See :class:`~graphfilter.operators.kernels.ProductKernel`; float32 on a CPU.

    What the compiled kernel does not take (other widths, wide indices) torch multiplies.
    """

    def __init__(self, matrix: FactoredMatrix, dtype: torch.dtype) -> None:
        super().__init__(matrix, dtype)
        assert dtype == torch.float32
        self._cuts: dict[int, Tensor] = {}

    @staticmethod
    def _library() -> ctypes.CDLL:
        """Return the library; not kept in the object, which may be copied and pickled."""
        library = native_library()
        assert library is not None
        return library

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        offsets, columns, stored = self._csr_parts
        entries = stored[None] if values is None else values
        width = x.shape[1] // len(entries)
        if width % LANES or not self._takes(x, out, entries):
            super()._multiply(x, out, scale, keep, values)
            return
        parts, cuts = self._parts(width)
        for group, own in enumerate(entries):
            place = 4 * group * width
            self._library().graphfilter_multiply(
                width, x.shape[1], offsets.data_ptr(), columns.data_ptr(), own.data_ptr(),
                x.data_ptr() + place, out.data_ptr() + place, scale, keep, parts, cuts.data_ptr(),
            )  # fmt: skip

    def _apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        if not steps or not self._takes(x):
            return super()._apply_recurrence(x, weights, steps, against)
        n, groups, width = x.shape
        missing = -(groups * width) % LANES
        stride = groups * width + missing
        by_column = _padded(weights.repeat_interleave(width, 1), missing)
        flat = _padded(x.view(n, -1), missing)
        sums, one, two = (x.new_empty(n, stride) for _ in range(3))
        factors = (ctypes.c_double * (3 * len(steps)))(*itertools.chain.from_iterable(steps))
        parts, cuts = self._parts(stride)
        other = dots = None
        if against is not None:
            other = _padded(against.view(n, -1), missing)
            dots = x.new_zeros(parts, len(weights), stride, dtype=torch.float64)
        offsets, columns, values = self._csr_parts
        self._library().graphfilter_walk(
            stride, len(steps), offsets.data_ptr(), columns.data_ptr(), values.data_ptr(),
            flat.data_ptr(), None if other is None else other.data_ptr(), by_column.data_ptr(),
            ctypes.addressof(factors), sums.data_ptr(), one.data_ptr(), two.data_ptr(),
            None if dots is None else dots.data_ptr(), parts, cuts.data_ptr(),
        )  # fmt: skip
        total = sums[:, : groups * width].contiguous() if missing else sums
        if dots is None:
            return total, None
        kept = dots.sum(0)[:, : groups * width].reshape(len(weights), groups, width)
        return total, kept.sum(2).to(weights.dtype)

    @cached_property
    @made_to_be_kept
    def _csr_parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Offsets, columns and values of M."""
        return self.csr.crow_indices(), self.csr.col_indices(), self.csr.values()

    def _takes(self, *tensors: Tensor) -> bool:
        """Return whether the compiled kernel reads this matrix, and these are not empty."""
        return self._csr_parts[1].dtype == torch.int32 and all(t.numel() for t in tensors)

    def _parts(self, width: int) -> tuple[int, Tensor]:
        """Divide the rows among threads by their work; return how many, and where they are cut."""
        offsets, columns, _ = self._csr_parts
        n = len(offsets) - 1
        # A row costs about as much as four of its entries: it is read, added up and written.
        in_all = len(columns) + 4 * n
        parts = threads_worth(in_all * width)
        if parts not in self._cuts:
            # On the CPU, whatever torch's default device.
            work = offsets.long() + 4 * torch.arange(n + 1, device="cpu")
            shares = torch.arange(1, parts, device="cpu") * in_all // parts
            inner = torch.searchsorted(work, shares).tolist()
            self._cuts[parts] = torch.tensor([0, *inner, n], device="cpu")
        return parts, self._cuts[parts]


def _padded(x: Tensor, missing: int) -> Tensor:
    """Return x with this many more columns of zeros; x itself, not a copy, where there are none."""
    return pad(x, (0, missing)) if missing else x

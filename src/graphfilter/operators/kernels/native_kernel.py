"""Products on a CPU by the compiled kernel of ``native.c``.

It runs for float32 and bfloat16 on a CPU wherever it was built at install; torch's products run
otherwise.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import pad

from graphfilter.operators.kernels.product_kernel import Step, TorchKernel, made_to_be_kept
from graphfilter.util.machine import threads_worth

# Bytes of a core's own cache and of the last one, as a small server has them.
OWN_CACHE, LAST_CACHE = 2**20, 2**25

LIBRARY = Path(__file__).with_name("native.so")

# The number that native.c gives for what its functions take.
INTERFACE = 9
# The endings of functions for each level of vector instructions that a processor may have.
LEVELS = ("", "_avx2", "_avx512")
# Columns are padded to a multiple of this: one line of a cache.
LANES = 16
# Columns walk in blocks where there are at least so many terms, and so many entries per row.
TERMS_WORTH_A_BLOCK, ENTRIES_WORTH_A_BLOCK = 4, 5
# Rows are cut into chunks of so many entries, four per row included, and at most so many chunks.
CHUNK, MOST_CHUNKS = 2**13, 64
# Whether rows are gathered from nearby, within so many rows, is seen of so many entries.
NEAR, SAMPLED = 2**9, 2**12

# The ending of functions for columns that are stored so.
STORED = {torch.float32: "float", torch.bfloat16: "half"}
# What the functions of native.c take: pointers, counts and numbers.
_ARGUMENTS = {"p": ctypes.c_void_p, "c": ctypes.c_int64, "n": ctypes.c_double}
_FUNCTIONS = {
    "walk_float": "cccpppppppppppcpccc",
    "walk_half": "cccpppppppppppcpccc",
    "multiply_float": "ccpppppnncpc",
    "multiply_half": "ccpppppnncpc",
    "residual": "cccppppppccnppppcpc",
    "residual_gradient": "cccppppnppppppppcpc",
}


@cache
def native_library() -> ctypes.CDLL | None:
    """Return the compiled kernel.

    None where it was not built, is of another version, or where torch has no OpenMP to share.
    """
    try:
        library = ctypes.CDLL(str(LIBRARY))
        if library.graphfilter_interface() != INTERFACE:
            return None
        level = library.graphfilter_level()
    except (OSError, AttributeError):
        return None
    choose_level(library, level)
    return library


def choose_level(library: ctypes.CDLL, level: int) -> None:
    """Let functions be those for this level of vector instructions, or of the next one there is."""
    for name, kinds in _FUNCTIONS.items():
        for ending in LEVELS[level::-1]:
            # One that was added since the library was built is done without.
            if function := getattr(library, f"graphfilter_{name}{ending}", None):
                function.argtypes = [_ARGUMENTS[kind] for kind in kinds]
                function.restype = None
                setattr(library, f"graphfilter_{name}", function)
                break


class NativeKernel(TorchKernel):
    """See :class:`~graphfilter.operators.kernels.ProductKernel`; float32 and bfloat16 on a CPU.

    What the compiled kernel does not take (other widths, wide indices) torch multiplies.
    """

    def _compiled(self, name: str) -> Callable[..., None]:
        """Return a function of the library for columns of this precision.

        Not kept in the object, which may be copied and pickled.
        """
        return getattr(native_library(), f"graphfilter_{name}_{STORED[self.dtype]}")

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        offsets, columns, stored = self.csr_parts
        entries = stored[None] if values is None else values.float()
        width = x.shape[1] // len(entries)
        if width % LANES or not self.takes(x, out, entries):
            super()._multiply(x, out, scale, keep, values)
            return
        threads = threads_worth(self.work * width)
        for group, own in enumerate(entries):
            place = x.element_size() * group * width
            self._compiled("multiply")(
                width, x.shape[1], offsets.data_ptr(), columns.data_ptr(), own.data_ptr(),
                x.data_ptr() + place, out.data_ptr() + place, scale, keep, *self.chunks, threads,
            )  # fmt: skip

    def _apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        if not steps or not self.takes(x) or not all(step.scale for step in steps):
            return super()._apply_recurrence(x, weights, steps, against)
        n, groups, width = x.shape
        n_columns = groups * width
        padding = -n_columns % LANES
        in_all = n_columns + padding
        block, threads, rooms = self._division(in_all, len(steps), x.element_size())
        total = x.new_empty(n, n_columns)
        # Two terms; columns that are padded have arrays of their own for input and sums, too.
        room = x.new_empty(rooms, 4 if padding else 2, n * block)
        exact = self.dtype == torch.float32
        # As Horner has it, which reads and writes less; with a keep it would lose digits.
        nested = exact and against is None and not any(step.keep for step in steps)
        sums = None
        if not exact or (padding and not nested):
            sums = x.new_empty(rooms, n, block, dtype=torch.float32)
        by_column = weights.repeat_interleave(width, 1)
        if padding:
            by_column = pad(by_column, (0, padding))
        dots = None
        if against is not None:
            dots = x.new_zeros(self.chunks[0], len(weights), in_all, dtype=torch.float64)
        factors = (ctypes.c_double * (3 * len(steps)))(*itertools.chain.from_iterable(steps))
        self._compiled("walk")(
            n_columns, block, len(steps), *(part.data_ptr() for part in self.csr_parts),
            x.data_ptr(), _pointer(against), by_column.data_ptr(), ctypes.addressof(factors),
            total.data_ptr(), room.data_ptr(), _pointer(sums), _pointer(dots), *self.chunks,
            threads, rooms, nested,
        )  # fmt: skip
        if dots is None:
            return total, None
        kept = dots.sum(0)[:, :n_columns].reshape(len(weights), groups, width)
        return total, kept.sum(2).to(weights.dtype)

    def _division(self, n_columns: int, n_terms: int, n_bytes: int) -> tuple[int, int, int]:
        """Return the number of columns processed together, of threads, and of buffers.

        Where threads have buffers of their own, each takes its own columns from the first term
        to the last, and none waits for another before the end. None of this changes a bit.
        """
        n, n_entries = self.matrix.shape[0], self.csr_parts[1].shape[0]
        block = block_width(n, n_entries, n_columns, n_terms, n_bytes)
        threads = threads_worth(self.work * n_columns * n_terms)
        own = min(block, -(-n_columns // (threads * LANES)) * LANES)
        in_cache = threads * own * n * n_bytes <= LAST_CACHE // 2
        enough = n_columns > (threads - 1) * own and n_terms >= TERMS_WORTH_A_BLOCK
        if threads > 1 and in_cache and enough:
            return own, threads, threads
        if block < n_columns and self._gathers_nearby:
            block = n_columns
        return block, threads_worth(self.work * n_columns), 1

    @cached_property
    @made_to_be_kept
    def csr_parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Offsets, columns and values of M, which are floats whatever the columns are stored in."""
        csr = self.matrix.to_csr_tensor(torch.float32) if self.dtype != torch.float32 else self.csr
        return csr.crow_indices(), csr.col_indices(), csr.values()

    @cached_property
    def _gathers_nearby(self) -> bool:
        """Whether most entries lie near their own row.

        A core's own cache then holds most of what is gathered, however many rows there are. By a
        sample of the entries.
        """
        offsets, columns, _ = self.csr_parts
        every = -(-len(columns) // SAMPLED)
        # On the CPU, whatever torch's default device.
        entries = torch.arange(0, len(columns), every, dtype=offsets.dtype, device="cpu")
        rows = torch.searchsorted(offsets, entries, right=True) - 1
        return bool(((rows - columns[::every]).abs() <= NEAR).double().mean() > 0.5)

    def takes(self, *tensors: Tensor) -> bool:
        """Return whether the compiled kernel reads this matrix, and these are not empty."""
        return self.csr_parts[1].dtype == torch.int32 and all(t.numel() for t in tensors)

    @cached_property
    def work(self) -> int:
        """The entries of M and four per row: it is read, added up and written."""
        return len(self.csr_parts[1]) + 4 * (len(self.csr_parts[0]) - 1)

    @property
    def chunks(self) -> tuple[int, int]:
        """How many chunks the rows are cut into, and where the cuts lie in memory."""
        return self._cuts.shape[0] - 1, self._cuts.data_ptr()

    @cached_property
    @made_to_be_kept
    def _cuts(self) -> Tensor:
        """Where rows are cut into chunks of equal work, which depend on the matrix alone."""
        offsets = self.csr_parts[0]
        n = len(offsets) - 1
        n_chunks = max(1, min(MOST_CHUNKS, self.work // CHUNK))
        # On the CPU, whatever torch's default device.
        work = offsets.long() + 4 * torch.arange(n + 1, device="cpu")
        shares = torch.arange(1, n_chunks, device="cpu") * self.work // n_chunks
        inner = torch.searchsorted(work, shares).tolist()
        return torch.tensor([0, *inner, n], device="cpu")


def block_width(n: int, n_entries: int, n_columns: int, n_terms: int, n_bytes: int = 4) -> int:
    """Return the number of columns to process together, so that a cache holds the gathered rows.

    Columns are independent in a recurrence, so its bits do not depend on this. A block
    reads the matrix once more, which pays only where rows are gathered often and fit then.
    """
    column = n_bytes * n
    often = n_terms >= TERMS_WORTH_A_BLOCK and n_entries >= ENTRIES_WORTH_A_BLOCK * n
    fit_anyway = n_columns * column <= OWN_CACHE
    # The rest of the last cache is for the other arrays, which are streamed, and other processes.
    if not often or fit_anyway or LANES * column > LAST_CACHE // 2:
        return n_columns
    return min(n_columns, 2 * LANES if 2 * LANES * column <= LAST_CACHE // 4 else LANES)


def _pointer(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()

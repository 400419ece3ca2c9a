"""The contract of every kernel: the rows of a sparse matrix, ready to multiply."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache, cached_property

import torch
from torch import Tensor

from graphfilter.operators.kernels.factors import Factors


class Rows(ABC):
    """A sparse matrix M on one device, in one precision.

    A row is summed in float32 (float64 for float64 columns) whatever the columns are stored in.
    """

    def __init__(self, factors: Factors, dtype: torch.dtype) -> None:
        self.factors = factors
        self.dtype = dtype

    @cached_property
    def csr(self) -> Tensor:
        """M as a torch CSR tensor."""
        return self.factors.csr(self.dtype)

    @abstractmethod
    def multiply(
        self,
        x: Tensor,
        *,
        out: Tensor,
        scale: float = 1.0,
        keep: float = 0.0,
        values: Tensor | None = None,
    ) -> Tensor:
        """Write ``scale * M x + keep * out`` to ``out``.

        Parameters
        ----------
        x : Tensor (n_columns, c), contiguous
        out : Tensor (n_rows, c), contiguous
        values : Tensor (g, m), optional
            Stand in for the stored entries of M: row i for the i-th of g equal groups of columns.
        """

    def walk(
        self,
        x: Tensor,
        weights: Tensor,
        steps: Sequence[tuple[float, float, float]],
        against: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Walk B_0 x = x, B_1 x, … once, and add them up.

        Returns their sum with ``weights`` and, where ``against`` is given, the inner product of
        each with it.

        Parameters
        ----------
        steps : sequence of K (scale, skip, keep)
            B_{k+1} = scale M B_k + skip B_k + keep B_{k-1}.

        Shapes
        ------
        x, against : (n, g, c);  sum : (n, g * c);  weights, inner products : (K + 1, g)
            All contiguous.
        """
        # No view is returned: autograd would copy a gradient of its size.
        total = torch.empty(len(x), x.shape[1] * x.shape[2], dtype=x.dtype, device=x.device)
        sums = total.view(x.shape)
        current = self.enter(x)
        previous = torch.empty_like(current)
        torch.mul(current, weights[0, :, None], out=sums)
        products = None
        if against is not None:
            products = torch.empty_like(weights)
            inner_products(x, against, out=products[0])
        for k, (scale, skip, keep) in enumerate(steps, start=1):
            self.advance(
                current, previous, scale=scale, skip=skip, keep=keep,
                total=sums, weights=weights[k],
                against=against, products=None if products is None else products[k],
            )  # fmt: skip
            previous, current = current, previous
        self.leave(sums)
        return total, products

    def enter(self, x: Tensor) -> Tensor:
        """Return a copy of x in the coordinates :meth:`advance` walks in."""
        return x.clone(memory_format=torch.contiguous_format)

    def leave(self, y: Tensor) -> Tensor:
        """Bring y back from the coordinates of :meth:`advance`, in place."""
        return y

    @abstractmethod
    def advance(
        self,
        current: Tensor,
        previous: Tensor,
        *,
        scale: float,
        skip: float,
        keep: float,
        total: Tensor,
        weights: Tensor,
        against: Tensor | None = None,
        products: Tensor | None = None,
    ) -> None:
        """Take one step of a three-term recurrence, with the running sums of its gradient.

        ``previous ← scale M current + skip current + keep previous``,
        ``total ← total + weights previous``, ``products ← ⟨previous, against⟩`` in each group.

        Shapes
        ------
        current, previous, total, against : (n, g, c);  weights, products : (g,); all contiguous
        """


def make_rows(factors: Factors, dtype: torch.dtype) -> Rows:
    """Choose the kernel for a matrix where it lies.

    Triton on CUDA, compiled C on a CPU, and torch's own products where there is neither.
    """
    from graphfilter.operators.kernels.native_rows import NativeRows, native_library
    from graphfilter.operators.kernels.torch_rows import TorchRows

    if dtype in (torch.float32, torch.bfloat16) and triton_works(factors.device):
        from graphfilter.operators.kernels.triton_rows import TritonRows

        return TritonRows(factors, dtype)
    if factors.device.type == "cpu" and dtype == torch.float32 and native_library() is not None:
        return NativeRows(factors, dtype)
    return TorchRows(factors, dtype)


@cache
def triton_works(device: torch.device) -> bool:
    """Say whether the fused kernels run on a device, by running one.

    Triton comes with torch's CUDA builds on Linux. It needs a C compiler and a GPU of the last
    years; without either, cuSPARSE does the work.
    """
    if device.type != "cuda":
        return False
    one = torch.ones(1, 8, device=device)
    index = torch.tensor([0, 1], device=device), torch.zeros(1, dtype=torch.int32, device=device)
    try:
        from graphfilter.operators.kernels.triton_rows import TritonRows

        TritonRows(Factors(*index, 1), torch.float32).multiply(one, out=torch.empty_like(one))
    except Exception as error:
        # Compilers and drivers fail in ways of their own; whichever it is, there is another way.
        if not isinstance(error, ModuleNotFoundError):
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            warnings.warn(
                f"the fused GPU kernels cannot run here, slower ones do ({reason}).",
                RuntimeWarning,
                stacklevel=2,
            )
        return False
    return True


def inner_products(x: Tensor, y: Tensor, *, out: Tensor) -> None:
    """Write the inner product of each group of columns: x, y (n, g, c) give (g,)."""
    if x.shape[1] == 1 and x.dtype == out.dtype and x.numel() < 2**31:
        out[0] = torch.dot(x.reshape(-1), y.reshape(-1))
        return
    # In blocks of rows: what is multiplied in full precision stays small.
    out.zero_()
    step = max(2**24 // max(x[0].numel(), 1), 1)
    for start in range(0, len(x), step):
        block = slice(start, start + step)
        out += torch.sum(x[block] * y[block].to(out.dtype), (0, 2))

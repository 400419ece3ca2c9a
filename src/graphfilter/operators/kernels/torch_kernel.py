"""Products by torch's own CSR routines.

The reference; it runs where no faster kernel does: float64, other devices, and installations
without a C compiler or Triton.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from graphfilter.operators.kernels.factored_matrix import make_csr_tensor
from graphfilter.operators.kernels.product_kernel import ProductKernel, Step, Sums, inner_products


class TorchKernel(ProductKernel):
    """See :class:`~graphfilter.operators.kernels.ProductKernel`; any device and precision."""

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        if self.dtype == torch.bfloat16 and not x.is_cuda:
            # torch has no such product on a CPU: in float32, and rounded.
            self._multiply_in_float(x, out, scale, keep, values)
            return
        if values is None:
            torch.addmm(out, self.csr, x, beta=keep, alpha=scale, out=out)
            return
        rows, columns = self.csr.crow_indices(), self.csr.col_indices()
        groups = zip(values, x.chunk(len(values), 1), out.chunk(len(values), 1), strict=True)
        for entries, part, target in groups:
            csr = make_csr_tensor(rows, columns, entries, tuple(self.csr.shape))
            if len(values) == 1:
                torch.addmm(out, csr, x, beta=keep, alpha=scale, out=out)
                return
            target.copy_(torch.addmm(target, csr, part.contiguous(), beta=keep, alpha=scale))

    def _multiply_in_float(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        made = out.float() if keep else torch.zeros(out.shape, device=out.device)
        entries = None if values is None else values.float()
        self._in_float._multiply(x.float(), made, scale, keep, entries)
        out.copy_(made)

    @cached_property
    def _in_float(self) -> TorchKernel:
        return TorchKernel(self.matrix, torch.float32)

    def _advance(self, current: Tensor, previous: Tensor, step: Step, sums: Sums) -> None:
        scale, skip, keep = step
        if skip:
            # What a factor of zero multiplies may be anything, NaN included.
            previous = previous.mul_(keep) if keep else previous.zero_()
            previous.add_(current, alpha=skip)
            keep = 1.0
        n = len(current)
        self._multiply(current.view(n, -1), previous.view(n, -1), scale, keep, None)
        sums.total.addcmul_(previous, sums.weights[:, None])
        if sums.against is not None and sums.products is not None:
            inner_products(previous, sums.against, out=sums.products)

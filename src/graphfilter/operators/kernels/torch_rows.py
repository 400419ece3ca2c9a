"""Products by torch's own CSR routines: the reference, and what runs on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.operators.kernels.factors import csr_tensor
from graphfilter.operators.kernels.rows import Rows, inner_products


class TorchRows(Rows):
    """See :class:`~graphfilter.operators.kernels.Rows`."""

    def multiply(
        self,
        x: Tensor,
        *,
        out: Tensor,
        scale: float = 1.0,
        keep: float = 0.0,
        values: Tensor | None = None,
    ) -> Tensor:
        if values is None:
            return torch.addmm(out, self.csr, x, beta=keep, alpha=scale, out=out)
        rows, columns = self.csr.crow_indices(), self.csr.col_indices()
        groups = zip(values, x.chunk(len(values), 1), out.chunk(len(values), 1), strict=True)
        for entries, part, target in groups:
            csr = csr_tensor(rows, columns, entries, tuple(self.csr.shape))
            if len(values) == 1:
                return torch.addmm(out, csr, x, beta=keep, alpha=scale, out=out)
            target.copy_(torch.addmm(target, csr, part.contiguous(), beta=keep, alpha=scale))
        return out

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
        if skip:
            # What a factor of zero multiplies may be anything, NaN included.
            previous = previous.mul_(keep) if keep else previous.zero_()
            previous.add_(current, alpha=skip)
            keep = 1.0
        n = len(current)
        self.multiply(current.view(n, -1), out=previous.view(n, -1), scale=scale, keep=keep)
        total.addcmul_(previous, weights[:, None])
        if against is not None and products is not None:
            inner_products(previous, against, out=products)

r"""A product of a sparse matrix with its transpose, :math:`M = \mathrm{diag}(d) + B B^\top`.

Multiplied out, a vertex that k others link to fills k² entries: one hub makes the matrix dense. So
it is never formed: two products with B and its transpose give the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.kernels.product_kernel import ProductKernel
from graphfilter.operators.kernels.torch_kernel import TorchKernel
from graphfilter.util.errors import GraphError


@dataclass(frozen=True, eq=False)
class GramMatrix:
    r"""The symmetric matrix :math:`M = \mathrm{diag}(d) + B B^\top`, kept in its factors.

    Attributes
    ----------
    factor, transposed : FactoredMatrix
        B (n, m) and its transpose.
    diagonal : Tensor (n,)
    """

    factor: FactoredMatrix
    transposed: FactoredMatrix
    diagonal: Tensor

    @classmethod
    @made_to_be_kept
    def from_scipy(cls, factor: sp.csr_array, diagonal: Tensor) -> GramMatrix:
        """Take a scipy CSR matrix as B."""
        transposed = FactoredMatrix.from_scipy(factor.T.tocsr())
        return cls(FactoredMatrix.from_scipy(factor), transposed, diagonal.double())

    @property
    def shape(self) -> tuple[int, int]:
        return self.factor.shape[0], self.factor.shape[0]

    @property
    def device(self) -> torch.device:
        return self.factor.device

    @property
    def n_entries(self) -> int:
        """The entries that one product reads."""
        return self.factor.n_entries + self.transposed.n_entries

    @made_to_be_kept
    def to(self, device: torch.device | str) -> GramMatrix:
        """Return the same matrix on another device."""
        return replace(
            self,
            factor=self.factor.to(device),
            transposed=self.transposed.to(device),
            diagonal=self.diagonal.to(device),
        )

    def to_scipy(self) -> sp.csr_array:
        """Return M multiplied out in float64: dense where there are hubs."""
        factor = self.factor.to_scipy()
        return sp.csr_array(factor @ factor.T + sp.diags_array(self.diagonal.cpu().numpy()))

    def to_csr_tensor(self, dtype: torch.dtype) -> Tensor:
        """Return M multiplied out as a torch CSR tensor, for those that need its entries."""
        whole = FactoredMatrix.from_scipy(self.to_scipy()).to(self.device)
        return whole.to_csr_tensor(dtype)


class GramKernel(TorchKernel):
    """Two products with a factor, by the kernel that suits it; any device and precision."""

    def __init__(
        self,
        matrix: GramMatrix,
        dtype: torch.dtype,
        factor: ProductKernel,
        transposed: ProductKernel,
    ) -> None:
        super().__init__(matrix, dtype)
        self._factor, self._transposed = factor, transposed
        diagonal = matrix.diagonal.to(dtype)
        self._diagonal = diagonal if bool(diagonal.any()) else None

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        if values is not None:
            raise GraphError("a matrix that is not multiplied out has no entries to replace.")
        between = x.new_empty(self._transposed.matrix.shape[0], x.shape[1])
        self._transposed.multiply(x, out=between)
        self._factor.multiply(between, out=out, scale=scale, keep=keep)
        if self._diagonal is not None:
            out.addcmul_(x, self._diagonal[:, None], value=scale)

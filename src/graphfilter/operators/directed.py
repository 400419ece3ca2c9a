"""DirectedOperator: a matrix of a directed graph, with its transpose for the gradients."""

from __future__ import annotations

import copy

import torch

from graphfilter.operators.kernels.choice import make_kernel
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix
from graphfilter.operators.kernels.product_kernel import ProductKernel
from graphfilter.operators.operator import Operator


class DirectedOperator(Operator):
    """An operator that is not symmetric: ``operator @ x``, with gradients by its transpose.

    For layers that take directed edges, such as those of sampled neighbourhoods. Polynomials of it
    have the same exact gradients in the same memory; a response over frequencies they have not,
    because its eigenvalues are complex.

    Parameters
    ----------
    matrix, mirror : FactoredMatrix
        The matrix and its transpose.
    interval, kind, device, dtype
        See :class:`Operator`; the interval bounds the absolute value of the eigenvalues.
    """

    def __init__(
        self,
        matrix: FactoredMatrix,
        mirror: FactoredMatrix,
        interval: tuple[float, float],
        kind: str,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(matrix, interval, kind, device=device, dtype=dtype)
        self.mirror: ProductKernel = make_kernel(
            mirror if device is None else mirror.to(device), dtype
        )

    @property
    def transposed(self) -> DirectedOperator:
        """The operator that multiplies gradients."""
        made = copy.copy(self)
        made.kernel, made.mirror = self.mirror, self.kernel
        return made

    def _moved(self, device: torch.device, dtype: torch.dtype) -> DirectedOperator:
        return DirectedOperator(
            self.kernel.matrix, self.mirror.matrix, self.interval, self.kind, device=device,
            dtype=dtype,
        )  # fmt: skip

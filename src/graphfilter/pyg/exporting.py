"""Filters in programs of ``torch.export``: one operation that the program calls by name."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.filters import Filter, polynomials_of
from graphfilter.operators import Basis, FactoredMatrix, Operator, make_kernel

_SCHEMA = (
    "(Tensor x, Tensor weights, Tensor offsets, Tensor columns, Tensor? values, Tensor? scale, "
    "Tensor? diagonal, float sign, float[] basis) -> Tensor"
)


def apply_exported(filter: Filter, operator: Operator, x: Tensor) -> Tensor:
    """Return f(P) x as one operation of an exported program, which holds the matrix as constants.

    It has no gradient, and its kernel is made again in every call.
    """
    operator.check_columns(x)
    matrix = operator.kernel.matrix
    if not isinstance(matrix, FactoredMatrix):
        raise GraphError(f"an operator of kind {operator.kind} cannot be exported.")
    basis, weights = polynomials_of([filter], operator)
    exact = torch.promote_types(x.dtype, torch.float32)
    numbers = [basis.scale, basis.shift, basis.step, basis.back]
    return _polynomial(
        x, weights.to(exact), matrix.offsets, matrix.columns, matrix.values, matrix.scale,
        matrix.diagonal, matrix.sign, numbers,
    )  # fmt: skip


@torch.library.custom_op("graphfilter::polynomial", mutates_args=(), schema=_SCHEMA)
def _polynomial(
    x: Tensor,
    weights: Tensor,
    offsets: Tensor,
    columns: Tensor,
    values: Tensor | None,
    scale: Tensor | None,
    diagonal: Tensor | None,
    sign: float,
    basis: Sequence[float],
) -> Tensor:
    n = len(offsets) - 1
    matrix = FactoredMatrix(offsets, columns, n, values, scale, diagonal, sign)
    steps = [Basis(*basis).step_of(k) for k in range(len(weights) - 1)]
    grouped = x.reshape(n, 1, -1).contiguous()
    return make_kernel(matrix, x.dtype).apply_recurrence(grouped, weights.contiguous(), steps)[0]


@_polynomial.register_fake
def _(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)

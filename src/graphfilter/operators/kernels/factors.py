r"""A sparse matrix in the factors its kernels need: :math:`M = \mathrm{diag}(d) + S A S`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.graph.edges import index_type


@dataclass(frozen=True, eq=False)
class Factors:
    r"""The CSR matrix :math:`M = \mathrm{diag}(d) \pm S A S`, kept in its factors.

    An unweighted graph then needs no values at all: :math:`A_{ij} = 1` wherever it is stored, and
    the normalisation is one number a vertex.

    Attributes
    ----------
    offsets, columns : Tensor (n + 1,), (m,)
        CSR structure of A. int32 where the numbers fit; offsets may be int64 alone.
    n_columns : int
    values : Tensor (m,) or None
        Entries of A; None where all are 1.
    scale, diagonal : Tensor (n,) or None
        S and d; None where they are 1 and 0.
    sign : float
        Of the product S A S.
    """

    offsets: Tensor
    columns: Tensor
    n_columns: int
    values: Tensor | None = None
    scale: Tensor | None = None
    diagonal: Tensor | None = None
    sign: float = 1.0

    def __post_init__(self) -> None:
        assert self.sign == 1 or self.scale is not None

    @classmethod
    def from_scipy(cls, matrix: Any, *, values: bool = True) -> Factors:
        """Take a scipy CSR matrix as A; ``values=False`` says that all its entries are 1."""
        index = index_type(max(matrix.nnz, *matrix.shape))
        return cls(
            torch.tensor(matrix.indptr.astype(index, copy=False)),
            torch.tensor(matrix.indices.astype(index, copy=False)),
            matrix.shape[1],
            torch.tensor(np.asarray(matrix.data, dtype=np.float64)) if values else None,
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.offsets) - 1, self.n_columns

    @property
    def device(self) -> torch.device:
        return self.columns.device

    def to(self, device: torch.device | str) -> Factors:
        """Return the same factors on another device."""
        parts = ("offsets", "columns", "values", "scale", "diagonal")
        moved = {k: v.to(device) for k in parts if (v := getattr(self, k)) is not None}
        return replace(self, **moved)

    def matrix(self) -> sp.csr_array:
        """Return M itself, multiplied out in float64."""
        on_host = self.to("cpu")
        indptr, indices = on_host.offsets.numpy(), on_host.columns.numpy()
        data = np.ones(len(indices)) if self.values is None else _double(on_host.values)
        if on_host.scale is not None:
            scale = _double(on_host.scale)
            rows = np.repeat(scale, np.diff(indptr))
            # The two scales first: their product is the same in both directions to the last bit.
            data = self.sign * data * (rows * scale[indices])
        for shared in (data, indices, indptr):
            shared.flags.writeable = False
        made = sp.csr_array((data, indices, indptr), shape=self.shape)
        if on_host.diagonal is None:
            return made
        return (made + sp.diags_array(_double(on_host.diagonal))).tocsr()

    def csr(self, dtype: torch.dtype) -> Tensor:
        """Return M as a torch CSR tensor, with int32 indices where they fit.

        torch's product on a CPU is several times faster with int32 than with int64 indices.
        """
        plain = self.scale is None and self.diagonal is None and self.values is not None
        factors = self if plain else Factors.from_scipy(self.matrix()).to(self.device)
        values = factors.values
        assert values is not None
        return csr_tensor(factors.offsets, factors.columns, values.to(dtype), self.shape)


def csr_tensor(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Make a torch CSR tensor of its parts, unchecked."""
    with warnings.catch_warnings():
        # torch announces once a process that CSR is "in beta" and, in some versions, that its
        # invariants are not checked; nothing a user can act on.
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
        return torch.sparse_csr_tensor(
            rows.to(columns.dtype), columns, values, size=shape, check_invariants=False
        )


def _double(values: Tensor | None) -> Any:
    assert values is not None
    return values.double().numpy()

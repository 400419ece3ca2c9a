r"""A sparse matrix kept in the factors its kernels need: :math:`M = \mathrm{diag}(d) + S A S`."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.attributes import check_sparse
from graphfilter.data.edges import index_type
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError

_INDEX_TYPES = (torch.int32, torch.int64)
# That are multiplied out at a time, in float64.
ENTRIES_AT_A_TIME = 2**20

# What is made once and kept must also serve training, so it is not made in inference mode: tensors
# of that mode can never take part in it. A decorator.
made_to_be_kept = torch.inference_mode(False)


@dataclass(frozen=True, eq=False)
class FactoredMatrix:
    r"""The CSR matrix :math:`M = \mathrm{diag}(d) \pm S A S`, kept in its factors.

    An unweighted graph then needs no values at all: :math:`A_{ij} = 1` wherever it is stored, and
    the normalisation is one number per vertex.

    The kernels trust it: construction checks its shapes always, and its entries unless ``checked``
    says that they are right. Code that writes to the tensors afterwards must keep them valid.

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
    checked : bool
        Whether the entries are known to be right; True after construction.
    shape, device, n_entries
        Of M, and how many entries one product reads.
    """

    offsets: Tensor
    columns: Tensor
    n_columns: int
    values: Tensor | None = None
    scale: Tensor | None = None
    diagonal: Tensor | None = None
    sign: float = 1.0
    checked: bool = False
    shape: tuple[int, int] = field(init=False)
    device: torch.device = field(init=False)
    n_entries: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.sign == 1 or self.scale is not None
        self._check_shapes()
        if not self.checked:
            self._check_entries()
        made = {"checked": True, "shape": (len(self.offsets) - 1, self.n_columns)}
        made |= {"device": self.columns.device, "n_entries": len(self.columns)}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @classmethod
    @made_to_be_kept
    def from_scipy(
        cls, matrix: Any, *, values: bool = True, dtype: torch.dtype = torch.float64
    ) -> FactoredMatrix:
        """Take a scipy CSR matrix as A; ``values=False`` says that all its entries are 1."""
        check_sparse(matrix, "a matrix")
        index = index_type(max(matrix.nnz, *matrix.shape))
        if values and not np.isfinite(matrix.data).all():
            raise GraphError("the entries of a matrix must be finite; got NaN or infinity.")
        plain = matrix.data.dtype == np.float32
        data = matrix.data if plain else np.asarray(matrix.data, dtype=np.float64)
        return cls(
            torch.tensor(matrix.indptr.astype(index, copy=False)),
            torch.tensor(matrix.indices.astype(index, copy=False)),
            matrix.shape[1],
            torch.tensor(data, dtype=dtype) if values else None,
            checked=True,
        )

    @classmethod
    @made_to_be_kept
    def from_graph(cls, graph: Graph) -> FactoredMatrix:
        """Take the adjacency of a graph as A; one without weights is shared with it, not copied."""
        if graph.weights is not None:
            return cls.from_scipy(graph.adjacency)
        return cls(as_shared(graph.indptr), as_shared(graph.indices), graph.n_vertices)

    def tensors(self) -> list[Tensor]:
        """Return the parts that there are."""
        parts = (self.offsets, self.columns, self.values, self.scale, self.diagonal)
        return [part for part in parts if part is not None]

    @made_to_be_kept
    def to(self, device: torch.device | str) -> FactoredMatrix:
        """Return the same matrix on another device."""
        parts = ("offsets", "columns", "values", "scale", "diagonal")
        moved = {k: v.to(device) for k in parts if (v := getattr(self, k)) is not None}
        return replace(self, **moved)

    def to_scipy(self) -> sp.csr_array:
        """Return M itself, multiplied out in float64."""
        return self.to("cpu")._multiplied(0, self.shape[0])

    def _multiplied(self, first: int, last: int) -> sp.csr_array:
        """Return these rows of M, which lies on the CPU, in float64."""
        indptr = self.offsets.numpy()[first : last + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        indices, indptr = self.columns.numpy()[entries], indptr - indptr[0]
        if self.values is None:
            data = np.ones(len(indices))
        else:
            data = _double(self.values[entries])
        if self.scale is not None:
            scale = _double(self.scale)
            rows = np.repeat(scale[first:last], np.diff(indptr))
            # The two scales first: their product is the same in both directions to the last bit.
            data = self.sign * data * (rows * scale[indices])
        for shared in (data, indices, indptr):
            shared.flags.writeable = False
        made = sp.csr_array((data, indices, indptr), shape=(last - first, self.n_columns))
        if self.diagonal is None:
            return made
        diagonal = _double(self.diagonal)[first:last]
        own = sp.diags_array(diagonal, offsets=first, shape=made.shape)
        return (made + own).tocsr()

    @made_to_be_kept
    def to_csr_tensor(self, dtype: torch.dtype) -> Tensor:
        """Return M as a torch CSR tensor, with int32 indices where they fit.

        torch's product on a CPU is several times faster with int32 than with int64 indices.
        """
        if self.scale is None and self.diagonal is None and self.values is not None:
            values = self.values.to(dtype)
            return make_csr_tensor(self.offsets, self.columns, values, self.shape)
        on_host, n = self.to("cpu"), self.shape[0]
        # At most so many entries; what is not written to takes no memory.
        most = self.n_entries + (n if self.diagonal is not None else 0)
        index = index_type(max(most, *self.shape))
        offsets, columns = np.zeros(n + 1, dtype=index), np.empty(most, dtype=index)
        values = torch.empty(most, dtype=dtype, device="cpu")
        end = 0
        # In blocks of rows: multiplied out, an entry takes four times what is kept of it.
        cuts = np.arange(ENTRIES_AT_A_TIME, self.n_entries, ENTRIES_AT_A_TIME)
        inner = np.searchsorted(on_host.offsets.numpy(), cuts)
        for first, last in itertools.pairwise(np.unique([0, *inner, n]).tolist()):
            rows = on_host._multiplied(first, last)
            offsets[first + 1 : last + 1] = end + rows.indptr[1:]
            columns[end : end + rows.nnz] = rows.indices
            values[end : end + rows.nnz] = torch.from_numpy(rows.data)
            end += rows.nnz
        made = (torch.from_numpy(offsets), torch.from_numpy(columns[:end]), values[:end])
        first, second, third = (part.to(self.device) for part in made)
        return make_csr_tensor(first, second, third, self.shape)

    def _check_shapes(self) -> None:
        """Raise unless the parts fit together; costs nothing, waits for no device."""
        offsets, columns = self.offsets, self.columns
        if offsets.ndim != 1 or columns.ndim != 1 or len(offsets) == 0:
            raise GraphError(
                "the offsets and columns of a CSR matrix must be one-dimensional, with one more "
                f"offset than rows; got shapes {tuple(offsets.shape)} and {tuple(columns.shape)}."
            )
        if offsets.dtype not in _INDEX_TYPES or columns.dtype not in _INDEX_TYPES:
            raise GraphError(
                "the offsets and columns of a CSR matrix must be int32 or int64; "
                f"got {offsets.dtype} and {columns.dtype}."
            )
        n, m = len(offsets) - 1, len(columns)
        parts = {
            "values": (self.values, m, "stored entry"),
            "scale": (self.scale, n, "row"),
            "diagonal": (self.diagonal, n, "row"),
        }
        for name, (part, length, of) in parts.items():
            if part is not None and (part.shape != (length,) or not part.is_floating_point()):
                raise GraphError(
                    f"the {name} of a CSR matrix must be one number per {of} ({length}); "
                    f"got {part.dtype} of shape {tuple(part.shape)}."
                )
        if n != self.n_columns and (self.scale is not None or self.diagonal is not None):
            raise GraphError(
                f"a matrix that is scaled must be square; got {n} rows, {self.n_columns} columns."
            )
        tensors = [offsets, columns, *(part for part, _, _ in parts.values() if part is not None)]
        if any(t.device != columns.device or not t.is_contiguous() for t in tensors):
            raise GraphError(
                "the parts of a CSR matrix must be contiguous and lie on one device; got "
                f"{', '.join(sorted({str(t.device) for t in tensors}))}."
            )

    def _check_entries(self) -> None:
        """Raise unless every entry is inside the matrix and is finite; one pass over each part."""
        offsets, columns = self.offsets, self.columns
        first, last, m = int(offsets[0]), int(offsets[-1]), len(columns)
        if first != 0 or last != m or bool((offsets[1:] < offsets[:-1]).any()):
            raise GraphError(
                "the offsets of a CSR matrix must not fall, and run from 0 to the number of its "
                f"entries ({m}); they run from {first} to {last}."
            )
        if m:
            low, high = int(columns.min()), int(columns.max())
            if low < 0 or high >= self.n_columns:
                raise GraphError(
                    f"the column numbers of a CSR matrix must lie in 0..{self.n_columns - 1}; "
                    f"got {low}..{high}."
                )
        for name in ("values", "scale", "diagonal"):
            part = getattr(self, name)
            if part is not None and not bool(part.isfinite().all()):
                raise GraphError(f"the {name} of a CSR matrix must be finite; got NaN or infinity.")


def as_shared(array: NDArray[Any]) -> Tensor:
    """Return a tensor that shares the memory of an array, which nobody may write to."""
    with warnings.catch_warnings():
        # torch cannot mark a tensor as read-only, and says so.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def make_csr_tensor(
    rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """Make a torch CSR tensor of its parts, which the caller knows to be right."""
    with warnings.catch_warnings():
        # torch announces once per process that CSR is "in beta" and, in some versions, that its
        # invariants are not checked; nothing a user can act on.
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
        index = columns.dtype if len(columns) <= torch.iinfo(columns.dtype).max else torch.int64
        return torch.sparse_csr_tensor(
            rows.to(index), columns.to(index), values, size=shape, check_invariants=False
        )


def _double(values: Tensor | None) -> Any:
    assert values is not None
    return values.double().numpy()

r"""The contract of every kernel: products with one sparse matrix, and polynomials of it.

The matrix is kept in its factors: :math:`M = \mathrm{diag}(d) + S A S`.
"""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.attributes import check_sparse
from graphfilter.data.edges import index_type
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks

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


class Step(NamedTuple):
    """One step of a three-term recurrence: B_{k+1} = scale M B_k + skip B_k + keep B_{k-1}."""

    scale: float
    skip: float
    keep: float


class Sums(NamedTuple):
    """What a step of a recurrence adds to, and what its gradient needs of it.

    Shapes
    ------
    total, against : (n, g, c);  weights, products : (g,); all contiguous
    """

    total: Tensor
    weights: Tensor
    against: Tensor | None
    products: Tensor | None


class ProductKernel(ABC):
    """Multiplies with a sparse matrix M on one device, in one precision.

    A row is summed in float32 (float64 for float64 columns) whatever the columns are stored in.

    The public methods compare shapes, precision, device and layout of what they are given, so
    that nothing else reaches compiled code; a kernel implements those with an underscore.
    """

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        # A FactoredMatrix, or what else a kernel of its own multiplies with (a GramMatrix).
        self.matrix = matrix
        self.dtype = dtype

    @cached_property
    def csr(self) -> Tensor:
        """M as a torch CSR tensor."""
        return self.matrix.to_csr_tensor(self.dtype)

    def multiply(
        self,
        x: Tensor,
        *,
        out: Tensor,
        scale: float = 1.0,
        keep: float = 0.0,
        values: Tensor | None = None,
    ) -> Tensor:
        """Write ``scale * M x + keep * out`` to ``out``, and return it.

        Parameters
        ----------
        x : Tensor (n_columns, c), contiguous
        out : Tensor (n_rows, c), contiguous
            Another tensor than x.
        values : Tensor (g, m), optional
            Replace the stored entries of M: row i for the i-th of g equal groups of columns.
        """
        n_rows, n_columns = self.matrix.shape
        width = x.shape[1] if x.ndim == 2 else -1
        self._check("the columns to multiply", x, (n_columns, width))
        self._check("out", out, (n_rows, width))
        if out.numel() and out.data_ptr() == x.data_ptr():
            raise GraphError("out must be another tensor than the columns to multiply.")
        if values is not None:
            groups = values.shape[0] if values.ndim == 2 else 0
            if groups == 0 or width % groups:
                raise GraphError(
                    "values must have one row for each of g equal groups of columns; got shape "
                    f"{tuple(values.shape)} for {width} columns."
                )
            values = values.contiguous()
            self._check("values", values, (groups, self.matrix.n_entries))
        self._multiply(x, out, scale, keep, values)
        return out

    def apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Make the terms B_0 x = x, B_1 x, … of a three-term recurrence, and add them up.

        Returns their sum with ``weights`` and, where ``against`` is given, the inner product of
        each term with it.

        Shapes
        ------
        x, against : (n, g, c);  sum : (n, g * c);  weights, inner products : (K + 1, g)
            All contiguous. Weights are float32, or float64 where x is; there are K steps.
        """
        n_rows, n = self.matrix.shape
        if n_rows != n:
            raise GraphError(f"a recurrence needs a square matrix; got shape {self.matrix.shape}.")
        shape = (n, *x.shape[1:]) if x.ndim == 3 else (n, -1, -1)
        self._check("the columns to filter", x, shape)
        self._check("weights", weights, (len(steps) + 1, shape[1]), exact=True)
        if against is not None:
            self._check("the columns to compare with", against, shape)
        return self._apply_recurrence(x, weights, steps, against)

    def _check(
        self, what: str, tensor: Tensor, shape: tuple[int, ...], *, exact: bool = False
    ) -> None:
        dtype = torch.promote_types(self.dtype, torch.float32) if exact else self.dtype
        check_tensor(what, tensor, shape, dtype, self.matrix.device)

    @abstractmethod
    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        """See :meth:`multiply`; everything is checked, and ``values`` contiguous."""

    def _apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """See :meth:`apply_recurrence`; one :meth:`_advance` per step unless overridden."""
        # No view is returned: autograd would copy a gradient of its size.
        total = torch.empty(len(x), x.shape[1] * x.shape[2], dtype=x.dtype, device=x.device)
        sums = total.view(x.shape)
        current = self._to_scaled(x)
        previous = torch.empty_like(current)
        torch.mul(current, weights[0, :, None], out=sums)
        products = None
        if against is not None:
            products = torch.empty_like(weights)
            inner_products(x, against, out=products[0])
        for k, step in enumerate(steps, start=1):
            product = None if products is None else products[k]
            self._advance(current, previous, step, Sums(sums, weights[k], against, product))
            previous, current = current, previous
        self._from_scaled(sums)
        return total, products

    def _to_scaled(self, x: Tensor) -> Tensor:
        """Return a copy of x in the coordinates of :meth:`_advance`: x itself unless overridden."""
        return x.clone(memory_format=torch.contiguous_format)

    def _from_scaled(self, y: Tensor) -> Tensor:
        """Bring y back from the coordinates of :meth:`_advance`, in place."""
        return y

    @abstractmethod
    def _advance(self, current: Tensor, previous: Tensor, step: Step, sums: Sums) -> None:
        """Take one step of a three-term recurrence, with the running sums of its gradient.

        ``previous ← scale M current + skip current + keep previous``,
        ``total ← total + weights previous``, ``products ← ⟨previous, against⟩`` in each group.
        Current and previous columns are contiguous, too: (n, g, c).
        """


def check_tensor(
    what: str, tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> None:
    """Raise unless a tensor has this shape, and lies as the kernels read it."""
    if (
        tensor.shape != shape
        or tensor.dtype != dtype
        or tensor.device != device
        or tensor.layout != torch.strided
        or not tensor.is_contiguous()
    ):
        sizes = ", ".join("c" if size < 0 else str(size) for size in shape)
        raise GraphError(
            f"{what} must be a contiguous {dtype} tensor of shape ({sizes}) on {device}; got "
            f"{tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}. Convert it with "
            ".to() and .contiguous()."
        )


def inner_products(x: Tensor, y: Tensor, *, out: Tensor) -> None:
    """Write the inner product of each group of columns: x, y (n, g, c) give (g,)."""
    if x.shape[1] == 1 and x.dtype == out.dtype and x.numel() < 2**31:
        out[0] = torch.dot(x.reshape(-1), y.reshape(-1))
        return
    # In blocks of rows: what is multiplied in full precision stays small.
    out.zero_()
    for block in blocks(len(x), 2**24 // max(x[0].numel(), 1)):
        out += torch.sum(x[block] * y[block].to(out.dtype), (0, 2))


class TorchKernel(ProductKernel):
    """See :class:`~graphfilter.operators.kernels.ProductKernel`; any device and precision."""

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        if self.dtype == torch.bfloat16 and not x.is_cuda:
            # torch has no such product on a CPU: in float32, and rounded.
            made = out.float() if keep else torch.zeros(out.shape, device=out.device)
            entries = None if values is None else values.float()
            self._in_float._multiply(x.float(), made, scale, keep, entries)
            out.copy_(made)
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

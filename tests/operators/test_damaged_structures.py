"""Structures and columns that do not fit: refused before they reach compiled code."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.operators import Operator, SparseFeatures, laplacian
from graphfilter.operators.kernels.native_kernel import NativeKernel, native_library
from graphfilter.operators.kernels.product_kernel import (
    FactoredMatrix,
    ProductKernel,
    Step,
    TorchKernel,
)
from graphfilter.operators.polynomial import Basis, apply_polynomial
from graphfilter.util.errors import GraphError

RING = Graph.from_edges([[i, (i + 1) % 20] for i in range(20)])
OFFSETS = torch.tensor(RING.indptr.astype(np.int64))
COLUMNS = torch.tensor(RING.indices.astype(np.int32))


def changed(tensor: Tensor, place: int, value: int) -> Tensor:
    copy = tensor.clone()
    copy[place] = value
    return copy


DAMAGED = {
    "index too large": (OFFSETS, changed(COLUMNS, 7, 20), "must lie in 0..19; got 0..20"),
    "negative index": (OFFSETS, changed(COLUMNS, 7, -1), "must lie in 0..19; got -1..19"),
    "offsets fall": (changed(OFFSETS, 3, 39), COLUMNS, "must not fall"),
    "negative offset": (changed(OFFSETS, 3, -8), COLUMNS, "must not fall"),
    "not from zero": (changed(OFFSETS, 0, 1), COLUMNS, "from 0"),
    "past the end": (changed(OFFSETS, -1, 10**9), COLUMNS, r"from 0 to 1000000000"),
    "short of the end": (changed(OFFSETS, -1, 39), COLUMNS, r"from 0 to 39"),
    "too few columns": (OFFSETS, COLUMNS[:-5].clone(), r"number of its entries \(35\)"),
    "no offsets": (OFFSETS[:0], COLUMNS, "one more offset than rows"),
    "a table": (OFFSETS, COLUMNS[None], "one-dimensional"),
    "floats": (OFFSETS.double(), COLUMNS, "int32 or int64"),
    "short integers": (OFFSETS, COLUMNS.to(torch.int16), "int32 or int64"),
    "strided": (OFFSETS, torch.stack([COLUMNS, COLUMNS], 1)[:, 0], "contiguous"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_operator_of_tensors_checks_them(damage: str) -> None:
    offsets, columns, problem = DAMAGED[damage]
    with pytest.raises(GraphError, match=problem):
        Operator.from_csr(offsets, columns)
    with pytest.raises(GraphError, match=problem):
        FactoredMatrix(offsets, columns, 20)


def test_operator_of_tensors_takes_them_on_trust_where_told_so() -> None:
    made = Operator.from_csr(OFFSETS, COLUMNS, check=False, kind="laplacian")
    x = torch.ones(20, 2)
    torch.testing.assert_close(made @ x, laplacian(RING) @ x)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"values": torch.ones(39)}, r"one number per stored entry \(40\)"),
        ({"values": torch.ones(40, dtype=torch.int64)}, "got torch.int64"),
        ({"scale": torch.ones(19)}, r"scale of a CSR matrix must be one number per row \(20\)"),
        ({"diagonal": torch.ones(21)}, "diagonal"),
        ({"values": torch.full((40,), torch.nan)}, "values of a CSR matrix must be finite"),
        ({"scale": torch.full((20,), torch.inf)}, "scale of a CSR matrix must be finite"),
        ({"values": torch.ones(40, device="meta")}, "on one device"),
        ({"n_columns": 30, "scale": torch.ones(20)}, "must be square"),
        ({"n_columns": 19}, r"must lie in 0\.\.18"),
    ],
)
def test_matrix_has_parts_that_fit(parts: dict, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        FactoredMatrix(OFFSETS, COLUMNS, **{"n_columns": 20, **parts})


BAD_INDEX = COLUMNS.numpy().copy()
BAD_INDEX[3] = 10**7


def test_operator_of_a_scipy_matrix_checks_it() -> None:
    plain = sp.csr_array((np.ones(40), BAD_INDEX, RING.indptr), shape=(20, 20))
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        Operator(plain, (-1.0, 1.0), "mine")
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        SparseFeatures(plain)
    with pytest.raises(GraphError, match="must be square"):
        Operator(sp.csr_array(np.ones((2, 3))), (-1.0, 1.0), "mine")
    with pytest.raises(GraphError, match=r"symmetric.* by up to 2"):
        Operator(sp.csr_array(np.array([[0.0, 3.0], [1.0, 0.0]])), (-1.0, 1.0), "mine")
    with pytest.raises(GraphError, match="finite"):
        Operator(sp.csr_array(np.array([[0.0, np.nan], [np.nan, 0.0]])), (-1.0, 1.0), "mine")
    with pytest.raises(GraphError, match="scipy sparse matrix; got ndarray"):
        Operator(np.eye(3), (-1.0, 1.0), "mine")  # pyright: ignore
    with pytest.raises(GraphError, match="finite"):
        SparseFeatures(sp.csr_array(np.array([[0.0, np.inf]])))


def test_operator_takes_any_symmetric_scipy_matrix() -> None:
    for form in ("csr", "csc", "coo"):
        made = Operator(laplacian(RING).matrix.asformat(form), (0.0, 2.0), "mine")
        torch.testing.assert_close(made @ torch.eye(20), laplacian(RING) @ torch.eye(20))


def make_triton(matrix: FactoredMatrix, dtype: torch.dtype) -> ProductKernel:
    from graphfilter.operators.kernels.triton_kernel import TritonKernel

    where = "cuda" if torch.cuda.is_available() else "cpu"
    return TritonKernel(matrix.to(where), dtype)


pytestmark = pytest.mark.gpu
MISSING = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no triton")
NOT_BUILT = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
kernels = pytest.mark.parametrize(
    "make",
    [
        pytest.param(TorchKernel, id="torch"),
        pytest.param(NativeKernel, id="native", marks=NOT_BUILT),
        pytest.param(make_triton, id="triton", marks=MISSING),
    ],
)
Make = Callable[[FactoredMatrix, torch.dtype], ProductKernel]


@kernels
@pytest.mark.parametrize(
    ("x", "out", "values"),
    [
        ((19, 16), (20, 16), None),
        ((21, 16), (20, 16), None),
        ((20, 16), (19, 16), None),
        ((20, 16), (20, 15), None),
        ((20, 16), (20, 32), None),
        ((20,), (20,), None),
        ((20, 4, 4), (20, 16), None),
        ((20, 16), (20, 16), (1, 39)),
        ((20, 16), (20, 16), (3, 40)),
        ((20, 16), (20, 16), (0, 40)),
        ((20, 16), (20, 16), (40,)),
    ],
)
def test_product_refuses_sizes_that_do_not_fit(make: Make, x, out, values) -> None:
    kernel = make(FactoredMatrix.from_scipy(RING.adjacency), torch.float32)
    device = kernel.matrix.device
    entries = None if values is None else torch.ones(values, device=device)
    with pytest.raises(GraphError, match="must"):
        kernel.multiply(
            torch.ones(x, device=device), out=torch.ones(out, device=device), values=entries
        )


@kernels
def test_product_refuses_another_precision_device_or_layout(make: Make) -> None:
    kernel = make(FactoredMatrix.from_scipy(RING.adjacency), torch.float32)
    x = torch.ones(20, 16, device=kernel.matrix.device)
    out = torch.empty_like(x)
    strange = [
        x.double(), x.half(), x.long(), torch.ones(20, 16, device="meta"), x.to_sparse(),
        torch.ones(16, 20, device=x.device).T, torch.ones(20, 32, device=x.device)[:, ::2],
    ]  # fmt: skip
    for tensor in strange:
        with pytest.raises(GraphError, match="the columns to multiply must be a contiguous"):
            kernel.multiply(tensor, out=out)
        with pytest.raises(GraphError, match="out must be a contiguous"):
            kernel.multiply(x, out=tensor)
    with pytest.raises(GraphError, match="another tensor"):
        kernel.multiply(x, out=x)
    with pytest.raises(GraphError, match="values must be a contiguous"):
        kernel.multiply(x, out=out, values=torch.ones(1, 40, device=x.device).double())


@kernels
def test_recurrence_refuses_what_does_not_fit(make: Make) -> None:
    kernel = make(FactoredMatrix.from_scipy(RING.adjacency), torch.float32)
    device = kernel.matrix.device

    def ones(*shape: int, **options) -> Tensor:
        return torch.ones(*shape, device=device, **options)

    steps = [Step(1.0, 0.0, 0.0)] * 2
    x, weights = ones(20, 2, 8), ones(3, 2)
    for wrong in (ones(19, 2, 8), ones(20, 16), ones(20, 2, 8, dtype=torch.float64)):
        with pytest.raises(GraphError, match="the columns to filter must be"):
            kernel.apply_recurrence(wrong, weights, steps)
        with pytest.raises(GraphError, match="the columns to compare with must be"):
            kernel.apply_recurrence(x, weights, steps, wrong)
    for wrong in (ones(2, 2), ones(4, 2), ones(3, 1), ones(6), weights.double(), ones(2, 3).T):
        with pytest.raises(GraphError, match="weights must be"):
            kernel.apply_recurrence(x, wrong, steps)
    wide = make(FactoredMatrix.from_scipy(sp.csr_array((20, 30))), torch.float32)
    with pytest.raises(GraphError, match="square"):
        wide.apply_recurrence(x, weights, steps)


def test_public_products_refuse_what_does_not_fit() -> None:
    operator = laplacian(RING)
    with pytest.raises(GraphError, match=r"shape \(20, 16\)"):
        operator.multiply(torch.ones(20, 16), out=torch.ones(19, 16))
    with pytest.raises(GraphError, match=r"shape \(20, 16\)"):
        operator.multiply(torch.ones(3, 16), out=torch.ones(20, 16))
    features = SparseFeatures(sp.csr_array(np.eye(6, 4)))
    with pytest.raises(GraphError, match=r"shape \(4, 16\)"):
        features.project(torch.ones(3, 16))
    with pytest.raises(GraphError, match="rows and columns"):
        features.project(torch.ones(4))
    for values in (torch.ones(1, 3), torch.ones(4), torch.ones(1, 5)):
        with pytest.raises(GraphError, match="one number per stored entry"):
            features.project(torch.ones(4, 16), values)
        with pytest.raises(GraphError, match="one number per stored entry"):
            features.product(torch.ones(6, 16), values, transposed=True)
    with pytest.raises(GraphError, match="one equal group per polynomial"):
        apply_polynomial(operator, Basis.powers(), torch.ones(3, 2), torch.ones(20, 5))
    with pytest.raises(GraphError, match="one equal group per polynomial"):
        apply_polynomial(operator, Basis.powers(), torch.ones(0), torch.ones(20, 5))

"""How products with a sparse matrix run on a device.

:class:`FactoredMatrix` holds the matrix; a :class:`ProductKernel` multiplies with it. Which one
runs is decided once per matrix, by :func:`make_kernel`:

=================== ======================================================== ===================
kernel              runs                                                     precisions
=================== ======================================================== ===================
``triton_kernel``   on CUDA, where Triton is installed and works             float32, bfloat16
``native_kernel``   on a CPU, where ``native.c`` was compiled at install     float32, bfloat16
``TorchKernel``     everywhere else, and wherever float64 is asked for       all
``GramKernel``      for a matrix kept as B Bᵀ: two products by one of those  all
=================== ======================================================== ===================

``tests/contracts/test_kernel_contract.py`` checks all of them against dense float64 products.
"""

from __future__ import annotations

import threading
import warnings
from functools import cache

import torch

from graphfilter.operators.kernels.native_kernel import NativeKernel, native_library
from graphfilter.operators.kernels.product_kernel import (
    FactoredMatrix,
    GramKernel,
    GramMatrix,
    ProductKernel,
    TorchKernel,
)


def make_kernel(matrix: FactoredMatrix | GramMatrix, dtype: torch.dtype) -> ProductKernel:
    """Choose the kernel for a matrix where it lies; the table in ``kernels`` says which."""
    if isinstance(matrix, GramMatrix):
        factors = (make_kernel(part, dtype) for part in (matrix.factor, matrix.transposed))
        return GramKernel(matrix, dtype, *factors)
    fast, on = dtype in (torch.float32, torch.bfloat16), matrix.device.type
    if fast and on == "cuda" and triton_works(matrix.device):
        from graphfilter.operators.kernels.triton_kernel import TritonKernel

        return TritonKernel(matrix, dtype)
    if fast and on == "cpu" and native_library() is not None:
        return NativeKernel(matrix, dtype)
    return TorchKernel(matrix, dtype)


# Members of a committee ask from several threads; compiling the first kernel takes a while.
_ASKING = threading.Lock()


def triton_works(device: torch.device) -> bool:
    """Return whether the fused kernels run on a device, by running one the first time.

    Triton comes with torch's CUDA builds on Linux. It needs a C compiler and a recent GPU;
    without either, cuSPARSE does the work.
    """
    if device.type != "cuda":
        return False
    with _ASKING:
        return _runs_a_kernel(device)


@cache
def _runs_a_kernel(device: torch.device) -> bool:
    # As features meet hidden columns, so that the kernel is compiled for more than this.
    one = torch.ones(1, 64, dtype=torch.float32, device=device)
    offsets = torch.tensor([0, 1], dtype=torch.int32, device=device)
    try:
        from graphfilter.operators.kernels.triton_kernel import TritonKernel, make_driver

        make_driver()
        matrix = FactoredMatrix(offsets, offsets[:1].clone(), 1, values=one[0, :1].clone())
        kernel = TritonKernel(matrix, torch.float32)
        kernel.multiply(one, out=torch.empty_like(one))
    except Exception as error:
        # Compilers and drivers raise errors of many types; whichever it is, there is a fallback.
        if not isinstance(error, ModuleNotFoundError):
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            warnings.warn(
                f"the fused GPU kernels cannot run here; slower ones are used ({reason}).",
                RuntimeWarning,
                stacklevel=2,
            )
        return False
    return True

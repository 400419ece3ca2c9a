"""How one product with a sparse matrix runs on a device.

:class:`Rows` is the contract: torch's CSR product everywhere (:mod:`.torch_rows`), the reference,
and fused Triton kernels on CUDA (:mod:`.triton_rows`). The operator's device and precision choose.
"""

from graphfilter.operators.kernels.factors import Factors
from graphfilter.operators.kernels.rows import Rows, inner_products, make_rows

__all__ = ["Factors", "Rows", "inner_products", "make_rows"]

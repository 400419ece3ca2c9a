"""How products with a sparse matrix run on a device.

:class:`FactoredMatrix` holds the matrix; a :class:`ProductKernel` multiplies with it. Which one
runs is decided once per matrix, by :func:`make_kernel`:

=================== ======================================================== ===================
kernel              runs                                                     precisions
=================== ======================================================== ===================
``triton_kernel``   on CUDA, where Triton is installed and works             float32, bfloat16
``native_kernel``   on a CPU, where ``native.c`` was compiled at install     float32, bfloat16
``torch_kernel``    everywhere else, and wherever float64 is asked for       all
``gram_kernel``     for a matrix kept as B Bᵀ: two products by one of those  all
=================== ======================================================== ===================

``tests/contracts/test_kernel_contract.py`` checks all of them against dense float64 products.
"""

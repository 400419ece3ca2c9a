"""Compiled code: damaged structures, sanitizers, and the modes of torch it works in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.operators import SparseFeatures, augmented_adjacency
from graphfilter.operators.kernels import native_kernel
from graphfilter.operators.polynomial import Basis, apply_polynomial

TESTS = Path(__file__).parents[1]
SOURCE = Path(native_kernel.__file__).with_name("native.c")
SANITIZE = "-fsanitize=address,undefined"
# For this processor alone, not optimised, with line numbers alone: compiled in a tenth of the time.
FLAGS = [
    "-O0", "-g1", "-march=native", "-fPIC", "-fopenmp",
    SANITIZE, "-fno-sanitize-recover=all",
]  # fmt: skip

# The contract tests and then, past the checks of the public method, a write outside of an array.
SCRIPT = """
import sys
from pathlib import Path
import pytest
from graphfilter.operators.kernels import native_kernel

native_kernel.LIBRARY = Path(sys.argv[1])
assert native_kernel.native_library() is not None, "the sanitized library cannot be loaded"
print("tests ended with", int(pytest.main(sys.argv[2:])), flush=True)

import torch
from graphfilter.data.graph import Graph
from graphfilter.operators import adjacency

operator = adjacency(Graph.from_edges([[0, 1], [1, 2]]))
operator.kernel._multiply(torch.ones(3, 16), torch.ones(1, 16), 1.0, 0.0, None)
print("written", flush=True)
"""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The library compiled with the sanitizers, and the environment it runs in."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux")
    folder = tmp_path_factory.mktemp("sanitized")
    made, library = folder / "native.o", folder / "native.so"
    runtimes = []
    for name in ("libasan.so", "libubsan.so"):
        asked = [compiler, f"-print-file-name={name}"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(found).is_file():
            pytest.skip(f"the compiler has no {name}")
        runtimes.append(found)
    for words in (
        [*FLAGS, "-c", str(SOURCE), "-o", str(made)],
        ["-shared", SANITIZE, str(made), "-o", str(library)],
    ):
        subprocess.run([compiler, *words], check=True, capture_output=True)
    # Python and torch leave memory to the system at exit: leaks are not looked for.
    environment = {"LD_PRELOAD": " ".join(runtimes), "ASAN_OPTIONS": "detect_leaks=0"}
    return library, {**os.environ, **environment}


@pytest.fixture(scope="module")
def done(sanitized: tuple[Path, dict[str, str]]) -> subprocess.CompletedProcess[str]:
    library, environment = sanitized
    words = [
        "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "native or compiled",
        str(TESTS / "contracts" / "test_kernel_contract.py"),
        str(TESTS / "contracts" / "test_layer_contract.py"),
        str(TESTS / "contracts" / "test_residual_contract.py"),
        str(TESTS / "operators" / "test_damaged_structures.py"),
    ]  # fmt: skip
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(library), *words],
        env=environment, capture_output=True, text=True, cwd=TESTS.parent, check=False,
    )  # fmt: skip


def test_compiled_kernel_keeps_its_contract_under_sanitizers(done) -> None:
    """The first error that they find ends the process, and the tests with it."""
    assert " passed" in done.stdout
    assert "tests ended with 0\n" in done.stdout, done.stdout + done.stderr


def test_sanitizers_see_a_write_outside_of_an_array(done) -> None:
    """The test above could fail."""
    assert done.returncode != 0
    assert "written" not in done.stdout
    assert "heap-buffer-overflow" in done.stderr


GRAPH = make_csbm(n_vertices=60, mean_degree=6, n_features=8)
MATRIX = sp.random_array((60, 40), density=0.2, rng=0).tocsr()


@contextmanager
def default_dtype() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


MODES = {"no_grad": torch.no_grad, "inference": torch.inference_mode, "float64": default_dtype}
modes = pytest.mark.parametrize("mode", MODES)


def mode_named(name: str) -> AbstractContextManager[object]:
    return MODES[name]()


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float32)


def products(width: int) -> list[Tensor]:
    """Everything that reaches a kernel, on an operator and features made here and now."""
    operator, features = augmented_adjacency(GRAPH), SparseFeatures(MATRIX)
    x = normal(60, 2 * width)
    weights = normal(4, 2)
    return [
        operator @ x,
        operator.multiply(x, out=torch.empty_like(x)),
        apply_polynomial(operator, Basis.chebyshev(-1.0, 1.0), weights, x),
        features.project(normal(40, width)),
        features.project(normal(40, 2 * width), normal(2, MATRIX.nnz)),
        features.to_dense(),
    ]


@modes
@pytest.mark.parametrize("width", [5, 16])
def test_products_are_the_same_in_every_mode(mode: str, width: int) -> None:
    expected = products(width)
    with mode_named(mode):
        got = products(width)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == torch.float32
        assert torch.equal(a, b)


@modes
def test_operator_made_in_a_mode_trains_outside_of_it(mode: str) -> None:
    """Nothing that is kept for later, such as the CSR tensor, is bound to the mode."""
    gradients = []
    for inside in (False, True):
        with mode_named(mode) if inside else torch.enable_grad():
            operator, features = augmented_adjacency(GRAPH), SparseFeatures(MATRIX)
            operator.multiply(normal(60, 16), out=torch.empty(60, 16, dtype=torch.float32))
            features.project(normal(40, 16))
        filter_ = StackedFilter(3)
        weight = normal(40, 6).requires_grad_()
        y = filter_(operator, features.project(weight, features.values[None] * 2))
        gradients.append(torch.autograd.grad(y.square().sum(), [weight, *filter_.parameters()]))
    for a, b in zip(*gradients, strict=True):
        assert torch.equal(a, b)


def test_gradients_are_the_same_with_float64_by_default() -> None:
    gradients = []
    for wide in (False, True):
        filter_ = StackedFilter(3)
        operator, x = augmented_adjacency(GRAPH), normal(60, 6).requires_grad_()
        with default_dtype() if wide else torch.enable_grad():
            y = filter_(operator, x)
            gradients.append(torch.autograd.grad(y.square().sum(), [x, *filter_.parameters()]))
    for a, b in zip(*gradients, strict=True):
        assert torch.equal(a, b)


class Made(TorchDispatchMode):
    """Records the type of every tensor that is made."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self.dtypes.add(made.dtype)
        return made


@pytest.mark.parametrize("width", [5, 16])
def test_scratch_memory_is_of_the_type_of_the_columns(width: int) -> None:
    """Compiled code counts in floats, whatever torch's default type."""
    operator, x, weights = augmented_adjacency(GRAPH), normal(60, width), normal(4, 1)
    basis = Basis.chebyshev(-1.0, 1.0)
    apply_polynomial(operator, basis, weights, x)
    with default_dtype(), Made() as made:
        apply_polynomial(operator, basis, weights, x)
    assert torch.float32 in made.dtypes
    assert torch.float64 not in made.dtypes

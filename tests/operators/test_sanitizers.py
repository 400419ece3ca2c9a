"""The compiled kernel under the address and undefined-behaviour sanitizers.

It is compiled once more with both, and its contract tests run against that library in a process of
their own: a read or write outside of an array, which may go unnoticed otherwise, ends it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphfilter.operators.kernels import native_kernel

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

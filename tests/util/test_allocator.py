"""Freed memory stays with the process: counted in page faults, in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
import torch
from graphfilter.util.machine import keep_freed_memory

def use():
    for _ in range(3):
        [torch.ones(2**20) for _ in range(20)]

if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(10):  # The heap grows where small things lie between the arrays, until all fit.
    use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_that_is_freed_is_used_again_without_page_faults() -> None:
    command = [sys.executable, "-c", "import sys\n" + COUNT_FAULTS, "keep"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # 60 arrays of 1024 pages each, twenty of which are there at a time.
    assert int(done.stdout) < 1024

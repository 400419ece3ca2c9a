"""Freed memory stays with the process: counted in page faults, in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
import torch
from graphfilter.runtime.allocator import keep_freed_memory

def use():
    for _ in range(3):
        [torch.ones(2**20) for _ in range(20)]

if sys.argv[1] == "keep":
    keep_freed_memory()
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_that_is_freed_is_used_again_without_page_faults() -> None:
    command = [sys.executable, "-c", "import sys\n" + COUNT_FAULTS, "keep"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Of 60 arrays of 1,024 pages each, all of which would fault if they were mapped anew; where
    # the first ones left no room for a few, those do.
    assert int(done.stdout) < 10 * 1024

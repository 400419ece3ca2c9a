"""What the C library does with memory that is freed.

glibc returns freed memory to the system and fetches it again page by page: some 5,000 page faults
in an epoch on Pubmed, a sixth of its time. Here it keeps what one epoch frees for the next.

This module is imported without torch.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

# As in glibc's malloc.h, and the largest block that may stay with the process.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 2**25
# So much freed memory stays with the process.
KEPT = 2**28


@cache
def keep_freed_memory() -> None:
    """Let the memory that one epoch frees be used by the next, from now on.

    What the user has set in the environment stays.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return  # Another C library has another rule.
    mallopt(MMAP_THRESHOLD, LARGEST_BLOCK)
    mallopt(TRIM_THRESHOLD, KEPT)

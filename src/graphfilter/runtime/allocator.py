"""What the C library does with memory that is freed.

glibc returns freed memory to the system beyond twice the largest block that was ever freed, and
fetches it again page by page: 450 page faults in an epoch on Cora, a tenth of its time. A program
that has once freed a large array is not slowed down so; this module makes every one such.

This module is imported without torch.
"""

from __future__ import annotations

from functools import cache

# Freed memory of up to twice as many bytes then stays with the process.
SHOWN = 2**24


@cache
def keep_freed_memory() -> None:
    """Let the memory that one epoch frees be used by the next, from now on.

    A block is asked for and freed at once. It is never written to, so that it takes no memory.
    """
    import torch

    torch.empty(SHOWN, dtype=torch.uint8, device="cpu")

"""A part of a soak in a process of its own: ``python -m tests.soak.block KIND NUMBER SIZE RESULT``.

What went wrong is written to the file RESULT, as JSON; there is none where the process ended
before.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.util import get_temp_dir
from pathlib import Path

from tests.soak.builds import race_builds
from tests.soak.growth import MOST_GROWTH_MB, soak_fits, soak_studio
from tests.soak.kills import kill_bench, kill_fit

from graphfilter.storage import write_json

# For each kind: how much one process does, and how. Memory that grows slowly shows over many fits
# or requests; of the others the start of the process should not be most of the work.
KINDS: dict[str, tuple[int, Callable[[Path, int, int], list[str]]]] = {
    "fits": (200, lambda folder, n, number: soak_fits(folder, n, MOST_GROWTH_MB)),
    "requests": (2000, lambda folder, n, number: soak_studio(folder, n, MOST_GROWTH_MB)),
    "kills of fit": (10, kill_fit),
    "kills of bench": (10, kill_bench),
    "pairs of builds": (50, race_builds),
}


def run_block(kind: str, number: int, size: int) -> list[str]:
    """Do one block; return what went wrong."""
    # What starts processes keeps a folder of its own for as long as this process lives.
    get_temp_dir()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        # Whatever anything below leaves in the temporary folder is found there.
        os.environ["TMPDIR"] = name
        tempfile.tempdir = name
        return KINDS[kind][1](Path(name), size, number)


if __name__ == "__main__":
    kind, number, size, result = sys.argv[1:]
    write_json(Path(result), run_block(kind, int(number), int(size)))

"""Run the package for long, and kill it often: nothing may grow, and nothing may be lost.

    python -m tests.soak --fits 1000 --requests 10000 --kills 200

Ends with exit code 1 where something grew or a resumed run differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.util import get_temp_dir
from pathlib import Path

from tests.soak.growth import soak_fits, soak_studio
from tests.soak.kills import kill_bench, kill_fit


def main(words: Sequence[str] | None = None) -> list[str]:
    """Soak as these words say; return what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=0, help="small fits in one process")
    parser.add_argument("--requests", type=int, default=0, help="requests to one studio")
    parser.add_argument("--kills", type=int, default=0, help="of fit, and as many of bench")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument(
        "--most-growth", type=float, default=24.0, help="of memory, in MB; caches need some"
    )
    options = parser.parse_args(words)
    problems: list[str] = []
    # What starts processes keeps a folder of its own for as long as this process lives.
    get_temp_dir()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        # Whatever anything below leaves in the temporary folder is found there.
        os.environ["TMPDIR"] = name
        tempfile.tempdir = name
        folder = Path(name)
        if options.fits:
            problems += soak_fits(folder, options.fits, options.most_growth)
        if options.requests:
            problems += soak_studio(folder, options.requests, options.most_growth)
        if options.kills:
            problems += kill_fit(folder, options.kills, options.seed)
            problems += kill_bench(folder, options.kills, options.seed)
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return problems


if __name__ == "__main__":
    sys.exit(1 if main() else 0)

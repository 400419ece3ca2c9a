"""The process that reads mutants: ``python -m tests.fuzz.worker FORMAT:START:STOP ...``.

It says the number of each mutant before it reads it, so that whoever started it knows which one
ended it. ``FORMAT:NUMBER`` and a folder write that mutant there instead.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

from tests.fuzz.memory import PeakMemory
from tests.fuzz.samples import Format, Samples

from graphfilter.errors import GraphFilterError

MOST_BYTES = 500 << 20
MOST_CHARACTERS = 5000
# Beyond this the system refuses, so that a bomb cannot take the machine down.
CEILING_BYTES = 3 << 30


def read_mutants(samples: Samples, start: int, stop: int) -> None:
    """Read mutants, and print those that end in anything but a sound result or our error."""
    name, read = samples.name, samples.read
    for number in range(start, stop):
        print(f"at {name} {number}", flush=True)
        samples.mutate(number)
        peak, problem = PeakMemory(), ""
        try:
            with warnings.catch_warnings(record=True):
                read(samples.copy)
        except GraphFilterError as error:
            if "\n" in str(error) or len(str(error)) > MOST_CHARACTERS:
                problem = f"an error of {len(str(error))} characters or several lines"
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            text = " ".join(str(error).split())[:160].encode("ascii", "replace").decode()
            problem = f"{type(error).__name__} at {place}: {text}"
        if (grown := peak.grown()) > MOST_BYTES:
            problem += f" {grown >> 20} MB of memory"
        if problem:
            print(f"found {name} {number} {problem}", flush=True)


def limit_memory() -> None:
    """Let the system refuse more memory than is good for the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limit = pages * resource.getpagesize() + CEILING_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def all_formats() -> Mapping[str, Format]:
    import torch
    from tests.fuzz.formats import FORMATS

    torch.set_num_threads(1)
    return FORMATS


def main(*jobs: str, formats: Mapping[str, Format] | None = None) -> None:
    formats = all_formats() if formats is None else formats
    if jobs[0].count(":") == 1:
        name, number = jobs[0].split(":")
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            samples = Samples(name, formats[name], Path(folder))
            samples.mutate(int(number))
            shutil.copytree(samples.copy, jobs[1])
        return
    limit_memory()
    for name, start, stop in (job.split(":") for job in jobs):
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            samples = Samples(name, formats[name], Path(folder))
            # Imports whatever it needs, which is not a mutant's doing; and the sample is sound.
            samples.read(samples.copy)
            samples.restore()
            read_mutants(samples, int(start), int(stop))


if __name__ == "__main__":
    main(*sys.argv[1:])

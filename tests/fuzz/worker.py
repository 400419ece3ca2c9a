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
from typing import Any

import numpy as np

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

from tests.fuzz.memory import PeakMemory
from tests.fuzz.samples import Format, Samples

from graphfilter.errors import GraphFilterError

MOST_BYTES = 500 << 20
MOST_CHARACTERS = 5000
# Beyond this the system refuses, so that a bomb cannot take the machine down.
CEILING_BYTES = 3 << 30


def wrong_answer(answer: Any, good: Any, *, must_be_good: bool) -> str:
    """Return what is wrong with an answer: numbers that are not finite, or not the sample's."""
    if not isinstance(answer, bytes) and answer is not None and not np.isfinite(answer).all():
        return "an answer that is not finite"
    same = answer == good if isinstance(answer, bytes | None) else np.array_equal(answer, good)
    return "another answer than the sample's" if must_be_good and not same else ""


def read_mutants(samples: Samples, start: int, stop: int, good: Any = None) -> None:
    """Read mutants, and print those that end in anything but a sound result or our error."""
    name, read = samples.name, samples.read
    for number in range(start, stop):
        print(f"at {name} {number}", flush=True)
        must_be_good = samples.mutate(number)
        peak, problem = PeakMemory(), ""
        try:
            with warnings.catch_warnings(record=True):
                answer = read(samples.copy)
            problem = wrong_answer(answer, good, must_be_good=must_be_good)
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
            good = samples.read(samples.copy)
            samples.restore()
            read_mutants(samples, int(start), int(stop), good)


if __name__ == "__main__":
    main(*sys.argv[1:])

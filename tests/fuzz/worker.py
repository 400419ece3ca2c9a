"""The process that reads mutants: ``python -m tests.fuzz.worker``, and lines FORMAT:START:STOP.

It says the number of each mutant before it reads it, so that whoever started it knows which one
ended it. ``FORMAT:NUMBER`` and a folder as arguments write that mutant there instead.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.memory import PeakMemory
from tests.fuzz.samples import Format, Samples

from graphfilter.errors import GraphFilterError

MOST_BYTES = 500 << 20
# Growth that is counted from anew. What is below may add up to as much for a later mutant.
COUNTED_BYTES = 50 << 20
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
    peak = PeakMemory()
    for number in range(start, stop):
        print(f"at {name} {number}", flush=True)
        must_be_good = samples.mutate(number)
        problem = ""
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
        if (grown := peak.grown()) > COUNTED_BYTES:
            peak = PeakMemory()
        if grown > MOST_BYTES:
            problem += f" {grown >> 20} MB of memory"
        if problem:
            print(f"found {name} {number} {problem}", flush=True)


def limit_memory() -> None:
    """Let the system refuse more memory than is good for the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limit = pages * resource.getpagesize() + CEILING_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def all_formats() -> Mapping[str, Format]:
    import pyarrow as pa
    import torch
    from tests.fuzz.formats import FORMATS

    torch.set_num_threads(1)
    pa.set_cpu_count(1)
    return FORMATS


def write_mutant(name: str, number: int, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        samples = Samples(name, all_formats()[name], Path(folder))
        samples.mutate(number)
        shutil.copytree(samples.copy, target)


def main(formats: Mapping[str, Format], jobs: Iterable[str] = sys.stdin) -> None:
    limit_memory()
    os.fsync = lambda fd: None  # Nothing here must last through a power cut.
    made: dict[str, tuple[Samples, Any]] = {}
    for job in jobs:
        name, start, stop = job.split(":")
        if name not in made:
            samples = Samples(name, formats[name], Path(tempfile.mkdtemp(prefix="fuzz-")))
            # Imports whatever it needs, which is not a mutant's doing; and the sample is sound.
            made[name] = samples, samples.read(samples.copy)
            gc.freeze()
        read_mutants(made[name][0], int(start), int(stop), made[name][1])
        print("done", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main(all_formats())
    else:
        form, number = sys.argv[1].split(":")
        write_mutant(form, int(number), Path(sys.argv[2]))

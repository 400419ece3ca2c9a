"""A worker with a format that does harm, to check the runner by."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests.fuzz import worker
from tests.fuzz.samples import Format


def write(folder: Path) -> None:
    (folder / "sample").write_bytes(b"x")


class Reader:
    """Harm on some readings; the first is of the good sample."""

    def __init__(self, start: int) -> None:
        self.number = start - 1
        self.is_first = True

    def __call__(self, folder: Path) -> None:
        if self.is_first:
            self.is_first = False
            return
        self.number += 1
        if self.number == 1:
            raise KeyError("one")
        if self.number == 3:
            os._exit(9)
        if self.number == 5:
            time.sleep(600)
        if self.number == 7:
            assert bytes(range(256)) * (600 << 12)


if __name__ == "__main__":
    job = sys.stdin.readline()
    broken = Format(write, Reader(int(job.split(":")[1])))
    worker.main({"broken": broken}, [job])

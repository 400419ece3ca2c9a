"""A good sample of a format, and damaged copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutate import mutate_file


@dataclass(frozen=True)
class Format:
    """How a sample is written into a folder, and read from it again."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


class Samples:
    """A good sample, and damaged copies of it."""

    def __init__(self, name: str, form: Format, folder: Path) -> None:
        self.name, self._good, self.copy = name, folder / "good", folder / "copy"
        self.read = form.read
        self._good.mkdir()
        form.write(self._good)
        shutil.copytree(self._good, self.copy)
        self._files = sorted(
            path.relative_to(self._good) for path in self._good.rglob("*") if path.is_file()
        )
        self._contents = [(self._good / file).read_bytes() for file in self._files]

    def restore(self) -> None:
        """Make the copy as good as the sample: reading a checkpoint writes it too."""
        shutil.rmtree(self.copy)
        shutil.copytree(self._good, self.copy)

    def mutate(self, number: int) -> None:
        """Make the copy the mutant of this number."""
        self.restore()
        random = Random(f"{self.name} {number}")
        mutate_file(self.copy / random.choice(self._files), self._contents, random)

"""A good sample of a format, and damaged copies of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.fuzz.mutate import mutate, mutate_file

from graphfilter.graph import Graph


@dataclass(frozen=True)
class Format:
    """How a sample is written into a folder, and read from it again.

    Where the files carry checksums, ``sign`` makes those of a damaged folder true again, and what
    is read is an answer (bytes or numbers): of damage that is not signed it must be the sample's.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    sign: Callable[[Path], None] | None = None


class Samples:
    """A good sample, and damaged copies of it."""

    def __init__(self, name: str, form: Format, folder: Path) -> None:
        self.name, self._good, self.copy = name, folder / "good", folder / "copy"
        self.read, self._sign = form.read, form.sign
        self._good.mkdir()
        form.write(self._good)
        shutil.copytree(self._good, self.copy)
        self._files = sorted(
            path.relative_to(self._good) for path in self._good.rglob("*") if path.is_file()
        )
        self._contents = [(self._good / file).read_bytes() for file in self._files]
        self._names = _names(self.copy)

    def restore(self) -> None:
        """Make the copy as good as the sample: reading a checkpoint writes it too."""
        if _names(self.copy) != self._names:
            shutil.rmtree(self.copy)
            shutil.copytree(self._good, self.copy)
        for file, content in zip(self._files, self._contents, strict=True):
            (self.copy / file).write_bytes(content)

    def mutate(self, number: int) -> bool:
        """Make the copy the mutant of this number; return whether checksums must find its damage.

        Half of the mutants of a format with checksums are signed again.
        """
        self.restore()
        random = Random(f"{self.name} {number}")
        path = self.copy / random.choice(self._files)
        if self._sign is not None and random.random() < 0.5:
            path.write_bytes(mutate(path.read_bytes(), self._contents, random))
            return True
        mutate_file(path, self._contents, random)
        if self._sign is not None:
            # What cannot be read cannot be signed.
            with suppress(Exception):
                self._sign(self.copy)
        return False


def check_graph(graph: Graph) -> None:
    """Raise unless a graph that was read is sound."""
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == len(graph.indices)
    assert (np.diff(graph.indptr) >= 0).all()
    assert not len(graph.indices) or 0 <= graph.indices.min() <= graph.indices.max()
    assert not len(graph.indices) or graph.indices.max() < graph.n_vertices
    assert graph.labels is None or -1 <= graph.labels.min() <= graph.labels.max() < graph.n_classes
    assert graph.features is None or graph.features.shape[0] == graph.n_vertices
    names = (*(graph.vertex_names or ()), *graph.classes.tolist(), graph.name, *graph.notes)
    assert all(name.encode() is not None for name in names if isinstance(name, str))
    for split in graph.splits:
        split.check(graph.n_vertices)


def _names(folder: Path) -> list[tuple[str, list[str]]]:
    """Return all names in a folder, by the folder they are in."""
    return sorted((place, sorted(folders + files)) for place, folders, files in os.walk(folder))

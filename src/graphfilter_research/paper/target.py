"""Target: a table or figure of the paper that can be measured again. Each file declares its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from graphfilter.util.errors import DataFileError
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.lines import find_lines
from graphfilter_research.paper.comparison import ComparedAccuracy
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.records import remedy
from graphfilter_research.paper.tables import Rendered


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """A table or figure of the paper.

    Attributes
    ----------
    name : str
        Of its files, and on the command line.
    summary : str
        One line for a list of targets.
    has_quick : bool
        Whether --quick leaves records of its own.
    is_variant : bool
        Whether it goes beyond the paper's tables and figures: among all targets it is run only
        with --variants; without, it is built where it is on record.
    """

    name: str
    summary: str
    has_quick: bool = True
    is_variant: bool = False
    is_trained: ClassVar[bool] = True
    """Whether it has runs; else it is measured in seconds from the datasets alone."""

    @abstractmethod
    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        """Run what is not on record in a folder; return notes on what was left out.

        Each run is appended as it ends: stopped and called again, it resumes.
        """

    @abstractmethod
    def build(self, folder: Path, options: Options) -> Rendered:
        """Make the table or figure from a folder's records, without training."""

    def render(self, folder: Path, options: Options) -> Rendered:
        """Return the table or figure of a folder's records; raise where there is none to show."""
        rendered = self.build(folder, options)
        if _is_empty(rendered):
            makes = remedy(folder, self.records(options))
            problem = f"holds no records of {self.name}; {makes}"
            raise DataFileError(self._path(folder, options), problem)
        return rendered

    def records(self, options: Options) -> str:
        """Return the name of the target's record file, without its suffix."""
        return options.file_name(self.name) if self.has_quick else self.name

    def is_on_record(self, folder: Path, options: Options) -> bool:
        """Return whether a folder holds the target's records; an empty file holds none."""
        path = self._path(folder, options)
        return path.is_file() and path.stat().st_size > 0

    def _path(self, folder: Path, options: Options) -> Path:
        name = self.records(options)
        return find_lines(folder, name) or folder / f"{name}.json"


@dataclass(frozen=True, kw_only=True)
class MeasuredTarget(Target):
    """A target without runs: ``measure`` and ``show`` are what collects and builds it."""

    measure: Callable[[Path, Options, OnProgress | None], list[str]]
    show: Callable[[Path, Options], Rendered]
    is_trained = False

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        return self.measure(folder, options, on_progress)

    def build(self, folder: Path, options: Options) -> Rendered:
        return self.show(folder, options)


def measure_nothing(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Collect nothing, for what needs no records of its own."""
    return []


def _is_empty(rendered: Rendered) -> bool:
    """Return whether nothing was measured; printed values do not count."""
    cells = [cell for block in rendered.blocks for row in block.rows for cell in row.cells]
    if not cells:
        return rendered.figure is None
    runs = [cell for cell in cells if isinstance(cell, ComparedAccuracy)]
    if runs:
        return not any(cell.n or cell.n_failed for cell in runs)
    return not all(isinstance(cell, str) for cell in cells)

"""graphfilter store: a graph of any size as a folder that is mapped into memory, not read."""

# Annotations of fields are evaluated here: typer reads them.
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from graphfilter.cli.options import argument, option_field
from graphfilter.cli.progress import command_line, progress
from graphfilter.cli.screen import end_stopped, say, tell
from graphfilter.cli.sources import FitOptions
from graphfilter.util.errors import ConfigError, check_bytes


@dataclass(frozen=True, kw_only=True)
class Store(FitOptions):
    """Build a graph store on disk, for graphs that do not fit in memory; use it with --graph.

    The graph is the one that fit would read from the same tables. The same command resumes an
    interrupted build.

    Example:  graphfilter store edges.csv vertices.csv --label kind --out kinds --memory 4GB

    Attributes
    ----------
    out : FOLDER
        Folder for the store.
    memory : SIZE
        Memory limit of the build.
    like : RUN
        Encode the features as this run did, to predict with its model.
    overwrite
        Replace the store in the folder.
    """

    first: ClassVar[str] = "out label memory like overwrite"
    edges: Annotated[
        Path,
        argument(
            "Table of edges: CSV, TSV, TXT (.gz) or Parquet; or the folder of an OGB dataset."
        ),
    ] = field()
    out: Path = option_field(...)
    vertices: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Path | None,
        argument(
            "Table of vertices: an id, features, a label where known. Without it, the "
            "vertices are the ids that the edges name, sorted."
        ),
    ] = None
    memory: str = "4GB"
    like: Path | None = None
    overwrite: bool = False
    # Options of other commands that a store does not have.
    dataset: str | None = field(default=None, init=False)
    graph: Path | None = field(default=None, init=False)
    edge_kind: str | None = field(default=None, init=False)
    edge_time: str | None = field(default=None, init=False)
    as_of: str | None = field(default=None, init=False)
    rows: list[Path] | None = field(default=None, init=False)
    link: list[str] | None = field(default=None, init=False)
    no_link: bool = field(default=False, init=False)
    drop_duplicates: bool = field(default=False, init=False)

    def __call__(self) -> None:
        """Build the store from tables, or from raw files that an installed package knows."""
        from graphfilter.large.build import build_store
        from graphfilter.util.words import count

        size = check_bytes("--memory", self.memory)
        edges, vertices, out = self.edges, self.vertices, self.out
        try:
            with progress("{done}/{total}", show=not self.quiet) as move:

                def report(what: str, done: int, total: int) -> None:
                    move(what, done, total, row=what, ended=0 < total <= done)

                if edges.is_dir():
                    build = _find_raw(edges)
                    if vertices or self.like or len(self.words(FitOptions)) > 2:
                        raise ConfigError(
                            "an OGB dataset has its own vertices and columns; leave those out."
                        )
                    made = build(edges, out, memory=size, overwrite=self.overwrite, report=report)
                else:
                    columns, encoder = self.columns(), None
                    if self.like is not None:
                        from graphfilter.runs.loading import read_description

                        about, encoder = read_description(self.like)
                        columns = self.columns(about.columns)
                    made = build_store(
                        edges, vertices, out, columns=columns, allow_missing=self.allow_missing,
                        encoder=encoder, text=self.text, memory=size, overwrite=self.overwrite,
                        report=report,
                    )  # fmt: skip
        except KeyboardInterrupt as stop:
            kept = f"finished work is saved. Resume with: {command_line()}"
            raise typer.Exit(end_stopped(stop, kept)) from None
        tell(made.notes, quiet=self.quiet)
        sizes = count(made.n_vertices, "vertex", "vertices"), count(made.n_entries // 2, "edge")
        say(f"{', '.join(sizes)} and {count(made.n_features, 'feature')} stored in {out}.")
        say(f"Use it with --graph {out}.")


def _find_raw(folder: Path) -> Callable[..., Any]:
    """Return what builds a store from a folder of raw files that an installed package knows."""
    from graphfilter.data.datasets import collections

    finders = (getattr(each, "find_raw", None) for each in collections())
    build = next(filter(None, (find(folder) for find in finders if find)), None)
    if build is None:
        raise ConfigError(
            f"{folder}: must be a table of edges, or the folder of an OGB dataset with its raw "
            "files; it is another folder."
        )
    return build

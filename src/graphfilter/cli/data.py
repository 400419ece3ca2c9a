"""graphfilter data and store: the named datasets, and graphs of any size as folders on disk.

A store is mapped into memory, not read.
"""

from __future__ import annotations

# Annotations of fields are evaluated here: typer reads them.
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from graphfilter.cli import screen
from graphfilter.cli.app import Command, Group, Quiet, argument, flag, option, option_field
from graphfilter.cli.screen import progress
from graphfilter.cli.sources import FitOptions
from graphfilter.util.errors import ConfigError, check_bytes
from graphfilter.util.files import check_file, files_in
from graphfilter.util.words import count

app = typer.Typer(help="Named datasets: list, get, export as CSV, copy to another machine.",
                  no_args_is_help=True, rich_markup_mode="markdown", cls=Group)  # fmt: skip

Name = Annotated[str, argument("A name from graphfilter data list.")]


@app.command("list", cls=Command)
def list_datasets(quiet: Quiet = False) -> None:
    """List the datasets: sizes, label frequency, and where each one is.

    Label frequencies (signed, mean over the classes) are measured on the available datasets.

    Example:  graphfilter data list
    """
    import numpy as np

    from graphfilter.data.datasets import dataset_names, describe, load_dataset, locate
    from graphfilter.spectral import label_frequency

    rows = []
    with screen.waiting("measuring the available datasets", quiet=quiet):
        for name in dataset_names():
            entry = describe(name)
            place = locate(name)
            made = entry.is_made
            frequency = ""
            counts = entry.counts
            if made or place is not None:
                graph = load_dataset(name)
                frequency = f"{np.nanmean(label_frequency(graph)):.2f}"
                counts = (graph.n_vertices, graph.n_edges, graph.n_features, graph.n_classes)
            sizes = ["" if c is None else f"{c:,}" for c in counts or (None,) * 4]
            where = "embedded" if made else str(place) if place else "not here yet"
            rows.append([name, *sizes, frequency, where])
    screen.show_table(
        ["name", "vertices", "edges", "features", "classes", "label frequency", "where"], rows
    )


@app.command("get", cls=Command)
def get_dataset(name: Name, quiet: Quiet = False) -> None:
    """Download a dataset, check it, and describe it.

    Example:  graphfilter data get cora
    """
    from graphfilter.data.datasets import describe, load_dataset, locate

    entry = describe(name)
    with screen.download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    screen.tell(graph.notes, quiet=quiet)
    place = locate(entry.name)
    sizes = f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {graph.n_features:,} features"
    screen.say(f"{entry.name}: {entry.summary}; {sizes}, {graph.n_classes} classes.")
    screen.say(f"Source: {entry.source}, version {entry.version}, licence {entry.licence}.")
    screen.say(f"Fixed splits: {entry.splits}. {entry.problems}".strip())
    screen.say(f"Where: {place}" if place else "It is included: generated when needed.")


@app.command("export", cls=Command)
def export_dataset(
    name: Name,
    out: Annotated[Path, option("Folder for edges.csv and vertices.csv.", "FOLDER")],
    overwrite: Annotated[bool, flag("--overwrite", "Replace the files.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a dataset as the two CSV files that fit takes.

    Example:  graphfilter data export digits --out digits
    """
    from graphfilter.data.datasets import load_dataset
    from graphfilter.data.files import write_tables

    for file in sorted({"edges.csv", "vertices.csv"} & files_in(out)):
        check_file(out / file, overwrite=overwrite)

    with screen.download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    with screen.waiting("writing", quiet=quiet):
        edges, vertices = write_tables(graph, out)
    screen.say(f"Written: {edges} and {vertices}. Label them with:")
    way = " --directed" if graph.directed else ""
    screen.say(
        f"graphfilter fit --edges {edges} --vertices {vertices} --label label{way} --out run"
    )


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
    edges: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str,
        argument(
            "Table of edges: CSV, TSV, TXT (.gz) or Parquet; a folder, glob or URL of parts; or "
            "the folder of an OGB dataset."
        ),
    ] = field()
    out: Path = option_field(...)
    vertices: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str | None,
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
    rows: list[str] | None = field(default=None, init=False)
    link: list[str] | None = field(default=None, init=False)
    near: str = field(default="", init=False)
    no_link: bool = field(default=False, init=False)
    drop_duplicates: bool = field(default=False, init=False)

    def __call__(self) -> None:
        """Build the store from tables, or from raw files that an installed package knows."""
        from graphfilter.large.build import build_store

        size = check_bytes("--memory", self.memory)
        edges, vertices, out = self.edges, self.vertices, self.out
        try:
            with progress("{done}/{total}", show=not self.quiet) as move:

                def report(what: str, done: int, total: int) -> None:
                    move(what, done, total, row=what, ended=0 < total <= done)

                if (build := _find_raw(Path(edges))) is not None:
                    if vertices or self.like or len(self.words(FitOptions)) > 2:
                        raise ConfigError(
                            "an OGB dataset has its own vertices and columns; leave those out."
                        )
                    made = build(
                        Path(edges), out, memory=size, overwrite=self.overwrite, report=report
                    )
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
            kept = f"finished work is saved. Resume with: {screen.command_line()}"
            raise typer.Exit(screen.end_stopped(stop, kept)) from None
        screen.tell(made.notes, quiet=self.quiet)
        sizes = count(made.n_vertices, "vertex", "vertices"), count(made.n_entries // 2, "edge")
        screen.say(f"{', '.join(sizes)} and {count(made.n_features, 'feature')} stored in {out}.")
        screen.say(f"Use it with --graph {out}.")


def _find_raw(folder: Path) -> Callable[..., Any] | None:
    """Return what builds a store from a folder of raw files that an installed package knows."""
    from graphfilter.data.datasets import collections

    finders = (getattr(each, "find_raw", None) for each in collections() if folder.is_dir())
    return next(filter(None, (find(folder) for find in finders if find)), None)

"""graphfilter store: a graph of any size as a folder that is mapped into memory, not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphfilter.cli.column_options import FitOptions
from graphfilter.cli.options import argument, flag, option, takes
from graphfilter.cli.progress import progress
from graphfilter.cli.screen import end_stopped, say, tell
from graphfilter.cli.stopping import command_line
from graphfilter.util.errors import ConfigError, check_bytes

if TYPE_CHECKING:
    from graphfilter.tables.encoder import TableEncoder
    from graphfilter.tables.roles import Columns

_NOT_HERE = ("edges", "vertices", "dataset", "graph", "edge_kind", "edge_time", "as_of")


@takes(FitOptions, without=_NOT_HERE, first="out label memory like overwrite")
def store(
    given: FitOptions,
    edges: Annotated[
        Path,
        argument(
            "Table of edges: CSV, TSV, TXT (.gz) or Parquet; or the folder of an OGB dataset."
        ),
    ],
    out: Annotated[Path, option("Folder for the store.", "FOLDER")],
    vertices: Annotated[
        Path | None,
        argument(
            "Table of vertices: an id, features, a label where known. Without it, the "
            "vertices are the ids that the edges name, sorted."
        ),
    ] = None,
    memory: Annotated[str, option("Memory limit of the build.", "SIZE")] = "4GB",
    like: Annotated[
        Path | None,
        option("Encode the features as this run did, to predict with its model.", "RUN"),
    ] = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the store in the folder.")] = False,
) -> None:
    """Build a graph store on disk, for graphs that do not fit in memory; use it with --graph.

    The graph is the one that fit would read from the same tables. The same command resumes an
    interrupted build.

    Example:  graphfilter store edges.csv vertices.csv --label kind --out kinds --memory 4GB
    """
    from graphfilter.large.build import build_store, estimate_build, open_tables
    from graphfilter.util.words import count

    size = check_bytes("--memory", memory)
    try:
        with progress("{done}/{total}", show=not given.quiet) as move:

            def report(what: str, done: int, total: int) -> None:
                move(what, done, total, row=what, ended=0 < total <= done)

            if edges.is_dir():
                build = _find_raw(edges, with_own=bool(vertices or like or given.words()))
                made = build(edges, out, memory=size, overwrite=overwrite, report=report)
            else:
                columns, encoder = _encoding(given, like)
                needs = estimate_build(*open_tables(edges, vertices, given.text), out)
                tell(needs.sentences(size), quiet=given.quiet)
                made = build_store(
                    edges, vertices, out, columns=columns, allow_missing=given.allow_missing,
                    encoder=encoder, text=given.text, memory=size, overwrite=overwrite,
                    report=report,
                )  # fmt: skip
    except KeyboardInterrupt as stop:
        kept = f"finished work is saved. Resume with: {command_line()}"
        raise typer.Exit(end_stopped(stop, kept)) from None
    tell(made.notes, quiet=given.quiet)
    sizes = count(made.n_vertices, "vertex", "vertices"), count(made.n_entries // 2, "edge")
    say(f"{', '.join(sizes)} and {count(made.n_features, 'feature')} stored in {out}.")
    say(f"Use it with --graph {out}.")


def _find_raw(folder: Path, *, with_own: bool) -> Callable[..., Any]:
    """Return what builds a store from a folder of raw files that an installed package knows.

    They are given without vertices or columns of one's own.
    """
    from graphfilter.data.datasets import collections

    finders = (getattr(each, "find_raw", None) for each in collections())
    found = next(filter(None, (find(folder) for find in finders if find)), None)
    if found is None:
        raise ConfigError(
            f"{folder}: must be a table of edges, or the folder of an OGB dataset with its raw "
            "files; it is another folder."
        )
    if with_own:
        raise ConfigError("an OGB dataset has its own vertices and columns; leave those out.")
    return found


def _encoding(given: FitOptions, like: Path | None) -> tuple[Columns, TableEncoder | None]:
    """Return what the columns are and, ``like`` a run, how that one encoded them."""
    if like is None:
        return given.columns(), None
    from graphfilter.runs.loading import read_description

    about, encoder = read_description(like)
    return given.columns(about.columns), encoder

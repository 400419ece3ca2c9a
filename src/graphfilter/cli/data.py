"""graphfilter data: the named datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli.app import Command, Group
from graphfilter.cli.options import Quiet, argument, flag, option
from graphfilter.cli.progress import download_bar
from graphfilter.cli.screen import say, show_table, tell, waiting

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
    with waiting("measuring the available datasets", quiet=quiet):
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
    show_table(
        ["name", "vertices", "edges", "features", "classes", "label frequency", "where"], rows
    )


@app.command("get", cls=Command)
def get_dataset(name: Name, quiet: Quiet = False) -> None:
    """Download a dataset, check it, and describe it.

    Example:  graphfilter data get cora
    """
    from graphfilter.data.datasets import describe, load_dataset, locate

    entry = describe(name)
    with download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    tell(graph.notes, quiet=quiet)
    place = locate(entry.name)
    sizes = f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {graph.n_features:,} features"
    say(f"{entry.name}: {entry.summary}; {sizes}, {graph.n_classes} classes.")
    say(f"Source: {entry.source}, version {entry.version}, licence {entry.licence}.")
    say(f"Fixed splits: {entry.splits}. {entry.problems}".strip())
    say(f"Where: {place}" if place else "It is included: generated when needed.")


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
    from graphfilter.util.files import check_file, files_in

    for file in sorted({"edges.csv", "vertices.csv"} & files_in(out)):
        check_file(out / file, overwrite=overwrite)

    with download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    with waiting("writing", quiet=quiet):
        edges, vertices = write_tables(graph, out)
    say(f"Written: {edges} and {vertices}. Label them with:")
    way = " --directed" if graph.directed else ""
    say(f"graphfilter fit --edges {edges} --vertices {vertices} --label label{way} --out run")

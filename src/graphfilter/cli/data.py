"""graphfilter data: the named datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli.options import Command, Group, Quiet, argument, flag, listed, option
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

    from graphfilter.data import dataset_names, describe, load_dataset, locate
    from graphfilter.spectral import label_frequency

    rows = []
    with waiting("measuring the available datasets", quiet=quiet):
        for name in dataset_names():
            entry = describe(name)
            place = locate(name)
            made = entry.reader == "make"
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
    from graphfilter.data import describe, load_dataset, locate

    entry = describe(name)
    with download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    tell(graph.notes, quiet=quiet)
    place = locate(entry.name)
    facts = {
        "name": entry.name,
        "what": entry.summary,
        "size": f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, "
        f"{graph.n_features:,} features, {graph.n_classes} classes",
        "splits": entry.splits,
        "source": entry.source,
        "version": entry.version,
        "licence": entry.licence,
        "known problems": entry.problems,
        "where": str(place) if place else "included: generated when needed",
    }
    for fact, text in facts.items():
        if text:
            say(f"{fact:>15}: {text}")


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
    from graphfilter.data import load_dataset, write_tables
    from graphfilter.storage import check_file, files_in

    for file in sorted({"edges.csv", "vertices.csv"} & files_in(out)):
        check_file(out / file, overwrite=overwrite)

    with download_bar(show=not quiet) as progress:
        graph = load_dataset(name, progress=progress)
    with waiting("writing", quiet=quiet):
        edges, vertices = write_tables(graph, out)
    say(f"Written: {edges} and {vertices}. Label them with:")
    way = " --directed" if graph.directed else ""
    say(f"graphfilter fit --edges {edges} --vertices {vertices} --label label{way} --out run")


@app.command("pack", cls=Command)
def pack(
    out: Annotated[Path, option("Archive to write, such as datasets.tar.", "FILE")],
    datasets: Annotated[str, option("Only these datasets, separated by commas.", "NAME,NAME")] = "",
    overwrite: Annotated[bool, flag("--overwrite", "Replace the archive.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write all datasets on this machine to one archive, for a machine without a network.

    Example:  graphfilter data pack --out datasets.tar
    """
    from graphfilter.data import pack_datasets
    from graphfilter.storage import check_file

    check_file(out, overwrite=overwrite)

    with download_bar(show=not quiet) as progress:
        files = pack_datasets(out, listed(datasets), progress)
    size = sum(file.size for file in files)
    say(f"Files of datasets: {len(files)}, {size / 1e6:.1f} MB, written to {out}.")
    say(f"On the other machine: graphfilter data unpack {out.name}")


@app.command("unpack", cls=Command)
def unpack(
    archive: Annotated[Path, argument("A file that graphfilter data pack wrote.")],
    overwrite: Annotated[bool, flag("--overwrite", "Replace datasets of other content.")] = False,
    quiet: Quiet = False,
) -> None:
    """Put the datasets of an archive in the cache, where every command finds them.

    Each is verified before it is kept. What is there already is left; so the same command resumes
    what was interrupted.

    Example:  graphfilter data unpack datasets.tar
    """
    from graphfilter.data import cache_folder, unpack_datasets

    with download_bar(show=not quiet) as progress:
        done = unpack_datasets(archive, overwrite=overwrite, progress=progress)
    states = [file.state for file in done]
    new, same = states.count("new"), states.count("same")
    say(f"Files of datasets: {new} unpacked to {cache_folder()}, {same} already present.")
    if other := [file.name for file in done if file.state == "other"]:
        say(f"Unchanged, with other content: {', '.join(other)}. To replace them: --overwrite.")

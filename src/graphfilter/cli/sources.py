"""Where a command's graph comes from: two tables, a dataset's name, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphfilter.cli.progress import download_bar
from graphfilter.cli.screen import waiting
from graphfilter.data import Columns, TableEncoder, load_dataset, read_tables
from graphfilter.data.readers import read_graph
from graphfilter.errors import ConfigError
from graphfilter.run_folder import Source

TABLES = "Your own graph"
OTHER = "Other graphs"
COLUMNS = "Columns (guessed by name where not given)"

Edges = Annotated[
    Path | None,
    typer.Option(help="Table of edges: CSV, CSV.gz, TSV or Parquet.", rich_help_panel=TABLES),
]
Vertices = Annotated[
    Path | None,
    typer.Option(
        help="Table of vertices: an id, features, and a label where known.", rich_help_panel=TABLES
    ),
]
DatasetName = Annotated[
    str | None,
    typer.Option("--dataset", help="A named dataset: see graphfilter data list.",
                 rich_help_panel=OTHER),
]  # fmt: skip
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        help="A file: the package's npz, MatrixMarket, GraphML, GML or an edge list.",
        rich_help_panel=OTHER,
    ),
]
Id = Annotated[str | None, typer.Option(help="Vertex id.", rich_help_panel=COLUMNS)]
Label = Annotated[
    str | None, typer.Option(help="Label; empty cells are unlabelled.", rich_help_panel=COLUMNS)
]
SourceColumn = Annotated[
    str | None, typer.Option("--source", help="One end of an edge.", rich_help_panel=COLUMNS)
]
Target = Annotated[str | None, typer.Option(help="The other end.", rich_help_panel=COLUMNS)]
Weight = Annotated[
    str | None, typer.Option(help="Edge weight, not negative.", rich_help_panel=COLUMNS)
]
SplitColumn = Annotated[
    str | None,
    typer.Option("--split", help="train, val or test per vertex.", rich_help_panel=COLUMNS),
]
FeatureColumns = Annotated[
    str,
    typer.Option("--features", help="Use only these, separated by commas.",
                 rich_help_panel=COLUMNS),
]  # fmt: skip
Categorical = Annotated[
    str, typer.Option(help="One-hot encode these though they look like numbers.",
                      rich_help_panel=COLUMNS),
]  # fmt: skip
Drop = Annotated[str, typer.Option(help="Leave these out.", rich_help_panel=COLUMNS)]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Leave out edges to vertices that are not in the table, instead of stopping.",
        rich_help_panel=TABLES,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]


def column_choices(
    *,
    id: str | None,
    label: str | None,
    source: str | None,
    target: str | None,
    weight: str | None,
    split: str | None = None,
    features: str = "",
    categorical: str = "",
    drop: str = "",
) -> Columns:
    """Gather the options that name columns."""
    return Columns(
        id=id,
        label=label,
        source=source,
        target=target,
        weight=weight,
        split=split,
        features=_listed(features),
        categorical=_listed(categorical),
        drop=_listed(drop),
    )


def read_source(
    *,
    edges: Path | None,
    vertices: Path | None,
    dataset: str | None,
    graph: Path | None,
    columns: Columns,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    quiet: bool = False,
) -> Source:
    """Read the graph that the options name; exactly one kind of source must be named."""
    tables = edges is not None or vertices is not None
    if tables + (dataset is not None) + (graph is not None) != 1:
        raise ConfigError(
            "name one graph: --edges and --vertices, or --dataset NAME, or --graph FILE."
        )
    if dataset is not None:
        with download_bar(show=not quiet) as progress:
            found = load_dataset(dataset, progress=progress)
        return Source(found, origin={"dataset": dataset})
    if graph is not None:
        with waiting(f"reading {graph}", quiet=quiet):
            return Source(read_graph(graph), origin={"graph": str(graph)})
    if edges is None or vertices is None:
        missing = "--edges" if edges is None else "--vertices"
        raise ConfigError(f"--edges and --vertices go together; {missing} is missing.")
    with waiting(f"reading {vertices} and {edges}", quiet=quiet):
        found, encoder = read_tables(
            edges, vertices, columns=columns, allow_missing=allow_missing, encoder=encoder
        )
    origin: dict[str, Any] = {"edges": str(edges), "vertices": str(vertices)}
    return Source(found, encoder, origin, columns)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())

"""graphfilter predict: label the vertices of another graph with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from graphfilter.cli import sources
from graphfilter.cli.screen import say, tell, waiting
from graphfilter.cli.sources import read_source
from graphfilter.data import Columns
from graphfilter.errors import ConfigError
from graphfilter.graph.edges import count
from graphfilter.run_folder import load_run, predict_graph, with_features, write_predictions


def predict(
    run: Annotated[Path, typer.Argument(help="The folder that fit wrote.", metavar="RUN")],
    out: Annotated[Path, typer.Option(help="CSV file for the predictions.")],
    edges: sources.Edges = None,
    vertices: sources.Vertices = None,
    dataset: sources.DatasetName = None,
    graph: sources.GraphFile = None,
    label: sources.Label = None,
    id: sources.Id = None,
    source: sources.SourceColumn = None,
    target: sources.Target = None,
    weight: sources.Weight = None,
    allow_missing: sources.AllowMissing = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    quiet: sources.Quiet = False,
) -> None:
    """Label the vertices of a graph with the model of a run, without training again.

    The tables need the same feature columns as those the model was fitted on. Labels are not
    needed; where there are some, the accuracy on them is printed.

    Example:  graphfilter predict run --edges new_edges.csv --vertices new.csv --out new_labels.csv
    """
    if out.exists() and not overwrite:
        raise ConfigError(f"{out}: exists; pass --overwrite to replace it, or another --out.")
    if out.is_dir():
        raise ConfigError(f"{out}: is a folder; give the name of a file.")
    if not out.parent.is_dir():
        raise ConfigError(f"{out.parent}: there is no such folder to write {out.name} to.")
    classifier, about, encoder = load_run(run)
    told = about.columns or Columns()
    columns = Columns(
        label=label,
        id=id or told.id,
        source=source or told.source,
        target=target or told.target,
        weight=weight or told.weight,
    )
    found = read_source(
        edges=edges, vertices=vertices, dataset=dataset, graph=graph,
        columns=columns,
        allow_missing=allow_missing, encoder=encoder, quiet=quiet,
    )  # fmt: skip
    new = found.graph
    with waiting("predicting", quiet=quiet):
        probabilities = predict_graph(classifier, about, new)
        write_predictions(out, new, classifier.classes_, probabilities)
    tell(new.notes, quiet=quiet)
    if new.labels is not None and (new.labels >= 0).any():
        known = new.labels >= 0
        names = np.array([str(c) for c in classifier.classes_])
        truth = np.array([str(c) for c in new.classes])[new.labels[known]]
        accuracy = (names[probabilities[known].argmax(axis=1)] == truth).mean()
        labelled = count(int(known.sum()), "labelled vertex", "labelled vertices")
        seen = with_features(new)[0].checksum() == about.data_checksum
        warning = " This is the graph it was trained on: metrics.json has its test part."
        say(f"Accuracy on the {labelled}: {accuracy:.1%}.{warning if seen else ''}")
    say(f"{count(new.n_vertices, 'vertex', 'vertices')} predicted, written to {out}.")

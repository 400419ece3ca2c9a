"""graphfilter predict: label the vertices of another graph with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli.screen import say, waiting
from graphfilter.cli.sources import GraphOptions, takes
from graphfilter.errors import ConfigError


@takes(GraphOptions)
def predict(
    given: GraphOptions,
    run: Annotated[Path, typer.Argument(help="The folder that fit wrote.", metavar="RUN")],
    out: Annotated[Path, typer.Option(help="CSV file for the predictions.")],
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="Write the filtered hidden layer of every vertex to this .parquet or .csv file.",
            metavar="FILE",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files.")] = False,
) -> None:
    """Label the vertices of a graph with the model of a run, without training again.

    The tables need the same feature columns as those the model was fitted on. Labels are not
    needed; where there are some, the accuracy on them is printed.

    Example:  graphfilter predict run --edges new_edges.csv --vertices new.csv --out new_labels.csv
    """
    from graphfilter.storage import check_target

    check_target(out)
    if out.exists() and not overwrite:
        raise ConfigError(f"{out}: exists; pass --overwrite to replace it, or another --out.")
    if not out.parent.is_dir():
        raise ConfigError(f"{out.parent}: there is no such folder to write {out.name} to.")
    import numpy as np

    from graphfilter.graph.edges import count
    from graphfilter.run_folder import (
        as_fitted,
        check_embeddings_file,
        load_run,
        predict_graph,
        predicted_classes,
        with_features,
        write_embeddings,
        write_predictions,
    )

    if embeddings is not None:
        check_embeddings_file(embeddings, overwrite=overwrite)
    classifier, about, encoder = load_run(run)
    new = given.read(encoder=encoder, like=about.columns).graph
    with waiting("predicting", quiet=given.quiet):
        probabilities = predict_graph(classifier, about, new)
        write_predictions(out, new, classifier.classes_, probabilities, decision=about.decision)
        if embeddings is not None:
            graph = as_fitted(classifier, about, new)
            write_embeddings(embeddings, new, classifier.transform(graph=graph))
    if new.labels is not None and (new.labels >= 0).any():
        known = new.labels >= 0
        names = np.array([str(c) for c in classifier.classes_])
        truth = np.array([str(c) for c in new.classes])[new.labels[known]]
        answered = predicted_classes(probabilities, classifier.classes_, about.decision)
        accuracy = (names[answered[known]] == truth).mean()
        labelled = count(int(known.sum()), "labelled vertex", "labelled vertices")
        seen = with_features(new)[0].checksum() == about.data_checksum
        warning = " This is the graph it was trained on: metrics.json has its test part."
        say(f"Accuracy on the {labelled}: {accuracy:.1%}.{warning if seen else ''}")
    say(f"{count(new.n_vertices, 'vertex', 'vertices')} predicted, written to {out}.")
    if embeddings is not None:
        say(f"Their embeddings are in {embeddings}.")

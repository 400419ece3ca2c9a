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

    The tables need the same feature columns as those the model was fitted on; they are found by
    name and understood as they were then. Labels are not needed; where there are some, the
    accuracy on vertices that were not trained on is printed.

    Example:  graphfilter predict run --edges new_edges.csv --vertices new.csv --out new_labels.csv
    """
    from graphfilter.storage import check_target

    check_target(out)
    if out.exists() and not overwrite:
        raise ConfigError(f"{out}: exists; pass --overwrite to replace it, or another --out.")
    if not out.parent.is_dir():
        raise ConfigError(f"{out.parent}: there is no such folder to write {out.name} to.")
    from graphfilter.graph.edges import count
    from graphfilter.run_folder import (
        as_fitted,
        check_embeddings_file,
        describe_accuracy,
        load_run,
        predict_graph,
        predicted_classes,
        task_of_run,
        write_embeddings,
        write_predictions,
    )

    if embeddings is not None:
        check_embeddings_file(embeddings, overwrite=overwrite)
    if task_of_run(run) != "classification":
        if embeddings is not None:
            raise ConfigError("--embeddings is for runs of one class per vertex; leave it out.")
        _predict_values(given, run, out)
        return
    classifier, about, encoder = load_run(run)
    new = given.read(encoder=encoder, like=about.columns).graph
    with waiting("predicting", quiet=given.quiet):
        probabilities = predict_graph(classifier, about, new)
        write_predictions(out, new, classifier.classes_, probabilities, decision=about.decision)
        if embeddings is not None:
            graph = as_fitted(classifier, about, new)
            write_embeddings(embeddings, new, classifier.transform(graph=graph))
    answered = predicted_classes(probabilities, classifier.classes_, about.decision)
    for sentence in describe_accuracy(run, new, classifier.classes_, answered):
        say(sentence)
    say(f"{count(new.n_vertices, 'vertex', 'vertices')} predicted, written to {out}.")
    if embeddings is not None:
        say(f"Their embeddings are in {embeddings}.")


def _predict_values(given: GraphOptions, run: Path, out: Path) -> None:
    """Predict numbers, or several labels, of the vertices of a graph."""
    from graphfilter.graph.edges import count
    from graphfilter.run_folder import as_fitted, load_value_run, predicted_values, write_values

    estimator, about, encoder = load_value_run(run)
    new = given.read(encoder=encoder, like=about.columns).graph
    with waiting("predicting", quiet=given.quiet):
        said = predicted_values(estimator, as_fitted(estimator, about, new))
        write_values(out, estimator, new, said)
    say(f"{count(new.n_vertices, 'vertex', 'vertices')} predicted, written to {out}.")

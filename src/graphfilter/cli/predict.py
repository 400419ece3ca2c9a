"""graphfilter predict: label the vertices of another graph with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from graphfilter.cli.screen import say, waiting
from graphfilter.cli.sources import GraphOptions, takes
from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators import Target, VertexEstimator


@takes(GraphOptions)
def predict(
    given: GraphOptions,
    run: Annotated[Path, typer.Argument(help="The folder that fit wrote.", metavar="RUN")],
    out: Annotated[Path, typer.Option(help="File for the predictions: CSV, or .parquet.")],
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="Write the filtered hidden layer of every vertex to this .parquet or .csv file.",
            metavar="FILE",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Add a set of classes or labels, or the low and the high end of a number, that "
            "hold the truth so often, such as 0.9; unless given, that of the fit if it had one. "
            "The promise is for vertices exchangeable with the validation vertices of the fit.",
            metavar="SHARE",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files.")] = False,
) -> None:
    """Label the vertices of a graph with the model of a run, without training again.

    The tables need the same feature columns as those the model was fitted on; they are found by
    name and understood as they were then. Labels are not needed; where there are some, the
    accuracy on vertices that were not trained on is printed. The column part of the file says what
    a vertex was in the run, by its id: train, val, test, unlabelled, or new.

    Example:  graphfilter predict run --edges new_edges.csv --vertices new.csv --out new_labels.csv
    """
    from graphfilter.storage import check_target

    check_target(out)
    if out.exists() and not overwrite:
        raise ConfigError(f"{out}: exists; pass --overwrite to replace it, or another --out.")
    if not out.parent.is_dir():
        raise ConfigError(f"{out.parent}: there is no such folder to write {out.name} to.")
    from graphfilter.run_folder import (
        as_fitted,
        check_embeddings_file,
        describe_answers,
        load_run,
        predict_run,
        write_embeddings,
    )

    if embeddings is not None:
        check_embeddings_file(embeddings, overwrite=overwrite)
    estimator, about, encoder = load_run(run)
    if embeddings is not None and not estimator.task_.one_class:
        raise ConfigError("--embeddings is for runs of one class per vertex; leave it out.")
    new = given.read(encoder=encoder, like=about.columns).graph
    with waiting("predicting", quiet=given.quiet):
        prediction = predict_run(run, estimator, about, new, coverage)
        prediction.write(out)
        if embeddings is not None:
            graph = as_fitted(estimator, about, new)
            write_embeddings(embeddings, new, cast(Any, estimator).transform(graph=graph))
    for sentence in describe_answers(prediction, _known_target(given, estimator)):
        say(sentence)
    if promised := prediction.describe_promise():
        say(" ".join(promised))
    say(f"{prediction.describe_parts()} Written to {out}.")
    if embeddings is not None:
        say(f"Their embeddings are in {embeddings}.")


def _known_target(given: GraphOptions, estimator: VertexEstimator) -> Target | None:
    """Return what a table says of numbers or several labels; None where it has no such columns."""
    if estimator.task_.one_class:
        return None
    from graphfilter.estimators import named_target
    from graphfilter.tables import has_columns, read_label_columns, read_number_column
    from graphfilter.training import REGRESSION

    names = [str(name) for name in estimator.target_names_]
    if given.vertices is None or not has_columns(given.vertex_table, names):
        return None
    if estimator.task_ is not REGRESSION:
        values = read_label_columns(given.vertex_table, names)
    else:
        values = read_number_column(given.vertex_table, names[0], to_learn=False)[:, None]
    return named_target(estimator.task_, values, names)

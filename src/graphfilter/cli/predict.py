"""graphfilter predict: label the vertices of another graph with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from graphfilter.cli.screen import say, waiting
from graphfilter.cli.sources import ExcelSafe, GraphOptions, takes
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
    excel_safe: ExcelSafe = False,
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
    from graphfilter.fits import answers_of
    from graphfilter.run_folder import (
        as_fitted,
        check_embeddings_file,
        describe_answers,
        load_run,
        predict_graph,
        write_embeddings,
        write_predictions,
    )
    from graphfilter.wording import count

    if embeddings is not None:
        check_embeddings_file(embeddings, overwrite=overwrite)
    estimator, about, encoder = load_run(run)
    if embeddings is not None and not estimator.task_.one_class:
        raise ConfigError("--embeddings is for runs of one class per vertex; leave it out.")
    new = given.read(encoder=encoder, like=about.columns).graph
    names = [str(name) for name in estimator.target_names_]
    with waiting("predicting", quiet=given.quiet):
        outputs = predict_graph(estimator, about, new)
        answers = answers_of(estimator.task_, outputs, names, about.decision)
        write_predictions(out, new, estimator.task_, names, outputs, answers, excel_safe=excel_safe)
        if embeddings is not None:
            graph = as_fitted(estimator, about, new)
            embedding = cast(Any, estimator).transform(graph=graph)
            write_embeddings(embeddings, new, embedding, excel_safe=excel_safe)
    target = _known_target(given, estimator)
    for sentence in describe_answers(run, new, estimator, outputs, answers, target):
        say(sentence)
    say(f"{count(new.n_vertices, 'vertex', 'vertices')} predicted, written to {out}.")
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

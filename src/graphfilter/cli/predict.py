"""graphfilter predict: label the vertices of another graph with a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from graphfilter.cli.options import ExcelSafe, argument, option, option_field, takes
from graphfilter.cli.predicted_options import read_values
from graphfilter.cli.screen import say, waiting
from graphfilter.cli.sources import GraphOptions
from graphfilter.cli.words import in_options
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphfilter.data.graph import Graph
    from graphfilter.estimators.targets import Target
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.loading import RunDescription
    from graphfilter.tables.encoder import TableEncoder

KEPT = "the graph saved with the run"


@dataclass(frozen=True)
class AnswerOptions:
    """Say what to write beside the predictions, and how."""

    embeddings: Path | None = option_field(
        None, "Write embeddings, the filtered hidden layer, to this .parquet or .csv file.", "FILE"
    )
    with_: str | None = option_field(
        None,
        "Join the rows of the tables to the graph saved with the run: new rows and their "
        "edges are enough. A row with a known id replaces its features. Only the rows given "
        "are written.",
        "run",
        name="--with",
    )
    report: Path | None = option_field(
        None, "Write a page to this .html file: expected accuracy, and drift since the fit.", "FILE"
    )
    coverage: float | None = option_field(
        None,
        "Coverage of prediction sets, such as 0.9: add a set of classes, or an interval "
        "of a number, per vertex. Default: that of the fit, if any. Holds for vertices "
        "exchangeable with the validation vertices of the fit.",
        "SHARE",
    )
    forget_ids: bool = option_field(
        False,
        "Treat every vertex as new, whatever its id: for ids that name other vertices "
        "than in the fit.",
    )
    excel_safe: ExcelSafe = False
    overwrite: bool = option_field(False, "Replace the files.")

    def check(self, run: Path, out: Path) -> None:
        """Raise where a file cannot be written, before anything is read."""
        from graphfilter.util.files import check_file

        check_file(out, overwrite=self.overwrite)
        if self.report is not None:
            if self.report.suffix.lower() not in (".html", ".htm"):
                raise ConfigError(f"{self.report}: --report must end in .html.")
            check_file(self.report, overwrite=self.overwrite)
            if self.report.resolve() == out.resolve():
                raise ConfigError("--report and --out must be different files.")
        from graphfilter.runs.layout import check_outputs
        from graphfilter.runs.tables import check_embeddings_file

        if self.embeddings is not None:
            check_embeddings_file(self.embeddings, overwrite=self.overwrite)
        check_outputs(run, out, self.report, self.embeddings)


@takes(GraphOptions, AnswerOptions, first="edges vertices out with_ report coverage overwrite")
def predict(
    given: GraphOptions,
    how: AnswerOptions,
    run: Annotated[Path, argument("The folder that fit wrote.", "RUN")],
    out: Annotated[Path, option("File for the predictions: .csv or .parquet.", "FILE")],
) -> None:
    """Label the vertices of a graph with the model of a run, without training again.

    The tables need the same feature columns as those the model was fitted on; they are found by
    name and understood as they were then. Labels are not needed; where there are some, the
    accuracy on vertices that were not trained on is printed. The column part of the file says what
    a vertex was in the run, by its id: train, val, test, unlabelled, or new.

    The tables hold the whole graph: known vertices and new ones. With --with run the new rows and
    their edges are enough; known vertices are taken from the graph that is kept with the run.

    Example:  graphfilter predict run --edges edges.csv --vertices vertices.csv --out labels.csv

    Example:  graphfilter predict run --with run --edges new_edges.csv --vertices new.csv
    --out labels.csv
    """
    how.check(run, out)
    from graphfilter.report.prediction_page import write_prediction_report
    from graphfilter.runs.loading import load_run, read_reference
    from graphfilter.runs.predict import (
        as_fitted,
        describe_answers,
        predict_run,
    )
    from graphfilter.runs.tables import write_embeddings
    from graphfilter.util.files import scratch_folder

    estimator, about, encoder = load_run(run)
    reference = read_reference(run, about)
    if how.forget_ids:
        estimator.forget_ids()
    if how.embeddings is not None and not estimator.task_.one_class:
        raise ConfigError("--embeddings is for runs of one class per vertex; leave it out.")
    new, rows, used = _take_graph(given, run, about, encoder, how.with_)
    with (
        waiting("predicting", quiet=given.quiet),
        scratch_folder(".graphfilter-answers-", out.parent) as scratch,
    ):
        prediction = predict_run(run, estimator, about, new, how.coverage, rows, scratch)
        prediction.write(out, excel_safe=how.excel_safe)
        drift = None if reference is None else prediction.drift(reference)
        known = describe_answers(prediction, _known_target(given, estimator))
        if how.embeddings is not None:
            graph = as_fitted(estimator, about, new)
            found = cast(Any, estimator).transform(graph=graph)
            own = found if rows is None else found[rows]
            write_embeddings(how.embeddings, prediction.graph, own, excel_safe=how.excel_safe)
    known = [*map(in_options, prediction.describe_recognised()), *known]
    if how.report is not None:
        write_prediction_report(
            how.report, prediction, drift, folder=run, out=out, used=used, known=known
        )
    promised = " ".join(prediction.describe_promise())
    moved = "" if drift is None else " ".join(drift.sentences())
    written = f"{prediction.describe_parts()} Graph used: {used}. Written to {out}."
    for sentence in (*known, promised, moved, written):
        if sentence:
            say(sentence)
    if how.report is not None:
        say(f"The page is {how.report}: open it in a browser.")
    if how.embeddings is not None:
        say(f"Their embeddings are in {how.embeddings}.")


def _take_graph(
    given: GraphOptions,
    run: Path,
    about: RunDescription,
    encoder: TableEncoder | None,
    with_: str | None,
) -> tuple[Graph, NDArray[np.int64] | None, str]:
    """Return the graph to predict on, the vertices that are asked for (None: all), and its name."""
    from graphfilter.runs.loading import read_kept_graph
    from graphfilter.util.words import count

    if with_ is None:
        graph = given.read(encoder=encoder, like=about.columns, remedy=_remedy(about)).graph
        size = f"{count(graph.n_vertices, 'vertex', 'vertices')}, {count(graph.n_edges, 'edge')}"
        return graph, None, f"the one given ({size})"
    if with_ != "run" and Path(with_).resolve() != run.resolve():
        raise ConfigError(
            f"--with must be run, the graph saved with the run of the model; got {with_!r}."
        )
    if encoder is None:
        raise ConfigError(
            "--with joins rows of tables, and this run was fitted on no tables. Leave it out."
        )
    known = read_kept_graph(run, about)
    joined = given.join(known, title=KEPT, encoder=encoder, like=about.columns)
    return joined.graph, joined.rows, joined.describe(known, KEPT)


def _remedy(about: RunDescription) -> str:
    """Return what can be done about an edge to a vertex that is not in the tables."""
    known = "pass --with run, which takes known vertices from the graph saved with the run"
    if not about.graph_sha256:
        known = "fit with --keep-graph and pass --with run, which takes known vertices from there"
    return (
        f"{known}, or --allow-missing, which leaves such edges out: predictions then ignore those "
        "neighbours"
    )


def _known_target(given: GraphOptions, estimator: VertexEstimator) -> Target | None:
    """Return what a table says of numbers or several labels; None where it has no such columns."""
    names = [str(name) for name in estimator.target_names_]
    if estimator.task_.one_class or given.vertices is None:
        return None
    if not set(names) <= set(given.vertex_table.names):
        return None
    return read_values(given.vertex_table, estimator.task_, names, to_learn=False)

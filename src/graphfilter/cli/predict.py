"""graphfilter predict: label the vertices of another graph with a fitted model."""

# Annotations of fields are evaluated here: typer reads them.
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from graphfilter.cli.app import option_field
from graphfilter.cli.screen import in_options, say, waiting
from graphfilter.cli.sources import RunOptions, rare, read_values
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import IS_URL, check_file, scratch_folder
from graphfilter.util.words import Noun, count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphfilter.data.graph import Graph
    from graphfilter.runs.loading import RunDescription
    from graphfilter.tables.encoder import TableEncoder

KEPT = "the graph saved with the run"


@dataclass(frozen=True, kw_only=True)
class Predict(RunOptions):
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

    Attributes
    ----------
    out : FILE
        File for the predictions: .csv or .parquet; or a URL, below which Parquet files are written.
    with_ : run
        Join the rows of the tables to the graph saved with the run: new rows and their edges are
        enough. A row with a known id replaces its features. Only the rows given are written.
    report : FILE
        Write a page to this .html file: what was predicted, and drift since the fit.
    coverage : SHARE
        Coverage of prediction sets, such as 0.9: add a set of classes, or an interval of a number,
        per vertex. Default: that of the fit, if any. Holds for vertices that are like those of the
        fit.
    settings : NAME=VALUE
        Rarely needed: forget_ids treats every vertex as new, whatever its id, for ids that name
        other vertices than in the fit; excel_safe puts an apostrophe before what Excel would run as
        a formula; delimiter=tab, encoding=cp1252 and decimal=, say how tables are written;
        clean_ids strips blanks from ids; drop_duplicates counts equal rows once. Repeat for others.
    overwrite
        Replace the files.
    """

    first: ClassVar[str] = "edges vertices out with_ report coverage overwrite"
    out: str = option_field(...)
    with_: str | None = option_field(None, name="--with")
    report: Path | None = None
    coverage: float | None = None
    forget_ids: bool = rare(False)
    excel_safe: bool = rare(False)
    overwrite: bool = False

    def __call__(self) -> None:
        """Check, load the model, read the graph; predict, write, and say what moved."""
        self._check_files()
        from graphfilter.report.page import write_prediction_report
        from graphfilter.runs.loading import read_reference
        from graphfilter.runs.predict import describe_answers, predict_run

        estimator, about, encoder = self.load()
        reference = read_reference(self.run, about)
        if self.forget_ids:
            estimator.forget_ids()
        graph, rows, used = self._take_graph(about, encoder)
        # What a table says of numbers or several labels, where it has such columns.
        truth, names = None, [str(name) for name in estimator.target_names_]
        if not estimator.task_.one_class and self.vertices is not None:
            table = self.vertex_table
            if set(names) <= set(table.names):
                truth = read_values(table, estimator.task_, names, to_learn=False)
        with (
            waiting("predicting", quiet=self.quiet),
            scratch_folder(".graphfilter-answers-", self.local.parent) as scratch,
        ):
            prediction = predict_run(
                self.run, estimator, about, graph, self.coverage, rows, scratch
            )
            prediction.write(self.out, excel_safe=self.excel_safe)
            drift = None if reference is None else prediction.drift(reference)
            sentences = describe_answers(prediction, truth)
        recognised = prediction.estimator.describe_recognised(prediction.whole)
        sentences = [*map(in_options, recognised), *sentences]
        if self.report is not None:
            write_prediction_report(
                self.report, prediction, drift, folder=self.run, out=self.out, used=used,
                known=sentences,
            )  # fmt: skip
        noun, coverage = Noun.found(about.noun, None), " ".join(prediction.describe_coverage())
        changes = "" if drift is None else drift.sentence()
        summary = f"{prediction.describe_parts()} Graph used: {used}. Written to {self.out}."
        for sentence in (*sentences, coverage, changes, summary):
            if sentence:
                say(noun.put(sentence))
        if self.report is not None:
            say(f"The page is {self.report}: open it in a browser.")

    @property
    def local(self) -> Path:
        """The file to write, or one in whose folder there is room for what goes elsewhere."""
        elsewhere = IS_URL.match(self.out)
        return Path(tempfile.gettempdir(), "predictions") if elsewhere else Path(self.out)

    def _check_files(self) -> None:
        """Raise where a file cannot be written, before anything is read."""
        if IS_URL.match(self.out):
            from graphfilter.tables.parts import check_place

            check_place(self.out, overwrite=self.overwrite)
        else:
            check_file(self.local, overwrite=self.overwrite)
        if self.report is not None:
            if self.report.suffix.lower() not in (".html", ".htm"):
                raise ConfigError(f"{self.report}: --report must end in .html.")
            check_file(self.report, overwrite=self.overwrite)
            if self.report.resolve() == self.local.resolve():
                raise ConfigError("--report and --out must be different files.")
        from graphfilter.runs.loading import check_outputs

        check_outputs(self.run, self.local, self.report)

    def _take_graph(
        self, about: "RunDescription", encoder: "TableEncoder | None"
    ) -> "tuple[Graph, NDArray[np.int64] | None, str]":
        """Return the graph to predict on, the vertices asked for (None: all), and its name."""
        from graphfilter.runs.loading import read_kept_graph

        if self.with_ is None:
            # What can be done about an edge to a vertex that is not in the tables.
            remedy = "pass --with run, which takes known vertices from the graph saved with the run"
            if not about.graph_sha256:
                remedy = (
                    "fit with --set keep_graph and pass --with run, which takes known vertices "
                    "from there"
                )
            graph = self.read(
                encoder=encoder, like=about.columns,
                remedy=f"{remedy}, or --allow-missing, which leaves such edges out: predictions "
                "then ignore those neighbours",
            ).graph  # fmt: skip
            n, m = count(graph.n_vertices, "vertex", "vertices"), count(graph.n_edges, "edge")
            return graph, None, f"the one given ({n}, {m})"
        if self.with_ != "run" and Path(self.with_).resolve() != self.run.resolve():
            raise ConfigError(
                "--with must be run, the graph saved with the run of the model; got "
                f"{self.with_!r}."
            )
        if encoder is None:
            raise ConfigError(
                "--with joins rows of tables, and this run was fitted on no tables. Leave it out."
            )
        base = read_kept_graph(self.run, about)
        joined = self.join(base, title=KEPT, encoder=encoder, like=about.columns)
        return joined.graph, joined.rows, joined.describe(base, KEPT)

"""graphfilter explain and suggest: why a vertex was labelled so, and which to label next."""

# Annotations of fields are evaluated here: typer reads them.
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from graphfilter.cli.options import ExcelSafe, option_field
from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.cli.sources import RunOptions
from graphfilter.util.words import signed

if TYPE_CHECKING:
    from graphfilter.estimators.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class Explain(RunOptions):
    """Explain a prediction by the vertex itself, its neighbours and its position in the graph.

    The score is the log-odds of the predicted class against another: 0 is undecided, 2.2 is nine
    to one. Of several labels it is the log-odds of having one; of a number the number itself, or
    its logarithm where it was learned so. It is divided, exactly for a linear filter, into what
    the features of the vertex itself, of its neighbours and of vertices farther away contribute,
    what its position in the graph contributes whatever the features are, and what every vertex
    starts from. Below it are the vertices and the features that contribute most, for (+) and
    against (-).

    Without tables, those of the run are read again.

    Example:  graphfilter explain run --vertex 17 --vertex 25

    Attributes
    ----------
    vertex : ID
        Id of the vertex; repeat for others.
    against : CLASS
        Class to compare with. Default: the second most probable one.
    output : NAME
        Label or number to explain, of several. Default: the most probable label, or the first
        number.
    top : N
        Number of vertices and features to list.
    json : FILE
        Write everything to this file too.
    overwrite
        Replace the file.
    """

    first: ClassVar[str] = "vertex against top json"
    vertex: list[str] = option_field(...)
    against: str | None = None
    output: str | None = None
    top: int = option_field(10, min=1)
    json: Path | None = None
    overwrite: bool = False

    def __call__(self) -> None:
        """Load the model, read the graph, explain and print."""
        from graphfilter.util.files import check_file
        from graphfilter.util.records import write_json

        if self.json is not None:
            check_file(self.json, overwrite=self.overwrite)
        from graphfilter.runs.loading import check_outputs
        from graphfilter.runs.predict import explain_run

        check_outputs(self.run, self.json)
        classifier, about, encoder = self.load()
        graph = self.read_as(about, encoder)
        with waiting("explaining", quiet=self.quiet):
            explanations, notes = explain_run(
                classifier, about, graph, self.vertex, against=self.against, output=self.output,
                most=self.top,
            )  # fmt: skip
        tell(notes, quiet=self.quiet)
        for explanation in explanations:
            _show(explanation)
        if self.json is not None:
            write_json(self.json, [explanation.to_dict() for explanation in explanations])
            say(f"Written to {self.json}.")


def _show(explanation: "Explanation") -> None:
    say(f"Vertex {explanation.vertex}: {explanation.sentence}")
    largest = max((abs(value) for _, value in explanation.parts), default=0.0)
    rows = [[name, signed(value, largest)] for name, value in explanation.parts]
    title = explanation.predicted
    beside = f" against {explanation.against}" if explanation.against else ""
    rows.append([f"together: {title}{beside}", signed(explanation.score, largest)])
    if explanation.probability is not None:
        title += f" with probability {explanation.probability:.1%}"
    show_table(["what adds to the score", explanation.unit], rows, title=title)
    if explanation.contributors:
        labels = ["label"] if any(s.label for s in explanation.contributors) else []
        contributors = [
            [s.vertex, s.steps, *(s.label or "–" for _ in labels), signed(s.contribution, largest)]
            for s in explanation.contributors
        ]
        heads = ["vertices that add most", "steps away", *labels, explanation.unit]
        show_table(heads, contributors, text_columns=2 + len(labels))
    if explanation.features:
        features = [
            [f.name, f"{f.value:g}", signed(f.own, largest), signed(f.others, largest)]
            for f in explanation.features
        ]
        heads = ["features that add most", "value", "its own", "of others"]
        show_table(heads, features)
    if explanation.exact_share < 1:
        say(
            f"Single vertices and features are those of the members that are linear filters, "
            f"{explanation.exact_share:.0%} of the whole by weight; the others are divided by "
            "distance only."
        )


@dataclass(frozen=True, kw_only=True)
class Suggest(RunOptions):
    """List the unlabelled vertices whose labels would improve the model most, with reasons.

    A label improves the model where it stands for many vertices that no labelled vertex is like,
    in features, neighbours and place in the graph, and of which the model is unsure. Those listed
    differ from each other. Label them, add the labels to the table, and fit again.

    Without tables, those of the run are read again.

    Example:  graphfilter suggest run --n 20

    Attributes
    ----------
    n : N
        Number of vertices.
    csv : FILE
        Write them to this file too.
    overwrite
        Replace the file.
    """

    first: ClassVar[str] = "n csv"
    n: int = option_field(20, name="--n", min=1)
    csv: Path | None = None
    overwrite: bool = False
    excel_safe: ExcelSafe = False

    def __call__(self) -> None:
        """Load the model, read the graph, rank its vertices and print."""
        from graphfilter.runs.loading import check_outputs
        from graphfilter.runs.predict import suggest_run
        from graphfilter.runs.tables import excel_text
        from graphfilter.util.files import atomic_file, check_file

        if self.csv is not None:
            check_file(self.csv, overwrite=self.overwrite)
        check_outputs(self.run, self.csv)
        estimator, about, encoder = self.load()
        graph = self.read_as(about, encoder)
        with waiting("looking for the next labels", quiet=self.quiet):
            suggestions = suggest_run(self.run, estimator, about, graph, self.n)
        names = graph.vertex_names
        ids = [str(one.vertex if names is None else names[one.vertex]) for one in suggestions]
        rows = [
            [id, f"{one.score:.2f}", one.reason] for id, one in zip(ids, suggestions, strict=True)
        ]
        show_table(["vertex", "score", "reason"], rows, title="Label next", text_columns=3)
        if self.csv is not None:
            with (
                atomic_file(self.csv) as temporary,
                temporary.open("w", newline="", encoding="utf-8") as file,
            ):
                writer = csv.writer(file)
                safe = excel_text if self.excel_safe else str
                writer.writerow(["id", "score", "reason"])
                writer.writerows([safe(id), score, safe(reason)] for id, score, reason in rows)
            say(f"Written to {self.csv}.")

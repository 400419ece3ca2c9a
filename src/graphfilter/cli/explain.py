"""graphfilter explain and suggest: why a vertex was labelled so, and which to label next."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from graphfilter.cli.app import option_field
from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.cli.sources import RunOptions, rare
from graphfilter.util.arrow import pa
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import check_file
from graphfilter.util.words import Noun

if TYPE_CHECKING:
    from graphfilter.estimators.explanation import Explanation
    from graphfilter.runs.cases import CaseBook


@dataclass(frozen=True, kw_only=True)
class Explain(RunOptions):
    """Say why a vertex is answered as it is: by its columns, and by its neighbours one by one.

    What each adds is told in points of probability, or in the unit of the number, and adds up to
    the answer. It is what changes where the column is average, or an average vertex of which
    nothing is known is in the neighbour's place, with all members asked again about the
    neighbourhood.

    Without tables, a run that keeps its graph is explained from its folder, at once; of another
    run the tables are read again.

    Example:  graphfilter explain run --vertex 17 --vertex 25

    Attributes
    ----------
    vertex : ID
        Id of the vertex; repeat for others.
    against : CLASS
        Class to compare with. Default: all others together.
    output : NAME
        Label or number to explain, of several. Default: the most probable label, or the first
        number.
    top : N
        Number of columns, and of neighbours, to list one by one.
    picture : FILE
        Draw the neighbourhood of a single vertex: .svg.
    json : FILE
        Write everything to this file too.
    overwrite
        Replace the files.
    """

    first: ClassVar[str] = "vertex against top picture json"
    vertex: list[str] = option_field(...)
    against: str | None = None
    output: str | None = None
    top: int = option_field(8, min=1)
    picture: Path | None = None
    json: Path | None = None
    overwrite: bool = False

    def __call__(self) -> None:
        """Load the model, find the graph, explain and print."""
        from graphfilter.util.records import write_json

        for file in (self.json, self.picture):
            if file is not None:
                check_file(file, overwrite=self.overwrite)
        if self.picture is not None:
            from graphfilter.report.neighbourhood import check_picture

            check_picture(self.picture)
            if len(self.vertex) > 1:
                raise ConfigError("--picture draws one vertex; name one with --vertex.")
        from graphfilter.runs.loading import check_outputs

        check_outputs(self.run, self.json, self.picture)
        book, noun = self._book()
        numbers = [book.number(vertex) for vertex in self.vertex]
        with waiting("explaining", quiet=self.quiet):
            explanations = book.explain(
                numbers, against=self.against, output=self.output, most=self.top
            )
        for explanation in explanations:
            _show(explanation, noun)
        if self.json is not None:
            write_json(self.json, [explanation.to_dict() for explanation in explanations])
            say(f"Written to {self.json}.")
        if self.picture is not None:
            from graphfilter.report.neighbourhood import write_neighbourhood

            write_neighbourhood(self.picture, book.neighbourhood(numbers[0]))
            say(f"The neighbourhood is drawn in {self.picture}.")

    def _book(self) -> "tuple[CaseBook, Noun]":
        """Return the cases of the run, from its folder or from tables, and what a vertex is."""
        from graphfilter.runs.cases import CaseBook
        from graphfilter.runs.plan import with_features

        classifier, about, encoder = self.load()
        named = any((self.edges, self.vertices, self.dataset, self.graph))
        graph = None
        if named or not (about.cases_sha256 and about.graph_sha256):
            graph = self.read_as(about, encoder)
            if with_features(graph)[0].checksum() != about.data_checksum:
                text = "this is not the graph of the fit: the model is explained on the given graph"
                tell([f"{text}."], quiet=self.quiet)
        if about.decision is not None:
            name, least = about.decision.positive, about.decision.threshold
            tell([f"{name} is predicted from a probability of {least:.3g}."], quiet=self.quiet)
        with waiting("reading the run", quiet=self.quiet):
            book = CaseBook.of_run(self.run, classifier, about, encoder, graph)
        return book, Noun.found(about.noun, None)


def _show(explanation: "Explanation", noun: "Noun") -> None:
    from graphfilter.estimators.explanation import STARTS_FROM

    say(f"{noun.put('Vertex')} {explanation.vertex}: {noun.put(explanation.sentence)}")
    write, of_share = explanation.write, explanation.probability is not None
    rows = [[noun.put(STARTS_FROM), write(explanation.base)]]
    rows += [[name, write(value, part=True)] for name, value in explanation.said_parts]
    beside = f" rather than {explanation.against}" if explanation.against else ""
    rows.append([f"together: {explanation.predicted}{beside}", write(explanation.score)])
    unit = "points of probability" if of_share else explanation.unit
    show_table(["what adds to the answer", unit], rows, title=explanation.predicted)


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
    excel_safe: bool = rare(False)

    def __call__(self) -> None:
        """Load the model, read the graph, rank its vertices and print."""
        from graphfilter.runs.loading import check_outputs, write_table
        from graphfilter.runs.predict import check_unlabelled, suggest_run

        if self.csv is not None:
            check_file(self.csv, overwrite=self.overwrite)
        check_outputs(self.run, self.csv)
        check_unlabelled(self.run)
        estimator, about, encoder = self.load()
        graph = self.read_as(about, encoder)
        with waiting("looking for the next labels", quiet=self.quiet):
            suggestions = suggest_run(self.run, estimator, about, graph, self.n)
        names = graph.vertex_names
        ids = [str(one.vertex if names is None else names[one.vertex]) for one in suggestions]
        noun = Noun.found(about.noun, None)
        rows = [
            [id, f"{one.score:.2f}", noun.put(one.reason)]
            for id, one in zip(ids, suggestions, strict=True)
        ]
        show_table([noun.one, "score", "reason"], rows, title="Label next", text_columns=3)
        if self.csv is not None:
            names = ["id", "score", "reason"]
            table = pa.record_batch([[*column] for column in zip(*rows, strict=True)], names)
            write_table(self.csv, [table], excel_safe=self.excel_safe)
            say(f"Written to {self.csv}.")

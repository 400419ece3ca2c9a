"""graphfilter suggest: which vertices to label next."""

# Annotations of fields are evaluated here: typer reads them.
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from graphfilter.cli.options import ExcelSafe, OwnModel, Run, option_field
from graphfilter.cli.screen import say, show_table, waiting
from graphfilter.cli.sources import GraphOptions, model_of


@dataclass(frozen=True, kw_only=True)
class Suggest(GraphOptions):
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
    run: Annotated[Path, Run]
    model: OwnModel = None
    n: int = option_field(20, name="--n", min=1)
    csv: Path | None = None
    overwrite: bool = False
    excel_safe: ExcelSafe = False

    def __call__(self) -> None:
        """Load the model, read the graph, rank its vertices and print."""
        from graphfilter.runs.loading import check_outputs, load_run
        from graphfilter.runs.predict import suggest_run
        from graphfilter.runs.tables import excel_text
        from graphfilter.util.files import atomic_file, check_file

        if self.csv is not None:
            check_file(self.csv, overwrite=self.overwrite)
        check_outputs(self.run, self.csv)
        estimator, about, encoder = load_run(self.run, model_of(self.model))
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

"""graphfilter suggest: which vertices to label next."""

from __future__ import annotations

import csv as csv_files
from pathlib import Path
from typing import Annotated

from graphfilter.cli.explain import with_origin
from graphfilter.cli.options import ExcelSafe, argument, flag, option, takes
from graphfilter.cli.screen import say, show_table, waiting
from graphfilter.cli.sources import GraphOptions


@takes(GraphOptions, first="n csv")
def suggest(
    given: GraphOptions,
    run: Annotated[Path, argument("The folder that fit wrote.", "RUN")],
    n: Annotated[int, option("Number of vertices.", "N", name="--n", min=1)] = 20,
    csv: Annotated[Path | None, option("Write them to this file too.", "FILE")] = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the file.")] = False,
    excel_safe: ExcelSafe = False,
) -> None:
    """List the unlabelled vertices whose labels would improve the model most, with reasons.

    A label improves the model where it stands for many vertices that no labelled vertex is like,
    in features, neighbours and place in the graph, and of which the model is unsure. Those listed
    differ from each other. Label them, add the labels to the table, and fit again.

    Without tables, those of the run are read again.

    Example:  graphfilter suggest run --n 20
    """
    from graphfilter.runs.explaining import suggest_run
    from graphfilter.runs.layout import check_outputs
    from graphfilter.runs.loading import load_run
    from graphfilter.runs.tables import excel_text
    from graphfilter.util.files import atomic_file, check_file

    if csv is not None:
        check_file(csv, overwrite=overwrite)
    check_outputs(run, csv)
    estimator, about, encoder = load_run(run)
    graph = with_origin(given, about).read(encoder=encoder, like=about.columns).graph
    with waiting("looking for the next labels", quiet=given.quiet):
        found = suggest_run(run, estimator, about, graph, n)
    names = graph.vertex_names
    ids = [str(one.vertex if names is None else names[one.vertex]) for one in found]
    rows = [[name, f"{one.score:.2f}", one.reason] for name, one in zip(ids, found, strict=True)]
    show_table(["vertex", "score", "reason"], rows, title="Label next", text_columns=3)
    if csv is not None:
        with (
            atomic_file(csv) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv_files.writer(file)
            safe = excel_text if excel_safe else str
            writer.writerow(["id", "score", "reason"])
            writer.writerows([safe(name), score, safe(reason)] for name, score, reason in rows)
        say(f"Written to {csv}.")

"""graphfilter explain: why a vertex was labelled as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphfilter.cli.options import argument, flag, option, takes
from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.cli.sources import ORIGIN, GraphOptions
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import signed

if TYPE_CHECKING:
    from graphfilter.estimators.explained import Explanation
    from graphfilter.runs.loading import RunDescription


@takes(GraphOptions, first="vertex against top json")
def explain(
    given: GraphOptions,
    run: Annotated[Path, argument("The folder that fit wrote.", "RUN")],
    vertex: Annotated[list[str], option("Id of the vertex; repeat for others.", "ID")],
    against: Annotated[
        str | None, option("Class to compare with. Default: the second most probable one.", "CLASS")
    ] = None,
    output: Annotated[
        str | None,
        option(
            "Label or number to explain, of several. Default: the most probable label, or "
            "the first number.",
            "NAME",
        ),
    ] = None,
    top: Annotated[int, option("Number of vertices and features to list.", "N", min=1)] = 10,
    json: Annotated[Path | None, option("Write everything to this file too.", "FILE")] = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the file.")] = False,
) -> None:
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
    """
    from graphfilter.util.files import check_file
    from graphfilter.util.records import write_json

    if json is not None:
        check_file(json, overwrite=overwrite)
    from graphfilter.runs.explaining import explain_run
    from graphfilter.runs.layout import check_outputs
    from graphfilter.runs.loading import load_run

    check_outputs(run, json)
    classifier, about, encoder = load_run(run)
    new = with_origin(given, about).read(encoder=encoder, like=about.columns).graph
    with waiting("explaining", quiet=given.quiet):
        found, notes = explain_run(
            classifier, about, new, vertex, against=against, output=output, most=top
        )
    tell(notes, quiet=given.quiet)
    for explanation in found:
        _show(explanation)
    if json is not None:
        write_json(json, [explanation.to_dict() for explanation in found])
        say(f"Written to {json}.")


def with_origin(given: GraphOptions, about: RunDescription) -> GraphOptions:
    """Take the graph of the run where none is named."""
    if any(getattr(given, name) is not None for name in ("edges", "vertices", "dataset", "graph")):
        return given
    kept = {name: about.origin[name] for name in ORIGIN if name in about.origin}
    if not kept:
        raise ConfigError(
            "the run does not record its graph; name it: --edges and --vertices, "
            "or --dataset NAME, or --graph FILE."
        )
    words = {"dataset", "delimiter", "encoding", "decimal"}
    flags = {"allow_missing", "directed"}
    values = {
        name: value if name in words else name in flags or Path(value)
        for name, value in kept.items()
    }
    # Only tables must be told: a store knows its own, whatever tables it was built from.
    label = about.columns.label if about.columns is not None and "edges" in values else None
    return replace(given, **values, label=given.label or label)


def _show(found: Explanation) -> None:
    say(f"Vertex {found.vertex}: {found.sentence}")
    largest = max((abs(value) for _, value in found.parts), default=0.0)
    rows = [[name, signed(value, largest)] for name, value in found.parts]
    together = f"{found.predicted} against {found.against}" if found.against else found.predicted
    rows.append([f"together: {together}", signed(found.score, largest)])
    title = found.predicted
    if found.probability is not None:
        title += f" with probability {found.probability:.1%}"
    show_table(["what adds to the score", found.unit], rows, title=title)
    if found.contributors:
        labels = ["label"] if any(s.label for s in found.contributors) else []
        contributors = [
            [s.vertex, s.steps, *(s.label or "–" for _ in labels), signed(s.contribution, largest)]
            for s in found.contributors
        ]
        heads = ["vertices that add most", "steps away", *labels, found.unit]
        show_table(heads, contributors, text_columns=2 + len(labels))
    if found.features:
        features = [
            [f.name, f"{f.value:g}", signed(f.own, largest), signed(f.others, largest)]
            for f in found.features
        ]
        heads = ["features that add most", "value", "its own", "of others"]
        show_table(heads, features)
    if found.exact_share < 1:
        say(
            f"Single vertices and features are those of the members that are linear filters, "
            f"{found.exact_share:.0%} of the whole by weight; the others are divided by "
            "distance only."
        )

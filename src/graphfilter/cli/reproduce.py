"""graphfilter reproduce: the paper's tables and figures, measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli import sources
from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.data import load_dataset, locate
from graphfilter.errors import ConfigError, DataFileError, check_name
from graphfilter.graph import Graph
from graphfilter.paper.frequency import draw, frequency_estimates
from graphfilter.paper.table1 import PUBLISHED_AS, Row, table1
from graphfilter.report.figures import save_figure
from graphfilter.storage import whole_file, write_json

FREQUENCY_DATASETS = (
    "cora", "citeseer", "pubmed", "photo_lcc", "computers_lcc",
    "wisconsin", "cornell", "texas", "chameleon", "squirrel", "actor", "bipartite",
)  # fmt: skip


def reproduce(
    target: Annotated[str, typer.Argument(help="table1 or fig-frequency.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Name the targets.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples.")] = False,
    quiet: sources.Quiet = False,
) -> None:
    """Measure a table or figure of the paper again, beside the published values.

    Example:  graphfilter reproduce table1 --out results
    """
    if show_list:
        for name, (summary, _) in TARGETS.items():
            say(f"{name:<15} {summary}")
        return
    _, run = TARGETS[check_name("target", target, TARGETS)]
    if out is None:
        raise ConfigError("give a folder for the results with --out.")
    out.mkdir(parents=True, exist_ok=True)
    run(out, quick, quiet)


def _table1(out: Path, quick: bool, quiet: bool) -> None:
    graphs = _load(list(PUBLISHED_AS), quiet)
    with waiting("measuring frequencies", quiet=quiet):
        rows = table1(graphs)
    heads = [
        "dataset",
        "|V|",
        "|E|",
        "paper",
        "r(Y)",
        "paper",
        "encoding",
        "r(X)",
        "paper",
        "as printed",
    ]
    show_table(heads, map(_cells, rows), title="Table 1, measured beside the paper's values")
    write_json(out / "table1.json", [asdict(row) for row in rows])
    say(f"Written to {out / 'table1.json'}.")


def _cells(row: Row) -> list[str]:
    measured = row.signed if row.published.encoding == "signed" else row.onehot
    return [
        row.dataset,
        f"{row.n_vertices:,}",
        f"{row.n_edges:,}",
        f"{row.published.n_edges:,}",
        "{:.2f} ± {:.2f}".format(*measured),
        str(row.published.label_frequency),
        row.published.encoding,
        "{:.2f} ± {:.2f}".format(*row.features),
        str(row.published.feature_frequency),
        "yes" if not row.differs else f"not {', '.join(row.differs)}",
    ]


def _fig_frequency(out: Path, quick: bool, quiet: bool) -> None:
    graphs = _load(list(FREQUENCY_DATASETS), quiet)
    records = []
    for name, graph in graphs.items():
        whole = graph if graph.labels is None else graph.subgraph(graph.labels >= 0)
        with waiting(f"sampling {name}", quiet=quiet):
            records += frequency_estimates(
                whole.replace(name=name), n_samples=3 if quick else 10, seed=0
            )
    with whole_file(out / "fig-frequency.jsonl") as temporary:
        temporary.write_text("".join(json.dumps(asdict(r)) + "\n" for r in records))
    save_figure(draw(records), out / "fig-frequency.png")
    say(f"Written to {out}: fig-frequency.png and fig-frequency.jsonl.")


def _load(names: list[str], quiet: bool) -> dict[str, Graph]:
    """Load the datasets that can be had; say which cannot."""
    graphs, missing = {}, []
    for name in names:
        try:
            with waiting(f"loading {name}", quiet=quiet):
                graphs[name] = load_dataset(name)
        except DataFileError as error:
            if locate(name) is not None:
                raise
            missing.append(f"{name} left out: {error}")
    tell(missing, quiet=quiet)
    if not graphs:
        raise ConfigError("none of the datasets is at hand; see graphfilter data list.")
    return graphs


TARGETS: dict[str, tuple[str, Callable[[Path, bool, bool], None]]] = {
    "table1": ("datasets and their frequencies (Table 1)", _table1),
    "fig-frequency": ("label frequency estimated from few labels (Figures 7, 8)", _fig_frequency),
}

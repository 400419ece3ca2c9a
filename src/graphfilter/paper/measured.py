"""Table 1 and Figures 6 and 7: measured in seconds from the datasets alone, without training."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphfilter.data import load_dataset
from graphfilter.errors import DataFileError
from graphfilter.paper.figures6_7 import FrequencyRecord, draw, frequency_estimates
from graphfilter.paper.forms import Block, Rendered, Row
from graphfilter.paper.matrix import OnStep, Options, Step, at_hand
from graphfilter.paper.published import Printed
from graphfilter.paper.records import read_lines_of, remedy
from graphfilter.paper.table1 import PUBLISHED_AS, table1
from graphfilter.storage import read_json, whole_file, write_json

TABLE1, FREQUENCY = "table1", "fig-frequency"
FREQUENCY_DATASETS = (
    "cora", "citeseer", "pubmed", "photo_lcc", "computers_lcc",
    "wisconsin", "cornell", "texas", "chameleon", "squirrel", "actor", "bipartite",
)  # fmt: skip
COLUMNS = (
    "vertices", "edges", "paper", "r(Y)", "paper", "encoding", "r(X)", "paper", "as printed",
)  # fmt: skip
ENCODING = (
    "Classes are encoded as ±½ on every dataset; Table 1 prints the frequencies of one-hot classes "
    "for Wisconsin, Cornell, Texas and Chameleon, which are higher."
)


def collect_table1(folder: Path, options: Options, on_step: OnStep | None) -> list[str]:
    """Measure the datasets that are at hand; return notes on those left out."""
    names, notes = at_hand(PUBLISHED_AS)
    graphs = {}
    for i, name in enumerate(names):
        _tell(on_step, i, len(names), f"measuring {name}")
        graphs[name] = load_dataset(name)
    write_json(folder / f"{TABLE1}.json", [asdict(row) for row in table1(graphs)])
    return notes


def render_table1(folder: Path, options: Options) -> Rendered:
    """Show what was measured beside what is printed."""
    path = folder / f"{TABLE1}.json"
    if not path.is_file():
        raise DataFileError(path, f"there are no such records; {remedy(folder, TABLE1)}")
    contents = read_json(path)
    try:
        rows = [Row(content["dataset"], _cells(content)) for content in contents]
    except (LookupError, TypeError, ValueError):
        problem = f"must hold the rows of {TABLE1}, of this version; {remedy(folder, TABLE1)}"
        raise DataFileError(path, problem) from None
    as_printed = sum(row.cells[-1] == "yes" for row in rows)
    block = Block("Sizes and frequencies, measured", COLUMNS, tuple(rows), first_column="Datasets")
    return Rendered(
        "Table 1: the datasets and their frequencies",
        (block,),
        notes=(f"{as_printed} of {len(rows)} datasets come out as printed in every number.",),
    )


def _cells(content: dict[str, Any]) -> tuple[str, ...]:
    published = content["published"]
    measured = content["signed" if published["encoding"] == "signed" else "onehot"]
    differs = ", ".join(content["differs"])
    return (
        f"{content['n_vertices']:,}",
        f"{content['n_edges']:,}",
        f"{published['n_edges']:,}",
        "{:.2f} ± {:.2f}".format(*measured),
        str(Printed(**published["label_frequency"])),
        published["encoding"],
        "{:.2f} ± {:.2f}".format(*content["features"]),
        str(Printed(**published["feature_frequency"])),
        f"not {differs}" if differs else "yes",
    )


def collect_frequency(folder: Path, options: Options, on_step: OnStep | None) -> list[str]:
    """Sample the datasets that are at hand; return notes on those left out."""
    names, notes = at_hand(FREQUENCY_DATASETS)
    records: list[FrequencyRecord] = []
    for i, name in enumerate(names):
        _tell(on_step, i, len(names), f"sampling {name}")
        graph = load_dataset(name).replace(name=name)
        known = graph if graph.labels is None else graph.subgraph(graph.labels >= 0)
        records += frequency_estimates(known, n_samples=3 if options.quick else 10, seed=0)
    with whole_file(folder / f"{_frequency_name(options)}.jsonl") as temporary:
        temporary.write_text("".join(json.dumps(asdict(r)) + "\n" for r in records))
    return notes


def render_frequency(folder: Path, options: Options) -> Rendered:
    """Draw the estimates on record."""
    name = _frequency_name(options)
    records = read_lines_of(folder, name, FrequencyRecord.from_json, "an estimate of frequency")
    title = "Figures 6 and 7: label frequency estimated from few labels"
    return Rendered(title, figure=draw(records) if records else None, notes=(ENCODING,))


def _frequency_name(options: Options) -> str:
    return f"{FREQUENCY}-quick" if options.quick else FREQUENCY


def _tell(on_step: OnStep | None, done: int, total: int, what: str) -> None:
    if on_step is not None:
        on_step(Step(done, total, 0, what))

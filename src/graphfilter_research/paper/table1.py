"""Table 1 remeasured: label and feature frequencies of the datasets next to the printed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.datasets import load_dataset
from graphfilter.data.graph import Graph
from graphfilter.spectral import feature_frequency, label_frequency
from graphfilter.util.errors import DataFileError, check_name
from graphfilter.util.records import read_json, write_json
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.paper.collect import Options, at_hand, remedy, report
from graphfilter_research.paper.published import TABLE_1, Printed, PublishedRow
from graphfilter_research.paper.tables import Block, Rendered, Row
from graphfilter_research.paper.target import MeasuredTarget

# Our names for the graphs to measure, and the published row each is compared with. Cornell has two
# copies: the widely used one with the features and labels of Texas, which the paper measured, and
# the corrected one.
PUBLISHED_AS = {name: name for name in TABLE_1} | {"cornell_geomgcn": "cornell"}
LARGEST_COMPONENT = ("photo", "computers")
NAME = "table1"
COLUMNS = (
    "vertices", "edges", "paper", "r(Y)", "paper", "encoding", "r(X)", "paper", "as printed",
)  # fmt: skip


@dataclass(frozen=True)
class MeasuredRow:
    """A measured dataset, with what the paper prints for it.

    Attributes
    ----------
    dataset : str
    n_vertices, n_edges : int
        Of what was measured: the largest component for Photo and Computers.
    signed, onehot : tuple of float
        Mean and deviation of r(Y) over classes, by label encoding.
    features : tuple of float
        Mean and deviation of r(X) over features, rows normalised. Like the paper, a feature that
        is zero everywhere counts as frequency 0.
    published : PublishedRow
        Its ``encoding`` says which r(Y) to compare with.
    differs : tuple of str
        What is not as printed: of vertices, edges, r(Y), r(Y) deviation, r(X), r(X) deviation.
    """

    dataset: str
    n_vertices: int
    n_edges: int
    signed: tuple[float, float]
    onehot: tuple[float, float]
    features: tuple[float, float]
    published: PublishedRow
    differs: tuple[str, ...]


def measure(graphs: Mapping[str, Graph]) -> list[MeasuredRow]:
    """Measure the rows of Table 1.

    Parameters
    ----------
    graphs : mapping of name to Graph
        Whole graphs, with features and labels, under the names in ``PUBLISHED_AS``. Some of
        them will do.

    Returns
    -------
    list of MeasuredRow
        In the paper's order.
    """
    for name in graphs:
        check_name("dataset of Table 1", name, PUBLISHED_AS)
    order = sorted(graphs, key=lambda name: list(TABLE_1).index(PUBLISHED_AS[name]))
    return [_measure(name, graphs[name]) for name in order]


def _measure(name: str, graph: Graph) -> MeasuredRow:
    if name in LARGEST_COMPONENT:
        graph = graph.largest_component()
    published = TABLE_1[PUBLISHED_AS[name]]
    signed = _mean_deviation(label_frequency(graph, "signed"))
    onehot = _mean_deviation(label_frequency(graph, "onehot"))
    features = _mean_deviation(np.nan_to_num(feature_frequency(graph)))
    differs = []
    if graph.n_vertices != published.n_vertices:
        differs.append("vertices")
    if graph.n_edges != published.n_edges:
        differs.append("edges")
    labels = signed if published.encoding == "signed" else onehot
    differs += _differences("r(Y)", labels, published.label_frequency)
    differs += _differences("r(X)", features, published.feature_frequency)
    return MeasuredRow(
        dataset=name,
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        signed=signed,
        onehot=onehot,
        features=features,
        published=published,
        differs=tuple(differs),
    )


def _mean_deviation(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.std())


def _differences(what: str, measured: tuple[float, float], printed: Printed) -> list[str]:
    mean, deviation = measured
    differs = [] if printed.same_mean(mean) else [what]
    return differs if printed.same_deviation(deviation) else [*differs, f"{what} deviation"]


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Measure the datasets that are available; return notes on those left out."""
    names, notes = at_hand(PUBLISHED_AS)
    graphs = {}
    for i, name in enumerate(names):
        report(on_progress, i, len(names), f"measuring {name}")
        graphs[name] = load_dataset(name)
    write_json(folder / f"{NAME}.json", [asdict(row) for row in measure(graphs)])
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Show measured values next to the printed ones."""
    path = folder / f"{NAME}.json"
    if not path.is_file():
        raise DataFileError(path, f"there are no such records; {remedy(folder, NAME)}")
    contents = read_json(path)
    try:
        rows = [Row(content["dataset"], _cells(content)) for content in contents]
    except (LookupError, TypeError, ValueError):
        problem = f"must hold the rows of {NAME}, of this version; {remedy(folder, NAME)}"
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


TARGET = MeasuredTarget(
    name=NAME,
    summary="datasets and their frequencies (Table 1)",
    measure=collect,
    show=build,
    has_quick=False,
)

"""Figures 4 and 8: α and β of the 16 layers while training, from 0.5 and from a random start."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.util.machine import pick_device
from graphfilter.util.records import convert
from graphfilter_research.bench.pair import device_title
from graphfilter_research.bench.protocol import GraphLoader, draw_split
from graphfilter_research.bench.record import current_versions
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import DATASET_TITLES, RANDOM_DYNAMICS
from graphfilter_research.paper.tables import Rendered
from graphfilter_research.paper.target import Say, TaskTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


EPOCHS_BETWEEN = 20
# More blocks than this would be too small to read.
MOST_BLOCKS = 16
SEED = 0


@dataclass(frozen=True)
class DynamicsRecord:
    """The filter of one run, at the start, every ``EPOCHS_BETWEEN`` epochs and at the end.

    ``alpha`` and ``beta`` have one row per entry of ``epochs`` and one column per layer.
    """

    dataset: str
    model: str
    seed: int
    scaling: str
    max_epochs: int
    accuracy: float
    best_epoch: int
    epochs: list[int]
    alpha: list[list[float]]
    beta: list[list[float]]
    device: str
    versions: dict[str, str] = field(default_factory=current_versions)

    @property
    def task(self) -> tuple[str, str]:
        return self.dataset, self.model

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Read one line; ValueError or TypeError if it is not such a record."""
        record = convert(cls, {"versions": {}} | json.loads(line))
        shape = np.shape(record.alpha)
        if shape != np.shape(record.beta) or shape[:1] != (len(record.epochs),) or 0 in shape:
            raise ValueError("alpha and beta must have one row per epoch and one column per layer")
        return record


@dataclass(frozen=True)
class FilterDynamics:
    """What is run and drawn of one of the two figures.

    Attributes
    ----------
    model : str
        The system: its start is the figure's.
    published : dict
        Test accuracies in % that the paper states of the runs it draws.
    """

    title: str
    model: str
    published: dict[str, float] = field(default_factory=dict)

    def target(self, name: str, summary: str) -> TaskTable:
        """Return the figure's target."""
        return TaskTable(
            name=name,
            summary=summary,
            datasets=("cora", "wisconsin"),
            quick=("wisconsin",),
            pairs=self.tasks,
            run=record_dynamics,
            read_line=DynamicsRecord.from_json,
            what=f"a record of {name}",
            show=self.show,
        )

    def tasks(self, datasets: Sequence[str], options: Options) -> list[tuple[str, str]]:
        """List what to train."""
        return [(dataset, self.model) for dataset in datasets]

    def show(self, records: Sequence[DynamicsRecord], datasets: Sequence[str]) -> Rendered:
        """Draw the figure, and say what each run reached."""
        records = [record for record in records if record.model == self.model]
        notes = []
        for r in records:
            stated = self.published.get(r.dataset)
            beside = "" if stated is None else f" (paper {stated:.1f} %)"
            title = DATASET_TITLES.get(r.dataset, r.dataset)
            notes.append(
                f"{title}: test accuracy {100 * r.accuracy:.1f} %{beside}, best at epoch "
                f"{r.best_epoch} of {r.epochs[-1]}; {_active(r)}."
            )
        figure = draw(records, self.published) if records else None
        return Rendered(self.title, figure=figure, notes=tuple(notes))


def record_dynamics(
    task: tuple[str, str], folder: Path, options: Options, say: Say
) -> DynamicsRecord:
    """Train one run (seed 0, split 0, the paper's setting) and keep its α and β."""
    dataset, model = task
    say(f"{dataset}: {model}")
    device = pick_device(options.device)
    graph, _ = GraphLoader()(dataset)
    split = draw_split(graph, "stratified", SEED)
    system = get_system(model).limited(options.max_epochs)
    prepared = Prepared.of(graph, scaling="row", device=device)
    (outcome,) = train_system(prepared, system, [split], [SEED])
    right = outcome.probabilities.argmax(axis=1) == graph.labels
    last = outcome.result.n_epochs
    epochs = sorted({*range(0, last + 1, EPOCHS_BETWEEN), last})
    alpha, beta = (outcome.result.history[name][epochs] for name in ("alpha", "beta"))
    return DynamicsRecord(
        dataset=dataset,
        model=model,
        seed=SEED,
        scaling="row",
        max_epochs=system.config.max_epochs,
        accuracy=float(right[split.test].mean()),
        best_epoch=outcome.result.best_epoch,
        epochs=epochs,
        alpha=_rounded(alpha),
        beta=_rounded(beta),
        device=device_title(device),
    )


def draw(records: Sequence[DynamicsRecord], published: dict[str, float]) -> Figure:
    """Draw one band per dataset: α above β, a 4 × 4 block of layers per epoch shown.

    Layers run from top to bottom, then from left to right, as in the paper.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 2.9 * len(records)), layout="constrained")
    bands = figure.subfigures(len(records), 1, squeeze=False)[:, 0]
    for band, record in zip(bands, records, strict=True):
        stated = published.get(record.dataset)
        beside = "" if stated is None else f" (paper {stated:.1f} %)"
        name = DATASET_TITLES.get(record.dataset, record.dataset)
        band.suptitle(f"{name}: test accuracy {100 * record.accuracy:.1f} %{beside}")
        _draw_band(band, record)
    return figure


def _draw_band(band: SubFigure, record: DynamicsRecord) -> None:
    shown = list(range(len(record.epochs)))
    if len(shown) > MOST_BLOCKS:
        shown = [*shown[: MOST_BLOCKS - 1], shown[-1]]
    panels = band.subplots(2, len(shown), squeeze=False)
    values = {"α": np.array(record.alpha), "β": np.array(record.beta)}
    most = max(np.abs(v[shown]).max() for v in values.values())
    image: Any = None
    for row, (letter, history) in zip(panels, values.items(), strict=True):
        for axes, moment in zip(row, shown, strict=True):
            block = blocks(history[moment])
            image = axes.imshow(block, cmap="RdBu_r", vmin=-most, vmax=most)
            axes.set_xticks([])
            axes.set_yticks([])
        row[0].set_ylabel(letter, rotation=0, ha="right", va="center", fontsize=14)
    for axes, moment in zip(panels[1], shown, strict=True):
        axes.set_xlabel(f"{record.epochs[moment]}")
    panels[1, 0].set_xlabel("epoch 0")
    if len(shown) < len(record.epochs):
        panels[1, -1].set_xlabel(f"… {record.epochs[-1]}")
    band.colorbar(image, ax=panels.ravel().tolist(), shrink=0.9, pad=0.01)


def blocks(layers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reshape the values of K layers to a square, top to bottom and then left to right.

    >>> blocks(np.arange(4.0)).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
    side = int(np.ceil(np.sqrt(len(layers))))
    padded = np.full(side * side, np.nan)
    padded[: len(layers)] = layers
    return padded.reshape(side, side).T


def _active(record: DynamicsRecord) -> str:
    """Return which layers still do something at the end: beyond a tenth of the largest value."""
    found = []
    for letter, history in (("α", record.alpha), ("β", record.beta)):
        last = np.abs(np.array(history[-1]))
        layers = np.flatnonzero(last > 0.1 * last.max()) + 1
        found.append(f"{letter} above a tenth of its largest in layers {_ranges(layers.tolist())}")
    return ", ".join(found)


def _ranges(numbers: Sequence[int]) -> str:
    """Abbreviate sorted numbers to ranges.

    >>> _ranges([1, 2, 3, 7, 15, 16])
    '1–3, 7, 15–16'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs)


def _rounded(values: NDArray[Any]) -> list[list[float]]:
    return [[round(float(x), 6) for x in row] for row in values]


FROM_ONE_HALF = FilterDynamics("Figure 4: dynamics of α and β from the fixed start at 0.5", "sgf")
TARGET_4 = FROM_ONE_HALF.target("fig-dynamics", "α and β while training, from 0.5 (Figure 4)")


FROM_RANDOM = FilterDynamics(
    "Figure 8: dynamics of α and β from a random start (seed 0)", "sgf-random", RANDOM_DYNAMICS
)
TARGET_8 = FROM_RANDOM.target(
    "fig-random-dynamics", "α and β while training, from a random start (Figure 8)"
)

"""The filters that runs on record have learned, as curves to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.filters import Filter
from graphfilter.models import FilterNetworkConfig
from graphfilter.report.filter import FREQUENCIES, describe_shape, response_at
from graphfilter.spectral import Density
from graphfilter.systems import find_system
from graphfilter_research.bench.ranking import system_title
from graphfilter_research.bench.record import Record

# The size of a picture in its own units; a page stretches it to its place.
WIDTH, HEIGHT = 1000, 300
_STEP = 2
_EVERYWHERE = Density(FREQUENCIES, np.ones_like(FREQUENCIES), exact=True)


@dataclass(frozen=True)
class LearnedFilter:
    """What one system learned on one dataset.

    Every run's response is divided by its largest value, sign included: scale and sign are undone
    by the layers after the filter, the shape is not.

    Attributes
    ----------
    title : str
    shape : str
        The mean response in words, all frequencies weighted equally.
    mean : str
        Points of an SVG polyline, ``WIDTH`` by ``HEIGHT``; frequency 0 to 2, response 1 to -1.
    runs : tuple of str
        Likewise, one per run.
    """

    title: str
    shape: str
    mean: str
    runs: tuple[str, ...]


def learned_filters(records: Iterable[Record]) -> dict[str, list[LearnedFilter]]:
    """Return the filters of the records that hold one: by dataset, one per system."""
    curves: dict[str, dict[str, list[NDArray[np.float64]]]] = {}
    for record in records:
        curve = recorded_response(record)
        if curve is not None:
            curves.setdefault(record.dataset, {}).setdefault(record.model, []).append(curve)
    return {
        dataset: [_learned(system_title(model), runs) for model, runs in of_dataset.items()]
        for dataset, of_dataset in curves.items()
    }


def _learned(title: str, runs: Sequence[NDArray[np.float64]]) -> LearnedFilter:
    mean = np.mean(runs, axis=0)
    shape = describe_shape(mean, _EVERYWHERE).partition(":")[0]
    return LearnedFilter(title, shape, _points(mean), tuple(map(_points, runs)))


def recorded_response(record: Record) -> NDArray[np.float64] | None:
    """Return a run's response over :data:`FREQUENCIES`, its largest value 1; None without one.

    The filter is that of the system in the registry, with the scalars on record. One that does
    not fit it, and one that diverged, has no response.
    """
    learned = _filter_of(record.model) if record.ok and record.filter else None
    if learned is None:
        return None
    try:
        state = {name: torch.tensor(values) for name, values in record.filter.items()}
        learned.load_state_dict(state)
    except (RuntimeError, TypeError):
        return None
    curve = response_at(learned, record.config["operator"])
    largest = curve[np.abs(curve).argmax()]
    return curve / largest if np.isfinite(curve).all() and largest != 0 else None


@cache
def _filter_of(model: str) -> Filter | None:
    """Return the filter of a system, to load scalars into; None where it has none."""
    system = find_system(model)
    if system is None or not isinstance(system.model, FilterNetworkConfig):
        return None
    return system.model.filter.build()


def _points(curve: NDArray[np.float64]) -> str:
    x = FREQUENCIES[::_STEP] / 2 * WIDTH
    y = (1 - np.clip(curve[::_STEP], -1, 1)) / 2 * HEIGHT
    return " ".join(f"{a:.0f},{b:.0f}" for a, b in zip(x, y, strict=True))

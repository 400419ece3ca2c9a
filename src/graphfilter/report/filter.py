"""The section on the filter: its response by epoch, its shape in words, and how it was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.filters import Filter
from graphfilter.report.html import percent, plain, spread_out
from graphfilter.runs.findings import FREQUENCIES, LearnedFilter, PageContent, response_at
from graphfilter.runs.folder import FitSummary
from graphfilter.spectral import Density
from graphfilter.spectral.diagnosis import HIGH_ABOVE, LOW_BELOW
from graphfilter.spectral.plot import common_signs
from graphfilter.training import FitResult, Task

MOST_COLUMNS = 150

_PASSES = 0.5  # of the strongest band
# Which of the low, middle and high frequencies pass: the name of it, and what that does.
_SHAPES = {
    (True, False, False): ("low-pass", "averages each vertex with its neighbours"),
    (False, True, False): ("band-pass", "keeps what changes a little from neighbour to neighbour"),
    (False, False, True): ("high-pass", "contrasts each vertex with its neighbours"),
    (True, True, False): ("a weak low-pass", "makes each vertex a little more like its neighbours"),
    (False, True, True): ("a weak high-pass", "sets each vertex a little off its neighbours"),
    (True, False, True): ("band-stop", "keeps what neighbours share, and what sets them apart"),
    (True, True, True): ("nearly flat", "mostly keeps the columns of each vertex as they are"),
}


def mean_response(filters: Sequence[Filter], operator: str) -> NDArray[np.float64]:
    """Return the mean response of some filters, all turned the way of the first."""
    curves = np.array([response_at(f, operator) for f in filters])
    return np.mean(common_signs(curves) * curves, axis=0)


def filter_section(summary: FitSummary) -> dict[str, Any] | None:
    """Return what the filter with a share in the answer does, and its picture; None without any.

    Where no filter has a share one sentence says so. That a filter keeps columns as they are does
    not stand alone where the connections help: other models bring these in then, or the little
    that it changes is what helps.
    """
    content, fit = summary.content, summary.fit
    if content is None or (learned := content.filter) is None:
        return None
    noun, density = fit.plan.noun, content.density
    if not learned.is_used:
        said = (
            "An adaptive filter learns how far vertices should be like their neighbours, or unlike "
            "them. None has a share in this answer; “graphfilter fit --model sgf” trains and shows "
            "one alone."
        )
        return {"said": noun.put(said), "shape": ""}
    share = sum(fit.estimator.fitted_members_[i].weight for i in fit.estimator.drawn_members_)
    alone = share > 0.995
    name, _, meaning = describe_shape(learned.members.mean(axis=0), density).partition(": ")
    who = (
        "The filter" if alone else f"Of the answer, {percent(share, 0)} comes from a filter, which"
    )
    said = f"{who} {meaning or f'is {name}'}."
    if name == "nearly flat" and summary.conclusion.graph_helps:
        helps = "the little that it takes from neighbours is what helps"
        said = f"{said[:-1]}; {helps if share > 0.5 else 'other models bring in the connections'}."
    energy = None if content.energy is None else plain(content.energy)
    curves = {**filter_data(learned), "density": plain(density.values)}
    curves |= {"bins": plain(density.centres), "energy": energy}
    return {"said": noun.put(said), "shape": name, "data": {"filter": curves}}


def learning_data(content: PageContent, task: Task) -> dict[str, Any]:
    """Return how the first network learned, and its coefficients where it has a filter."""
    result = content.learning
    return {
        "coefficients": coefficient_data(result) if result else None,
        "training": training_data(result, task) if result else None,
    }


def filter_data(learned: LearnedFilter) -> dict[str, Any]:
    """Return the response before training, by epoch and learned; mean of the members, and each."""
    return {
        "x": plain(FREQUENCIES), "epochs": learned.epochs, "frames": plain(learned.frames),
        "kept": plain(learned.members.mean(axis=0)), "kept_epoch": learned.kept_epoch,
        "members": plain(learned.members) if len(learned.members) > 1 else [],
    }  # fmt: skip


def coefficient_data(result: FitResult) -> dict[str, Any] | None:
    """Return α and β, one row per layer and one column per epoch shown; None without them."""
    if not {"alpha", "beta"} <= result.history.keys():
        return None
    alpha, beta = result.history["alpha"], result.history["beta"]
    epochs = spread_out(len(alpha), MOST_COLUMNS)
    return {
        "epochs": epochs,
        "alpha": plain(alpha[epochs].T, 3),
        "beta": plain(beta[epochs].T, 3),
        "kept_epoch": result.best_epoch,
    }


def training_data(result: FitResult, task: Task) -> dict[str, Any]:
    """Return the loss and the scores of the first member by epoch."""
    shown = spread_out(result.n_epochs, MOST_COLUMNS)
    curves: Mapping[str, NDArray[Any]] = result.history
    metric = task.metrics[task.score_name]
    usual = (f"val_{task.score_name}", "val_loss")
    other = [key for key in curves if key.startswith("val_") and key not in usual]
    monitored = None
    if other:
        name = task.metrics[other[0].removeprefix("val_")].name
        monitored = {"name": name, "values": plain(curves[other[0]][shown])}
    return {
        "epochs": [i + 1 for i in shown], "loss": plain(curves["loss"][shown]),
        "train": plain(curves[f"train_{task.score_name}"][shown]),
        "val": plain(curves[f"val_{task.score_name}"][shown]),
        "score": metric.name, "share": metric.share, "monitored": monitored,
        "kept_epoch": result.best_epoch, "n_epochs": result.n_epochs, "stopped": result.stopped,
    }  # fmt: skip


def describe_shape(curve: NDArray[np.float64], density: Density) -> str:
    r"""Return in words what a response does to the frequencies the graph has.

    The mean of :math:`|f|` over the low (below 0.6), the middle and the high (above 1.3)
    frequencies, weighed by how many the graph has there; a band passes if its mean is at least
    half of the strongest's. A band without frequencies follows the middle one. Where bands pass
    with different signs, what that does to a vertex is not said: a change of sign is no smoothing.
    """
    value = np.interp(density.centres, FREQUENCIES, curve)
    size = np.abs(value)
    weight = np.nan_to_num(density.values)
    bands = np.digitize(density.centres, (LOW_BELOW, HIGH_ABOVE))
    mass = np.bincount(bands, weights=weight, minlength=3)
    total = np.bincount(bands, weights=weight * size, minlength=3)
    there = mass > 1e-3 * mass.sum()
    mean = np.divide(total, mass, out=np.zeros(3), where=there)
    if not mean.max() > 0:
        return "zero: nothing passes"
    passes = np.where(there, mean >= _PASSES * mean.max(), False)
    if not there[1]:
        passes[1] = passes[0] and passes[2]
    for end in (0, 2):
        if not there[end]:
            passes[end] = passes[1] and not passes[2 - end]
    name, meaning = _SHAPES[(bool(passes[0]), bool(passes[1]), bool(passes[2]))]
    signs = np.sign(np.bincount(bands, weights=weight * value, minlength=3))[passes & there]
    if np.ptp(signs) > 1:
        return f"{name} in size, with opposite signs at its ends"
    return f"{name}: {meaning}"

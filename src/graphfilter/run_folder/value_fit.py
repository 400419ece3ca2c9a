"""Fitting numbers, or several labels per vertex, into a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.regressor import SGFRegressor
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.targets import Target
from graphfilter.graph import Graph
from graphfilter.report.sentences import BASELINES
from graphfilter.report.value_comparison import Rival
from graphfilter.report.values_page import ValueFacts, conclude_facts, write_value_report
from graphfilter.run_folder.description import describe_run
from graphfilter.run_folder.layout import (
    CHECKPOINT_FILE,
    METRICS_FILE,
    PREDICTIONS_FILE,
    REPORT_FILE,
    let_begin,
    open_folder,
)
from graphfilter.run_folder.predictions import parts_of
from graphfilter.run_folder.run_metrics import (
    filter_numbers,
    finite,
    measure_processes,
    peak_memory_mb,
)
from graphfilter.run_folder.value_files import score_values, write_values
from graphfilter.run_folder.value_plan import ValuePlan
from graphfilter.spectral.rayleigh import rayleigh_quotient
from graphfilter.splits import Split
from graphfilter.storage import write_json
from graphfilter.systems import get_system
from graphfilter.systems.pipeline import train_system
from graphfilter.training import OnEpoch
from graphfilter.training.progress import shared

ValueEstimator = SGFRegressor | SGFClassifier


@dataclass(frozen=True, eq=False)
class ValueSummary:
    """What :func:`fit_values` left behind, for printing."""

    graph: Graph
    metrics: dict[str, Any]
    folder: Path
    headline: str


def fit_values(
    plan: ValuePlan,
    estimator: ValueEstimator,
    out: str | Path,
    *,
    seed: int,
    resume: bool = False,
    overwrite: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
    command: str = "",
) -> ValueSummary:
    """Fit an estimator and leave predictions, metrics, model and report in a folder.

    As :func:`graphfilter.run_folder.fit_folder` does for classes: everything is checked before the
    folder is made, and a folder with a ``config.json`` is a finished run.
    """
    estimator.check_parameters()
    with open_folder(out, overwrite=overwrite, resume=resume) as folder:
        let_begin()
        _fit(plan, estimator, folder, resume=resume, on_epoch=on_epoch)
        said = predicted_values(estimator)
        metrics = _measure(plan, estimator, said)
        write_values(folder / PREDICTIONS_FILE, estimator, plan.graph, said, plan.split)
        write_json(folder / METRICS_FILE, metrics)
        rivals = _rivals(plan.split, estimator, seed, on_epoch) if baselines else ()
        run = describe_run(plan, seed=seed, command=command, stopped=metrics["stopped"])
        facts = ValueFacts(
            estimator, plan.known_target, plan.graph, plan.split, parts_of(plan.graph, plan.split),
            said, metrics, plan.notes, asdict(run), rivals,
        )  # fmt: skip
        conclusion = conclude_facts(facts)
        write_value_report(folder / REPORT_FILE, facts)
        estimator.save(folder, run=asdict(run))
        (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    headline = f"{conclusion.headline} {conclusion.reason}".strip()
    return ValueSummary(plan.graph, metrics, folder, headline)


def take_part_in_values(
    plan: ValuePlan,
    estimator: ValueEstimator,
    out: str | Path,
    *,
    seed: int,
    resume: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
) -> None:
    """Do the share of another process in :func:`fit_values`, which the first of them calls."""
    let_begin()
    _fit(plan, estimator, Path(out), resume=resume, on_epoch=on_epoch)
    if baselines:
        _rivals(plan.split, estimator, seed, on_epoch)


def _fit(
    plan: ValuePlan,
    estimator: ValueEstimator,
    folder: Path,
    *,
    resume: bool,
    on_epoch: OnEpoch | None,
) -> None:
    estimator.fit(
        graph=plan.graph,
        y=plan.known_target,
        split=plan.split,
        checkpoint=folder / CHECKPOINT_FILE,
        resume=resume,
        on_epoch=on_epoch,
    )


def predicted_values(estimator: ValueEstimator, graph: Graph | None = None) -> NDArray[np.float64]:
    """Return the numbers (n, 1), or the probability of every label (n, L)."""
    if isinstance(estimator, SGFRegressor):
        return estimator.predict(graph=graph)[:, None]
    return estimator.predict_proba(graph=graph)


def _measure(plan: ValuePlan, estimator: ValueEstimator, said: NDArray[Any]) -> dict[str, Any]:
    """Return the content of ``metrics.json``."""
    target, results = plan.known_target, estimator.results_
    parts = {part: getattr(plan.split, part) for part in ("train", "val", "test")}
    metrics: dict[str, Any] = {
        "task": target.task.name,
        "target": [str(name) for name in target.names],
        "scores": {
            part: score_values(target, said, index) for part, index in parts.items() if len(index)
        },
        "split_rule": plan.split.rule,
        "target_frequency": _frequencies(plan.graph, target),
        "filter": [filter_numbers(f) for f in estimator.filters_],
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb(),
    }
    if processes := measure_processes(results):
        metrics["processes"] = processes
    return metrics


def _frequencies(graph: Graph, target: Target) -> dict[str, float | None]:
    """Return the graph frequency of every column, on the vertices where it is known."""
    assert target.values is not None
    known = np.flatnonzero(target.codes >= 0)
    among = graph if len(known) == graph.n_vertices else graph.subgraph(known)
    centred = target.values[known] - target.values[known].mean(axis=0)
    values = np.atleast_1d(rayleigh_quotient(among, centred))
    pairs = zip(target.names, values, strict=True)
    return {str(name): finite(float(value)) for name, value in pairs}


def _rivals(
    split: Split, estimator: ValueEstimator, seed: int, on_epoch: OnEpoch | None
) -> tuple[Rival, ...]:
    """Train MLP, APPNP and SGC as the estimator was trained; none where they were stopped."""
    seeds = np.random.SeedSequence(seed).generate_state(estimator.n_members).tolist()
    unscaled: Callable[[NDArray[Any]], NDArray[Any]] = lambda values: values  # noqa: E731
    if isinstance(estimator, SGFRegressor):
        unscaled = lambda values: values * estimator.target_scale_ + estimator.target_mean_  # noqa: E731
    names = list(BASELINES)

    def work(number: int) -> Rival | None:
        name = names[number]
        system = get_system(name).with_(
            max_epochs=estimator.max_epochs,
            patience=estimator.patience,
            dropout=estimator.dropout,
            # Of numbers this is R², which is all that is monitored there.
            monitor=getattr(estimator, "monitor", "accuracy"),
        )
        done = train_system(
            estimator.prepared_, system, [split] * len(seeds), seeds, on_epoch=on_epoch
        )
        if any(outcome.result.stopped == "asked" for outcome in done):
            return None
        said = unscaled(np.mean([outcome.probabilities for outcome in done], axis=0))
        seconds = sum(outcome.seconds for outcome in done)
        return Rival(name, get_system(name).title, BASELINES[name], said, seconds)

    made = shared(len(names), work, on_epoch)
    return tuple(one for one in made if one is not None) if None not in made else ()

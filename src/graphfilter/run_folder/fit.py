"""Fitting a graph into a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from graphfilter.estimators.base import VertexClassifier
from graphfilter.graph import Graph
from graphfilter.report.run_page import RunFacts, conclude_run, write_report
from graphfilter.run_folder.asked import NOTHING_ASKED, Asked
from graphfilter.run_folder.baselines import train_baselines
from graphfilter.run_folder.channels import (
    draw_channel_picture,
    fit_in_folder,
    measure_channels,
)
from graphfilter.run_folder.decisions import (
    DEFAULT,
    DecisionPlan,
    measure_decision,
    plan_decision,
)
from graphfilter.run_folder.description import describe_run
from graphfilter.run_folder.embeddings import check_embeddings_file, write_embeddings
from graphfilter.run_folder.filter_picture import draw_filter_picture
from graphfilter.run_folder.layout import (
    CHANNELS_FILE,
    FILTER_FILE,
    METRICS_FILE,
    PREDICTIONS_FILE,
    REPORT_FILE,
    let_begin,
    open_folder,
    remove_checkpoints,
)
from graphfilter.run_folder.model import save_run
from graphfilter.run_folder.plan import Plan
from graphfilter.run_folder.predictions import parts_of, write_predictions
from graphfilter.run_folder.repeats import repeat_fit
from graphfilter.run_folder.run_metrics import RunMetrics, measure_run
from graphfilter.storage import write_json
from graphfilter.training import OnEpoch


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What :func:`fit_folder` left behind, for printing; the headline is the report's."""

    classifier: VertexClassifier
    graph: Graph
    metrics: RunMetrics
    folder: Path
    headline: str
    notes: tuple[str, ...] = ()


def fit_folder(
    plan: Plan,
    classifier: VertexClassifier,
    out: str | Path,
    *,
    seed: int,
    resume: bool = False,
    overwrite: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
    on_baseline: OnEpoch | None = None,
    command: str = "",
    asked: Asked = NOTHING_ASKED,
) -> FitSummary:
    """Fit a classifier and leave predictions, metrics, model, picture and report in a folder.

    Everything is checked before the folder is made. ``config.json`` is written last, and the
    checkpoint removed after it: a folder with a ``config.json`` is a finished run. No other fit
    can write to the folder meanwhile.

    Parameters
    ----------
    baselines : bool
        Train the report's plain models on the same split too; ``on_baseline`` is called after each
        of their epochs, ``on_epoch`` after each of the classifier's. Either may stop it: the
        best weights so far are then kept, and baselines left out.
    asked : Asked
        Thresholds, costs and files beyond the usual.
    """
    classifier.check_parameters()
    decide = plan_decision(plan.graph, plan.split, asked)
    if asked.embeddings is not None:
        check_embeddings_file(asked.embeddings, overwrite=overwrite or resume)
    with open_folder(out, overwrite=overwrite, resume=resume) as folder:
        let_begin()
        classifier, notes = fit_in_folder(
            plan, classifier, folder, resume=resume, on_epoch=on_epoch
        )
        plan = replace(plan, notes=(*plan.notes, *notes))
        metrics, headline = _write_run(
            plan, classifier, folder, seed=seed, baselines=baselines, on_baseline=on_baseline,
            command=command, decide=decide, asked=asked,
        )  # fmt: skip
        if asked.embeddings is not None:
            write_embeddings(asked.embeddings, plan.graph, classifier.transform())
        remove_checkpoints(folder)
    return FitSummary(classifier, plan.graph, metrics, folder, headline, notes)


def take_part(
    plan: Plan,
    classifier: VertexClassifier,
    out: str | Path,
    *,
    seed: int,
    resume: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
    asked: Asked = NOTHING_ASKED,
) -> None:
    """Do the share of another process in :func:`fit_folder`, which the first of them calls.

    Nothing but the checkpoints of members is written.
    """
    let_begin()
    fitted, _ = fit_in_folder(plan, classifier, Path(out), resume=resume, on_epoch=on_epoch)
    if asked.repeats > 1:
        said = fitted.predict_proba()
        repeat_fit(plan, fitted, said, seed=seed, repeats=asked.repeats, on_epoch=on_epoch)
    if baselines:
        train_baselines(plan.split, fitted, seed=seed, on_epoch=on_epoch)


def _write_run(
    plan: Plan,
    classifier: VertexClassifier,
    folder: Path,
    *,
    seed: int,
    baselines: bool,
    on_baseline: OnEpoch | None,
    command: str,
    decide: DecisionPlan | None,
    asked: Asked,
) -> tuple[RunMetrics, str]:
    """Write every file of a run whose classifier is fitted, the model last.

    Returns what was measured, and the first sentence of the report.
    """
    graph, split = plan.graph, plan.split
    probabilities = classifier.predict_proba()
    metrics = measure_run(classifier, graph, probabilities, split)
    decision = None if decide is None else decide.settle(graph, probabilities, split)
    if decision is not None:
        metrics["decision"] = measure_decision(decision, graph, probabilities, split)
        decision = None if decision.metric == DEFAULT else decision
    write_predictions(
        folder / PREDICTIONS_FILE, graph, graph.classes, probabilities, split, decision
    )
    if channels := measure_channels(classifier):
        metrics["channels"] = channels
        title = f"{graph.name}: the filter of each kind of edge, and its share in the answer"
        draw_channel_picture(classifier, channels, title, folder / CHANNELS_FILE)
    if asked.repeats > 1:
        spread = repeat_fit(
            plan, classifier, probabilities, seed=seed, repeats=asked.repeats, on_epoch=on_baseline
        )
        if spread is not None:
            metrics["repeats"] = spread
    write_json(folder / METRICS_FILE, metrics)
    draw_filter_picture(classifier, graph, metrics, folder / FILTER_FILE)
    stopped = metrics["stopped"]
    run = asdict(describe_run(plan, seed=seed, command=command, stopped=stopped, decision=decision))
    others = ()
    if baselines:
        others = train_baselines(split, classifier, seed=seed, on_epoch=on_baseline)
    facts = RunFacts(
        classifier, graph, split, parts_of(graph, split), probabilities, metrics, plan.notes, run,
        others, asked.title,
    )  # fmt: skip
    write_report(folder / REPORT_FILE, facts)
    save_run(classifier, folder, run)
    return metrics, conclude_run(facts).headline

"""Fitting a graph into a folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphfilter.errors import ConfigError, GraphError
from graphfilter.estimators import VertexClassifier, VertexEstimator
from graphfilter.fits import (
    DEFAULT_REQUEST,
    Fit,
    FitMetrics,
    FitRequest,
    Plan,
    check_coverage_asked,
    measure_fit,
    plan_decision,
    train_fit,
)
from graphfilter.report import Conclusion, Page, conclude, write_report
from graphfilter.run_folder.command import repeat_command
from graphfilter.run_folder.description import describe_run
from graphfilter.run_folder.kept_graph import keep_graph, write_reference
from graphfilter.run_folder.layout import (
    CHANNELS_FILE,
    CHECKPOINT_FILE,
    FILTER_FILE,
    METRICS_FILE,
    PREDICTIONS_FILE,
    REPORT_FILE,
    check_outputs,
    finish_run,
    open_folder,
    training_folder,
    wait_for_folder,
)
from graphfilter.run_folder.loading import save_run
from graphfilter.run_folder.pictures import draw_channel_picture, draw_filter_picture
from graphfilter.run_folder.tables import (
    check_embeddings_file,
    prediction_columns,
    write_embeddings,
    write_rows,
)
from graphfilter.storage import check_text, write_json
from graphfilter.training import OnEpoch


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What :func:`fit_folder` left behind, for printing; the headline is the report's.

    ``notes`` are about the folder.
    """

    fit: Fit
    metrics: FitMetrics
    conclusion: Conclusion
    folder: Path
    notes: tuple[str, ...] = ()


def fit_folder(
    plan: Plan,
    estimator: VertexEstimator,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
    on_baseline: OnEpoch | None = None,
    command_out: str | None = None,
    asked: FitRequest = DEFAULT_REQUEST,
) -> FitSummary:
    """Fit an estimator and leave predictions, metrics, model, pictures and report in a folder.

    Everything is checked before the folder is made. ``config.json`` is written last, and the
    checkpoint removed after it: a folder with a ``config.json`` is a finished run. One that is
    replaced stays as it is until the new one is complete. No other fit can write to the folder
    meanwhile.

    Parameters
    ----------
    baselines, on_epoch, on_baseline, asked
        As in :func:`~graphfilter.fits.train_fit`; ``asked`` names files beyond the usual, too.
    command_out : str, optional
        The folder that the command which repeats it names; ``out`` otherwise.
    """
    estimator.check_parameters()
    estimator.choose(plan.target, plan.split)
    if plan.earlier is not None:
        graph = plan.graph
        estimator.check_start(
            plan.earlier, plan.target, plan.split, graph.n_features, graph.feature_names
        )
    plan_decision(plan, asked)
    check_coverage_asked(plan, asked.coverage)
    if asked.keep_graph and asked.forget_ids:
        raise ConfigError(
            "`keep_graph` keeps the ids of the vertices, which `forget_ids` leaves out: choose one."
        )
    if asked.embeddings is not None:
        check_embeddings_file(asked.embeddings, overwrite=overwrite or resume)
        check_outputs(out, asked.embeddings)
    _check_names(plan)
    command = repeat_command(
        plan, estimator, str(out) if command_out is None else command_out, baselines=baselines
    )
    with open_folder(out, overwrite=overwrite, resume=resume) as folder:
        wait_for_folder()
        fit = train_fit(
            plan, estimator, asked=asked, baselines=baselines, resume=resume, on_epoch=on_epoch,
            checkpoint=folder / CHECKPOINT_FILE, on_baseline=on_baseline,
        )  # fmt: skip
        summary = _write_run(fit, folder, command, asked)
        finish_run(out)
    return replace(summary, folder=Path(out))


def _check_names(plan: Plan) -> None:
    """Raise where a name cannot be written, or two classes would be one column of a table."""
    graph, names = plan.graph, plan.target.names.tolist()
    kinds = () if graph.kinds is None else graph.kinds.names
    # Those of a store, which stay on disk, were checked when it was opened.
    ids = graph.vertex_names if isinstance(graph.vertex_names, tuple) else ()
    check_text((graph.name, *names, *kinds, *(graph.feature_names or ()), *ids), "names")
    for text, times in Counter(map(str, names)).most_common(1):
        if times > 1:
            raise GraphError(f"classes must differ as text; {times} are {text!r}. Rename one.")


def join_fit(
    plan: Plan,
    estimator: VertexEstimator,
    out: str | Path,
    *,
    resume: bool = False,
    baselines: bool = True,
    on_epoch: OnEpoch | None = None,
    asked: FitRequest = DEFAULT_REQUEST,
) -> None:
    """Do the share of another process in :func:`fit_folder`, which the first of them calls.

    Nothing but the checkpoints of members is written.
    """
    wait_for_folder()
    train_fit(
        plan, estimator, asked=asked, baselines=baselines, resume=resume, on_epoch=on_epoch,
        checkpoint=training_folder(out) / CHECKPOINT_FILE, on_baseline=on_epoch,
    )  # fmt: skip


def _write_predictions(fit: Fit, path: Path, *, excel_safe: bool) -> None:
    outputs, answers, parts = fit.outputs, fit.answers, fit.plan.parts
    promised = {} if fit.promised is None else fit.promised.columns()

    def columns(rows: slice) -> dict[str, Any]:
        own = {name: values[rows] for name, values in promised.items()}
        return prediction_columns(
            fit.task, fit.names, outputs[rows], answers[rows], parts[rows], own
        )

    write_rows(path, fit.graph, columns, excel_safe=excel_safe)


def _write_run(fit: Fit, folder: Path, command: str, asked: FitRequest) -> FitSummary:
    """Write every file of a run, the model last."""
    conclusion = conclude(fit)
    metrics = measure_fit(fit, conclusion.found)
    _write_predictions(fit, folder / PREDICTIONS_FILE, excel_safe=asked.excel_safe)
    write_json(folder / METRICS_FILE, metrics)
    draw_filter_picture(fit, conclusion, folder / FILTER_FILE)
    if "channels" in metrics:
        draw_channel_picture(fit, metrics["channels"], folder / CHANNELS_FILE)
    kept = keep_graph(fit, folder, False if asked.forget_ids else asked.keep_graph)
    reference = write_reference(fit, folder)
    described = describe_run(
        fit, command=command, graph_sha256=kept.sha256, reference_sha256=reference
    )
    run = asdict(described)
    write_report(folder / REPORT_FILE, Page(fit, conclusion, metrics, run, asked.title))
    if asked.embeddings is not None:
        assert isinstance(fit.estimator, VertexClassifier)
        embedding = fit.estimator.transform()
        write_embeddings(asked.embeddings, fit.graph, embedding, excel_safe=asked.excel_safe)
    if asked.forget_ids:
        fit.estimator.forget_ids()
    save_run(fit.estimator, folder, run)
    return FitSummary(fit, metrics, conclusion, folder, tuple(filter(None, [kept.note])))

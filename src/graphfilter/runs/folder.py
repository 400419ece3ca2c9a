"""Fitting a graph into a folder: what is checked before, and every file that is left there."""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch

from graphfilter.data.files import write_npz
from graphfilter.estimators.calibration import check_coverage
from graphfilter.estimators.explanation import Explanation
from graphfilter.estimators.graph import EFFORTS, OfCommittee, SGFClassifier, SGFRegressor
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs import findings, loading
from graphfilter.runs.answers import calibrated_columns, plan_decision
from graphfilter.runs.cases import CaseBook, Cases, find_reasons, rank
from graphfilter.runs.drift import Reference
from graphfilter.runs.findings import Conclusion, conclude
from graphfilter.runs.fit import Fit, train_fit
from graphfilter.runs.plan import DEFAULT_REQUEST, FitRequest, Plan
from graphfilter.training import Callback
from graphfilter.training.callbacks import SILENT
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.records import sha256_of, write_json, write_tensors
from graphfilter.util.words import count, say_bytes
from graphfilter.version import __version__

# Parameters of estimators, and the options of the command line that set them.
OPTIONS = {"max_epochs": "--epochs", "seconds": "--seconds"}
# Said elsewhere, or of no consequence.
_ELSEWHERE = {"graph", "random_state", "verbose", "effort", "model", "positive"}


def repeat_command(
    plan: Plan, estimator: VertexEstimator, out: str, *, baselines: bool = True
) -> str:
    """Return the command that repeats a fit; empty where no command does.

    ``estimator`` is as it was asked for, before the fit.
    """
    parameters, usual = estimator.get_params(deep=False), type(estimator)().get_params(deep=False)
    if isinstance(estimator, OfCommittee):
        name = EFFORTS.get(str(estimator.effort), "")
    elif isinstance(estimator, SGFClassifier | SGFRegressor):
        name = "sgf"
    else:
        name = str(getattr(estimator, "model", ""))
    changed = {key: value for key, value in parameters.items() if value != usual[key]}
    if not name or any(isinstance(value, dict) for value in changed.values()):
        return ""
    words = ["graphfilter", "fit", *plan.source.words, "--model", name]
    for key, value in changed.items():
        if key not in _ELSEWHERE:
            said = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            words += [OPTIONS[key], said] if key in OPTIONS else ["--set", f"{key}={said}"]
    words += ["--seed", str(plan.seed)] if plan.seed else []
    words += [] if baselines else ["--no-baselines"]
    return shlex.join([*words, "--out", out])


# Graphs of up to this many bytes in memory are kept unless that is refused.
KEPT_BYTES = 64 << 20


def keep_graph(fit: Fit, folder: Path, wanted: bool | None) -> tuple[str, str]:
    """Write the graph of a fit to its folder, where that is wanted or the graph is small.

    Edges, ids and features as they were encoded, without labels, as npz without pickles. A model
    that predicts no other graph has no use for it.

    Returns
    -------
    sha256, note : str
        Of the file, and what a user should know of it; both may be empty.
    """
    if wanted is False or not fit.plan.has_features or fit.estimator.system_.keeps_graph:
        return "", ""
    graph, x = fit.plan.graph, cast(Any, fit.plan.graph.features)
    arrays = [graph.indptr, graph.indices, graph.weights, graph.arcs]
    arrays += [] if graph.kinds is None else [graph.kinds.values]
    arrays += [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
    # Without reading the ids, which may lie on disk: 16 bytes each.
    size = sum(a.nbytes for a in arrays if a is not None) + 16 * graph.n_vertices
    if wanted is None and size > KEPT_BYTES:
        return "", f"the graph ({say_bytes(size)}) is not saved; `keep_graph=True` does so."
    ids = tuple(str(name) for name in graph.vertex_names or range(graph.n_vertices))
    bare = replace(
        graph, labels=None, classes=np.empty(0, dtype=np.int64), splits=(), notes=(), history=None,
        vertex_names=ids,
    )  # fmt: skip
    path = folder / loading.GRAPH_FILE
    try:
        write_npz(bare, path)
    except GraphError as error:
        return "", f"the graph is not saved with the run: {error}"
    note = (
        f"the graph is saved ({loading.GRAPH_FILE}, {say_bytes(path.stat().st_size)}): "
        "predict --with run needs new rows only. `keep_graph=False` leaves it out."
    )
    return sha256_of(path), note


@dataclass(frozen=True, eq=False)
class FitSummary:
    """A fit and what is said of it: on the page, in the files and on the terminal.

    Attributes
    ----------
    fit : Fit
    conclusion : Conclusion
    metrics : mapping
        The content of ``metrics.json``.
    content : PageContent or None
        What the page shows beside; None where none is drawn.
    about : RunDescription
        How the run was made.
    folder : Path
    title : str
        Of the page; the graph's name where empty.
    notes : tuple of str
        About the folder.
    """

    fit: Fit
    conclusion: Conclusion
    metrics: dict[str, Any]
    content: findings.PageContent | None
    about: loading.RunDescription
    folder: Path
    title: str = ""
    notes: tuple[str, ...] = ()


def fit_folder(
    plan: Plan,
    estimator: VertexEstimator,
    out: str | Path,
    *,
    overwrite: bool = False,
    baselines: bool = True,
    callback: Callback = SILENT,
    command_out: str | None = None,
    request: FitRequest = DEFAULT_REQUEST,
    draw: Callable[[FitSummary], None] | None = None,
) -> FitSummary:
    """Fit an estimator and leave predictions, metrics, model, pictures and report in a folder.

    Everything is checked before the folder is made. ``config.json`` is written last, and the
    checkpoint removed after it: a folder with a ``config.json`` is a finished run. One that is
    replaced stays as it is until the new one is complete. No other fit can write to the folder
    meanwhile.

    Parameters
    ----------
    baselines, callback, request
        As in :func:`~graphfilter.runs.fit.train_fit`; ``request`` names files beyond the usual,
        too, and the folder holds the checkpoint, whatever file the callback names.
    command_out : str, optional
        The folder that the command which repeats it names; ``out`` otherwise.
    draw : callable, optional
        Draws pictures and page into ``folder`` of the summary, as
        :func:`graphfilter.report.page.draw_run` does; there are none otherwise.
    """
    estimator.check_parameters()
    estimator.choose(plan.target, plan.split)
    plan_decision(plan, request)
    if request.coverage is not None:
        check_coverage(request.coverage)
        if not len(plan.split.val):
            raise ConfigError("a coverage is calibrated on validation vertices; there are none.")
    if request.keep_graph and request.forget_ids:
        raise ConfigError("`keep_graph` keeps the ids that `forget_ids` leaves out: choose one.")
    command = repeat_command(
        plan, estimator, str(out) if command_out is None else command_out, baselines=baselines
    )
    for text, times in Counter(plan.names).most_common(1):
        if times > 1:
            raise GraphError(f"classes must differ as text; {times} are {text!r}. Rename one.")
    graph, names = plan.graph, plan.target.names.tolist()
    kinds = () if graph.kinds is None else graph.kinds.names
    # Those of a store, which stay on disk, were checked when it was opened.
    ids = graph.vertex_names if isinstance(graph.vertex_names, tuple) else ()
    written = (graph.name, *names, *kinds, *(graph.feature_names or ()), *ids)
    with loading.open_folder(
        out, overwrite=overwrite, resume=callback.resume, names=written
    ) as folder:
        fit = train_fit(
            plan, estimator, request=request, baselines=baselines,
            callback=callback.keeping(folder / loading.CHECKPOINT_FILE),
        )  # fmt: skip
        summary = _write_run(fit, folder, command, request, draw)
        loading.finish_run(out)
    return replace(summary, folder=Path(out))


def _write_predictions(
    fit: Fit, reasons: Mapping[int, Explanation], folder: Path, *, excel_safe: bool
) -> tuple[str, ...]:
    """Write the answers for all vertices, ranked, the first with reasons; return what to say."""
    columns, calibration, graph = dict[str, Any](), fit.calibration, fit.plan.graph
    if calibration is not None:
        columns = calibrated_columns(fit.names, calibration.sets, calibration.intervals)
    order, notes = rank(fit), ()
    if order is not None:
        because = np.full(graph.n_vertices, "", dtype=object)
        because[list(reasons)] = [why.because() for why in reasons.values()]
        columns["because"] = because
        if reasons:
            what = "without a known value" if (~fit.plan.is_labelled).any() else "not trained on"
            notes = (
                "predictions.csv is ranked; its column because has the strongest reasons of the "
                f"first {count(len(reasons), 'row')} {what}: graphfilter explain has any.",
            )
    loading.write_predictions(
        folder / loading.PREDICTIONS_FILE, graph, fit.task, fit.names, fit.outputs.__getitem__,
        fit.answers, fit.plan.parts,
        lambda rows: {name: values[rows] for name, values in columns.items()},
        excel_safe=excel_safe, order=order,
    )  # fmt: skip
    return notes


def _write_run(
    fit: Fit,
    folder: Path,
    command: str,
    request: FitRequest,
    draw: Callable[[FitSummary], None] | None,
) -> FitSummary:
    """Write every file of a run, the model last."""
    estimator, plan, conclusion = fit.estimator, fit.plan, conclude(fit)
    # A network that is bound to its graph cannot be asked about a part of it.
    book = None if estimator.system_.keeps_graph else CaseBook.of_fit(fit)
    content = None if draw is None else findings.page_content(fit, book)
    reasons = find_reasons(fit, book) if content is None else content.reasons
    channels = findings.channels_of(estimator) if content is None else content.channels
    metrics = findings.measure_fit(fit, conclusion.comparison, channels)
    notes = _write_predictions(fit, reasons, folder, excel_safe=request.excel_safe)
    graph_sha256, note = keep_graph(
        fit, folder, False if request.forget_ids else request.keep_graph
    )
    write_json(folder / loading.METRICS_FILE, metrics)
    cases_sha256 = Cases.of(fit).write(folder / loading.CASES_FILE) if graph_sha256 else ""
    reference_sha256, encoder = "", plan.source.encoder
    # A model that predicts no other graph has nothing to be compared with.
    if plan.has_features and not estimator.system_.keeps_graph:
        arrays = Reference.of(fit).to_arrays()
        tensors = {name: torch.tensor(values) for name, values in arrays.items()}
        kind = {"kind": "reference", "version": __version__}
        reference_sha256 = write_tensors(folder / loading.REFERENCE_FILE, tensors, kind)
    about = loading.RunDescription(
        command=command,
        seed=plan.seed,
        origin=dict(plan.source.origin),
        data_checksum=plan.graph.checksum(),
        split_rule=plan.split.rule,
        encoder=None if encoder is None else encoder.to_dict(),
        columns=plan.source.columns,
        vertex_features=plan.has_features,
        python=platform.python_version(),
        libraries={name: version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")},
        stopped=[result.stopped for result in estimator.results_],
        decision=fit.user_decision,
        coverage=fit.coverage,
        graph_sha256=graph_sha256,
        reference_sha256=reference_sha256,
        cases_sha256=cases_sha256,
        noun=f"{plan.noun.one},{plan.noun.many}",
    )
    notes = (*notes, note) if note else notes
    summary = FitSummary(fit, conclusion, metrics, content, about, folder, request.title, notes)
    if draw is not None:
        draw(summary)
    if request.forget_ids:
        estimator.forget_ids()
    loading.save_run(estimator, folder, asdict(about))
    return summary

"""The analyst's work: fit a graph into a folder, and predict from that folder."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data import Columns
from graphfilter.data.encoding import TableEncoder
from graphfilter.errors import ConfigError, GraphError, ModelFileError
from graphfilter.estimators.saving import CONFIG_FILE, MODEL_FILE
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.graph import Graph
from graphfilter.graph.edges import count
from graphfilter.report.run_page import RunFacts, write_report
from graphfilter.run_folder.baselines import train_baselines
from graphfilter.run_folder.contents import draw_run, measure, parts, write_predictions
from graphfilter.splits import Split, stratified
from graphfilter.storage import read_json, write_json
from graphfilter.training import Progress

CHECKPOINT_FILE = "checkpoint.safetensors"
PREDICTIONS_FILE = "predictions.csv"
METRICS_FILE = "metrics.json"
FILTER_FILE = "filter.png"
REPORT_FILE = "report.html"
RUN_FILES = (
    PREDICTIONS_FILE, METRICS_FILE, FILTER_FILE, REPORT_FILE, MODEL_FILE, CONFIG_FILE,
    CHECKPOINT_FILE,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Source:
    """A graph and how it was read, so that a new one can be read alike."""

    graph: Graph
    encoder: TableEncoder | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph made ready for fitting, and what the user should know of it."""

    source: Source
    graph: Graph
    split: Split
    notes: tuple[str, ...]
    has_features: bool


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What :func:`fit_folder` left behind, for printing."""

    classifier: SGFClassifier
    graph: Graph
    metrics: dict[str, Any]
    folder: Path


def plan_fit(source: Source, seed: int) -> Plan:
    """Check a graph for fitting and choose its split; nothing is written."""
    graph, feature_notes = with_features(source.graph)
    class_notes = check_classes(graph)
    split, split_notes = choose_split(graph, seed)
    notes = (*graph.notes, *feature_notes, *class_notes, *split_notes)
    return Plan(source, graph, split, notes, has_features=not feature_notes)


def fit_folder(
    plan: Plan,
    classifier: SGFClassifier,
    out: str | Path,
    *,
    seed: int,
    resume: bool = False,
    overwrite: bool = False,
    baselines: bool = True,
    on_epoch: Callable[[Progress], None] | None = None,
    on_baseline: Callable[[Progress], None] | None = None,
    command: str = "",
) -> FitSummary:
    """Fit a classifier and leave predictions, metrics, model, picture and report in a folder.

    Everything is checked before the folder is made. ``config.json`` is written last, and the
    checkpoint removed after it: a folder with a ``config.json`` is a finished run.

    Parameters
    ----------
    baselines : bool
        Train the report's plain models on the same split too; ``on_baseline`` is told of their
        epochs, as ``on_epoch`` is of the classifier's. Either may stop what it is told of: the
        best weights so far are then kept, and baselines left out.
    """
    folder = check_folder(out, overwrite=overwrite, resume=resume)
    classifier.check_parameters()
    graph, split = plan.graph, plan.split
    folder.mkdir(parents=True, exist_ok=True)
    if overwrite:
        for name in RUN_FILES:
            (folder / name).unlink(missing_ok=True)
    classifier.fit(
        graph=graph,
        split=split,
        checkpoint=folder / CHECKPOINT_FILE,
        resume=resume,
        on_epoch=on_epoch,
    )
    probabilities = classifier.predict_proba()
    metrics = measure(classifier, graph, probabilities, split)
    write_predictions(folder / PREDICTIONS_FILE, graph, graph.classes, probabilities, split)
    write_json(folder / METRICS_FILE, metrics)
    draw_run(classifier, graph, metrics, folder / FILTER_FILE)
    run = {**_describe_run(plan, seed, command), "stopped": metrics["stopped"]}
    others = ()
    if baselines:
        others = train_baselines(graph, split, classifier, seed=seed, on_epoch=on_baseline)
    facts = RunFacts(
        classifier, graph, split, parts(graph, split), probabilities, metrics, plan.notes, run,
        others,
    )  # fmt: skip
    write_report(folder / REPORT_FILE, facts)
    classifier.save(folder, run=run)
    (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    return FitSummary(classifier, graph, metrics, folder)


def load_run(folder: str | Path) -> tuple[SGFClassifier, dict[str, Any], TableEncoder | None]:
    """Load the classifier of a run folder, what is known of the run, and how to read its tables."""
    if (Path(folder) / CHECKPOINT_FILE).exists() and not (Path(folder) / CONFIG_FILE).exists():
        raise ModelFileError(f"{folder}: an unfinished run; end it with graphfilter fit --resume.")
    classifier = SGFClassifier.load(folder)
    run = read_json(Path(folder) / CONFIG_FILE).get("run")
    if not isinstance(run, dict):
        raise ModelFileError(f"{folder}: holds a model but no run; make one with graphfilter fit.")
    encoder = run.get("encoder")
    return classifier, run, None if encoder is None else TableEncoder.from_dict(encoder)


def predict_graph(
    classifier: SGFClassifier, run: Mapping[str, Any], graph: Graph
) -> NDArray[np.float64]:
    """Return class probabilities for the vertices of another graph."""
    if not run.get("vertex_features", True):
        if with_features(graph)[0].checksum() != run.get("data_checksum"):
            raise GraphError(
                "this model was fitted without vertex features, on the identity of each vertex: "
                "it can predict the graph it was fitted on, and no other."
            )
        graph, _ = with_features(graph)
    if graph.features is None:
        raise GraphError("the vertices have no features, but the model was fitted with some.")
    if graph.n_features != classifier.n_features_in_:
        raise GraphError(
            f"the model was fitted on {classifier.n_features_in_} features; "
            f"this graph has {graph.n_features}."
        )
    return classifier.predict_proba(graph.features, graph=graph)


def check_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Path:
    """Check the run folder before any work: nothing of the user's is lost without a word."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: a file is in the way; give the name of a folder.")
    present = {p.name for p in folder.iterdir()} if folder.exists() else set()
    if resume and overwrite:
        raise ConfigError("--resume goes on with a run, --overwrite starts anew: choose one.")
    if resume and CONFIG_FILE in present:
        raise ConfigError(
            f"{folder}: holds a finished run; there is nothing to resume. "
            "Pass --overwrite to fit it again."
        )
    if not resume and not overwrite and CHECKPOINT_FILE in present:
        raise ConfigError(
            f"{folder}: holds an interrupted run; pass --resume to go on with it, or --overwrite "
            "to start anew."
        )
    if not resume and not overwrite and present:
        raise ConfigError(
            f"{folder}: exists and is not empty; pass --overwrite to replace the run in it, or "
            "give another --out."
        )
    return folder


def with_features(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Give a graph without features the identity of each vertex as one."""
    if graph.features is not None:
        return graph, ()
    identity = sp.eye_array(graph.n_vertices, dtype=np.float32, format="csr")
    note = (
        "There are no vertex features: each vertex is its own, so only this graph can be predicted."
    )
    return graph.replace(features=identity), (note,)


def check_classes(graph: Graph) -> tuple[str, ...]:
    """Raise unless two classes have labelled vertices; note those that have only one."""
    counts = np.zeros(0, dtype=int)
    if graph.labels is not None:
        counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.n_classes)
    n_present = int(np.count_nonzero(counts))
    if n_present == 0:
        raise GraphError("no vertex is labelled; name the column of the labels with --label.")
    if n_present == 1:
        only = graph.classes[int(counts.argmax())]
        raise GraphError(f"there must be at least two classes; every label is {str(only)!r}.")
    return tuple(
        f"class {str(name)!r} has one labelled vertex: it is trained on and cannot be tested."
        for name, n in zip(graph.classes, counts, strict=True)
        if n == 1
    )


def choose_split(graph: Graph, seed: int) -> tuple[Split, tuple[str, ...]]:
    """Take the split that came with the tables, or draw the paper's from the labelled vertices."""
    assert graph.labels is not None
    given = next((s for s in graph.splits if s.rule == "given"), None)
    if given is None:
        split = stratified(graph.labels, seed)
        return split, (f"split drawn: {_sizes(split)} ({split.rule}, seed {seed}).",)
    known = graph.labels >= 0
    train, val, test = (part[known[part]] for part in (given.train, given.val, given.test))
    if not len(train):
        raise GraphError("the split column must mark at least one labelled vertex as 'train'.")
    rule = "given"
    if not len(val):
        inner = np.full(graph.n_vertices, -1)
        inner[train] = graph.labels[train]
        drawn = stratified(inner, seed, (0.75, 0.25, 0.0))
        train, val = drawn.train, drawn.val
        rule = "given; validation drawn from train"
    split = Split(train, val, test, rule=rule)
    notes = [f"split taken from the table: {_sizes(split)} ({rule})."]
    untrained = np.setdiff1d(graph.labels[known], graph.labels[train])
    notes += [
        f"class {str(graph.classes[c])!r} has no training vertex: it can never be predicted."
        for c in untrained
    ]
    unused = int(known.sum()) - sum(map(len, (train, val, test)))
    if unused:
        notes.append(f"{count(unused, 'labelled vertex is', 'labelled vertices are')} in no part.")
    return split, tuple(notes)


def _describe_run(plan: Plan, seed: int, command: str) -> dict[str, Any]:
    """Return what ``config.json`` says of a run beside its model."""
    encoder = plan.source.encoder
    return {
        "command": command,
        "seed": seed,
        "origin": dict(plan.source.origin),
        "data_checksum": plan.graph.checksum(),
        "split_rule": plan.split.rule,
        "encoder": None if encoder is None else encoder.to_dict(),
        "columns": None if plan.source.columns is None else asdict(plan.source.columns),
        "vertex_features": plan.has_features,
        "python": platform.python_version(),
        "libraries": _library_versions(),
    }


def _sizes(split: Split) -> str:
    return f"{len(split.train):,} train, {len(split.val):,} val, {len(split.test):,} test"


def _library_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")}

"""From records to numbers: means, deviations, and which differences are more than chance."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from graphfilter.runs.comparing import FEWEST_RUNS, SIGNIFICANCE, corrected_t_test, holm
from graphfilter.training.scores import METRICS
from graphfilter.util.errors import ConfigError, check_name
from graphfilter_research.bench.record import Record


@dataclass(frozen=True)
class CellSummary:
    """The runs of one model on one dataset.

    Attributes
    ----------
    mean, deviation : float
        Over the runs; the deviation is that of the population (divided by n, as numpy's
        ``std``). NaN where no run is ok.
    n, n_failed : int
    n_cut : int
        Runs that the limit of epochs ended: more training might have changed them.
    p_value : float or None
        Of the difference to the best, corrected; None for the best itself and where fewer than
        five runs are shared with it.
    mark : {'best', 'tied', ''}
        The best, not significantly worse than it, or neither (worse, or untested).
    """

    mean: float
    deviation: float
    n: int
    n_failed: int
    p_value: float | None = None
    mark: Literal["best", "tied", ""] = ""
    n_cut: int = 0


@dataclass(frozen=True)
class Summary:
    """One table: records of one split rule and one feature scaling.

    ``cells`` are by dataset and model, as far as there are records.
    """

    split_rule: str
    scaling: str
    metric: str
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    cells: Mapping[tuple[str, str], CellSummary]

    @property
    def counts_differ(self) -> bool:
        """Whether some cells have fewer runs than others; those without any do not count."""
        return len({cell.n for cell in self.cells.values() if cell.n}) > 1


def summarise(
    records: Iterable[Record], metric: str = "accuracy", *, significance: float = SIGNIFICANCE
) -> list[Summary]:
    """Summarise test scores: one table for each split rule and feature scaling.

    Records that differ in what they measure are never put in one cell. Split rules and scalings
    make tables of their own. Models that were run on one dataset in several settings (dropout on
    other layers, fewer epochs, ...) make one row each, named by what differs; so do versions of a
    dataset under one name. Of a run that was recorded twice the last counts, and a failed
    one counts only if it never succeeded.

    The best of a dataset is the best mean among the models with the most runs: one that failed on
    the hard splits does not win by it. The others are compared with it on the runs they share, by
    a paired t-test corrected for overlapping splits (:func:`graphfilter.metrics.corrected_t_test`
    says why not Wilcoxon's), then corrected for their number (:func:`graphfilter.metrics.holm`).

    Parameters
    ----------
    metric : str
        One of ``metrics.METRICS``; runs without it (older records, other numbers of classes) are
        left out.
    significance : float
        The level below which a corrected p-value makes a model significantly worse.
    """
    check_name("metric", metric, METRICS)
    records = _latest(records)
    if not records:
        raise ConfigError("there must be at least one record to summarise; got none.")
    ok = [record for record in records if record.ok]
    if ok and not any(_scores(ok, metric)):
        raise ConfigError(
            f"at least one record must have {METRICS[metric].name}; none has. The score may need "
            "two classes, or the records are older than it: run them again into another file."
        )
    tables: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        tables[record.split_rule, record.scaling].append(record)
    return [
        _summary(rule, scaling, metric, of_table, significance)
        for (rule, scaling), of_table in tables.items()
    ]


def _latest(records: Iterable[Record]) -> list[Record]:
    """Keep the last record of every run; drop failures that succeeded later or earlier."""
    records = list(records)
    went_well = {record.asked for record in records if record.ok}
    last: dict[str, Record] = {}
    for record in records:
        if record.ok:
            last[record.key] = record
        elif record.asked not in went_well:
            last[record.asked] = record
    return list(last.values())


def _summary(
    rule: str, scaling: str, metric: str, records: Sequence[Record], significance: float
) -> Summary:
    datasets = _labels([(r.dataset, r.dataset, _data(r)) for r in records])
    models = _labels([(r.model, (r.dataset, r.model), _setting(r)) for r in records])
    runs: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record, dataset, model in zip(records, datasets, models, strict=True):
        runs[dataset][model].append(record)
    cells = {
        (dataset, model): cell
        for dataset, of_models in runs.items()
        for model, cell in _compare(of_models, metric, significance).items()
    }
    return Summary(rule, scaling, metric, tuple(runs), tuple(dict.fromkeys(models)), cells)


def _setting(record: Record) -> dict[str, Any]:
    """Return what a run was trained with; whose setting that is makes no other run of it."""
    return {k: v for k, v in (record.config | record.network).items() if k != "setting"}


def _data(record: Record) -> dict[str, Any]:
    return {"data": record.data_checksum[:8]} if record.data_checksum else {}


def _labels(items: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> list[str]:
    """Name each of (name, place, settings); what differs in one place becomes part of the name."""
    values: dict[tuple[str, Any, str], set[str]] = defaultdict(set)
    for name, place, settings in items:
        for key, value in settings.items():
            values[name, place, key].add(json.dumps(value))
    differing = {(name, key) for (name, _, key), found in values.items() if len(found) > 1}
    labels = []
    for name, _, settings in items:
        shown = [f"{k}={v}" for k, v in sorted(settings.items()) if (name, k) in differing]
        labels.append(f"{name} ({', '.join(shown)})" if shown else name)
    return labels


def _compare(
    runs: Mapping[str, Sequence[Record]], metric: str, significance: float
) -> dict[str, CellSummary]:
    """Make the cells of one dataset: its best, and the others tested against it."""
    scores = {model: _scores(records, metric) for model, records in runs.items()}
    cells = {}
    for model, records in runs.items():
        values = np.array(list(scores[model].values()))
        n_failed = sum(not record.ok for record in records)
        nothing = float("nan")
        mean, deviation = (values.mean(), values.std()) if len(values) else (nothing, nothing)
        n_cut = sum(record.cut for record in records)
        cells[model] = CellSummary(
            float(mean), float(deviation), len(values), n_failed, n_cut=n_cut
        )
    scored = [model for model in cells if cells[model].n]
    if not scored:
        return cells
    sign = -1 if METRICS[metric].lower_is_better else 1
    most = max(cells[model].n for model in scored)
    complete = [model for model in scored if cells[model].n == most]
    best = max(complete, key=lambda model: sign * cells[model].mean)
    cells[best] = replace(cells[best], mark="best")
    ratio = _test_train_ratio(runs[best])
    tests, better = {}, set()
    for model in scored:
        shared = [run for run in scores[best] if run in scores[model]]
        if model != best and len(shared) >= FEWEST_RUNS:
            differences = [scores[best][run] - scores[model][run] for run in shared]
            tests[model] = corrected_t_test(differences, ratio)
            better |= {model} if sign * np.mean(differences) < 0 else set()
    for model, p in zip(tests, holm(list(tests.values())), strict=True):
        mark = "tied" if p > significance or model in better else ""
        cells[model] = replace(cells[model], p_value=float(p), mark=mark)
    return cells


def _scores(records: Sequence[Record], metric: str) -> dict[tuple[int, int], float]:
    """Return the test scores by split and seed, which pair the runs of two models."""
    found = {}
    for record in records:
        value = record.scores.get("test", {}).get(metric)
        if record.ok and value is not None:
            found[record.split_index, record.seed] = value
    return found


def _test_train_ratio(records: Sequence[Record]) -> float:
    ok = [record for record in records if record.ok]
    if len({record.split_index for record in ok}) == 1:
        return 0.0
    sizes = [(r.scores["test"]["n_vertices"], r.scores["train"]["n_vertices"]) for r in ok]
    return float(np.mean([test / train for test, train in sizes]))

"""The scores of run folders as a table: a block per run, a row per part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphfilter.report.tables import Block, Cell, Numbers, Row, Table
from graphfilter.runs.layout import METRICS_FILE
from graphfilter.training.scores import LABEL_METRICS, METRICS, NUMBER_METRICS
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import matches, read_json

PARTS = {"train": "training", "val": "validation", "test": "test"}
# Scores that are useful beside another one only.
NOT_SHOWN = ("calibration_by_chance",)
_METRICS = {**NUMBER_METRICS, **LABEL_METRICS, **METRICS}
CSV_HEADS = ("run", "part", "metric", "value")


def make_score_table(folders: Sequence[Path]) -> Table:
    """Return the scores that ``fit`` left in ``metrics.json``, of one run or of several."""
    scores = {str(folder): _read(folder) for folder in folders}
    names = [folder.name or str(folder) for folder in map(Path, scores)]
    blocks = [
        _block(name if len(scores) > 1 else "", of_run)
        for name, of_run in zip(names, scores.values(), strict=True)
    ]
    lines = [
        (name, part, metric, value)
        for name, of_run in zip(names, scores.values(), strict=True)
        for part, values in of_run.items()
        for metric, value in values.items()
    ]
    title = "Scores of runs" if len(scores) > 1 else f"Scores of {names[0]}"
    return Table(title, tuple(blocks), numbers=Numbers(CSV_HEADS, tuple(lines)))


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / METRICS_FILE
    content = read_json(path)
    scores = content.get("scores") if isinstance(content, dict) else None
    if not scores or not matches(scores, dict[str, dict[str, float | None]]):
        raise ModelFileError(f"{path}: must hold the scores of a run; fit again.")
    return scores


def _block(heading: str, scores: dict[str, dict[str, Any]]) -> Block[Cell]:
    every = (name for values in scores.values() for name in values)
    metrics = [name for name in dict.fromkeys(every) if name not in NOT_SHOWN]
    rows = [
        Row(PARTS.get(part, part), tuple(Cell(_text(name, values.get(name))) for name in metrics))
        for part, values in scores.items()
    ]
    return Block(heading, tuple(map(_head, metrics)), tuple(rows), first_column="part")


def _head(name: str) -> str:
    if (metric := _METRICS.get(name)) is not None:
        return f"{metric.name} in %" if metric.share else metric.name
    return {"n_vertices": "vertices"}.get(name, name)


def _text(name: str, value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    if name == "n_vertices":
        return f"{value:,.0f}"
    if name in _METRICS and _METRICS[name].share:
        return f"{100 * value:.2f}"
    return f"{value:.3f}" if name in METRICS else f"{value:.4g}"

"""Fits of every kind, stopped at every step, are resumed to the same bits, again and again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphfilter.data import make_csbm
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, committee, get_system, train_system
from graphfilter.systems.system import Committee
from graphfilter.training import REGRESSION, Callback, Progress
from graphfilter.training.tasks import TASKS

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)
X = np.asarray(GRAPH.features)
ROUNDS = (2, 4, 8)
# So many steps of each fit are tried here; with 1000, all are (in minutes).
SAMPLE = 4


class Stop(BaseException):
    pass


def members(names: str, **changes: Any) -> Committee:
    whole = get_system("committee")
    assert isinstance(whole, Committee)
    some = replace(whole, members=tuple(m for m in whole.members if m.name in names.split()))
    # Some members end by patience, in a round before the last.
    short = some.with_(max_epochs=14, patience=3)
    assert isinstance(short, Committee)
    return replace(short, few_labels=0, **changes)


def in_rounds(names: str = "features filter smooth alike") -> Committee:
    return members(names, rounds=ROUNDS, rounds_above=0, folds_up_to=0)


def train(system: Committee, callback: Callback, *, task: str = "", **more: Any) -> Any:
    prepared = Prepared.of(GRAPH)
    if task == "numbers":
        prepared = replace(prepared, task=REGRESSION, targets=X[:, :1] - X[:, 1:2])
    elif task:
        prepared = replace(prepared, task=TASKS[task], targets=(X[:, :2] > 0).astype(np.float32))
    splits = [stratified(GRAPH.labels, seed) for seed in range(more.pop("n_splits", 1))]
    seeds = list(range(len(splits)))
    return train_system(prepared, system, splits, seeds, callback=callback, **more)


KINDS: dict[str, Callable[[Callback], Any]] = {
    "rounds": lambda callback: train(in_rounds(), callback),
    "folds": lambda callback: train(members("features told", folds_up_to=1000), callback),
    "several splits": lambda callback: train(in_rounds("features smooth"), callback, n_splits=2),
    "numbers": lambda callback: train(members("features smooth"), callback, task="numbers"),
    "labels": lambda callback: train(members("features smooth"), callback, task="multilabel"),
}


def at_step(k: int, end: bool = False) -> Callable[[Progress], bool | None]:
    """Return what stops at the k-th step: ends the training, or raises."""
    left = [k]

    def watch(_: Progress) -> bool | None:
        left[0] -= 1
        if left[0] == 0 and not end:
            raise Stop
        return left[0] <= 0 and end

    return watch


def answers(outcomes: Any) -> NDArray[np.float64]:
    return np.stack([outcome.probabilities for outcome in outcomes])


@pytest.mark.parametrize("kind", KINDS)
def test_fit_stopped_at_any_step_resumes_to_the_same_bits(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Members beside threads are announced in another order.
    monkeypatch.setattr(committee, "MOST_BESIDE", 0)
    monkeypatch.setattr(committee, "MOST_REPEATS", 2 if "folds" not in kind else 5)
    fit, steps = KINDS[kind], list[str]()
    whole = answers(fit(Callback(lambda progress: steps.append(progress.stage))))
    assert len(steps) > 8
    for k in range(2, len(steps) + 1, max(1, len(steps) // SAMPLE)):
        path = tmp_path / str(k) / "checkpoint.safetensors"
        path.parent.mkdir()
        with pytest.raises(Stop):
            fit(Callback(at_step(k), checkpoint=path, checkpoint_seconds=10.0 * (k % 2)))
        with suppress(Stop):  # A restart is stopped as well.
            fit(Callback(at_step(2), checkpoint=path, resume=True))
        resumed = fit(Callback(checkpoint=path, resume=True))
        np.testing.assert_array_equal(answers(resumed), whole)
        assert np.isfinite(answers(fit(Callback(at_step(k, end=True))))).all()

"""What a caller is told after an epoch, and that it can end the training there."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from rich.console import Console

from graphfilter import SGFClassifier
from graphfilter.cli import screen as progress_module
from graphfilter.cli.screen import training_bar
from graphfilter.data import make_csbm
from graphfilter.training import Callback, Progress


@pytest.fixture(scope="module")
def graph():
    return make_csbm(n_vertices=60, frequency=0.3, mean_degree=6, n_features=4)


def make(max_epochs: int = 8, n_members: int = 2) -> SGFClassifier:
    return SGFClassifier(n_layers=3, max_epochs=max_epochs, n_members=n_members, random_state=0)


def test_stage_without_epochs_counts_none(capsys) -> None:
    with training_bar(show=True) as report:
        report(Progress(0, 1, math.nan, 0.5, 0.5, 1, [], stage="trees (1 of 2)"))
    assert capsys.readouterr().err == "training 1 of 2, trees\n"


def test_bar_names_the_score_that_chooses_the_epoch(capsys) -> None:
    with training_bar(show=True) as report:
        monitored = ("average_precision", 0.25)
        report(Progress(9, 9, 0.5, 0.9, 0.94, 0, [], monitored=monitored, pool_score=0.95))
    printed = capsys.readouterr().err
    assert "validation average precision 0.250" in printed
    assert "94" not in printed


@pytest.mark.parametrize(
    ("seconds", "guess", "said"),
    [
        (None, 200.0, ", about 3 min left"),
        (None, 0.0, ""),  # More comes: nothing is said, rather than none.
        (None, math.nan, ""),
        (80.0, 200.0, ", at most 80 s left"),
        (80.0, math.nan, ", at most 80 s left"),
        (80.0, 20.0, ", about 20 s left"),
    ],
)
def test_time_left_is_said_where_it_is_known_and_never_beyond_the_limit(
    capsys, monkeypatch: pytest.MonkeyPatch, seconds: float | None, guess: float, said: str
) -> None:
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: 0.0)
    with training_bar(show=True, seconds=seconds) as report:
        report(Progress(1, 9, 0.5, 0.5, 0.5, 1, [], stage="a (1 of 2)", seconds_left=guess))
    printed = capsys.readouterr().err.strip()
    assert printed == f"training 1 of 2, a: epoch 1 of at most 9, validation accuracy 50.0%{said}"


def test_progress_tells_the_score_that_chooses_the_epoch(graph) -> None:
    told: list[Progress] = []
    clf = (
        make(max_epochs=3)
        .set_params(monitor="macro_f1")
        .fit(graph=graph, callback=Callback(told.append))
    )
    mean = np.mean([result.history["val_macro_f1"][-1] for result in clf.results_])
    assert told[-1].monitored == ("macro_f1", pytest.approx(mean))


def test_progress_tells_means_and_the_first_filter_as_history_has_them(graph) -> None:
    told: list[tuple[Progress, dict]] = []
    clf = make().fit(graph=graph, callback=Callback(lambda p: told.append((p, p.scalars()))))
    for epoch, (progress, scalars) in enumerate(told):
        assert progress.score_name == "accuracy"
        told_as = {"loss": "loss", "train_score": "train_accuracy", "val_score": "val_accuracy"}
        for name, curve in told_as.items():
            mean = np.mean([result.history[curve][epoch] for result in clf.results_])
            assert getattr(progress, name) == pytest.approx(mean)
        for name in ("alpha", "beta"):
            np.testing.assert_array_equal(scalars[name], clf.history_[name][epoch + 1])
    assert len(told) == 8


def test_stopping_leaves_what_so_many_epochs_would_have(graph) -> None:
    def stop_at_five(progress: Progress) -> bool:
        return progress.epoch == 5

    stopped, short = (
        make(1000).fit(graph=graph, callback=Callback(stop_at_five)),
        make(5).fit(graph=graph),
    )
    assert [r.stopped for r in stopped.results_] == ["asked", "asked"]
    assert [r.n_epochs for r in stopped.results_] == [5, 5]
    assert [r.best_epoch for r in stopped.results_] == [r.best_epoch for r in short.results_]
    np.testing.assert_array_equal(stopped.predict_proba(), short.predict_proba())


def test_a_second_training_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with training_bar(show=True, titles=["training", "comparing: MLP"]) as report:
        for epoch in (1, 2, 3, 1, 2):
            report(Progress(epoch, 9, 0.5, 0.5, 0.5, 1, []))
    assert capsys.readouterr().err.splitlines() == [
        "training: epoch 3 of at most 9, validation accuracy 50.0%",
        "comparing: MLP: epoch 2 of at most 9, validation accuracy 50.0%",
    ]


def test_members_of_a_committee_are_stages_of_one_training(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = [
        ("a (1 of 2)", 1, 0.5),
        ("a (1 of 2)", 2, 0.5),
        ("b (2 of 2)", 0, math.nan),
        # Taken up again in the next round, which is the same line on a terminal.
        ("a (1 of 2)", 3, 0.5),
        ("b (2 of 2)", 1, 0.5),
        ("", 1, 0.5),
    ]
    with training_bar(show=True, titles=["training", "comparing: MLP"]) as report:
        for stage, epoch, loss in told:
            report(Progress(epoch, 9, loss, 0.5, 0.5, 1, [], stage=stage))
    assert capsys.readouterr().err.splitlines() == [
        "training 1 of 2, a: epoch 2 of at most 9, validation accuracy 50.0%",
        "training 2 of 2, b: epoch 0 of at most 9",
        "comparing: MLP: epoch 1 of at most 9, validation accuracy 50.0%",
    ]


def test_lines_come_every_few_seconds_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    with progress_module.progress("{done}/{total} runs") as move:
        for done in range(1, 13):
            now = float(done)
            move("cora: sgf", done, 20)
        assert capsys.readouterr().err == "cora: sgf: 6/20 runs\ncora: sgf: 11/20 runs\n"
    assert capsys.readouterr().err == "cora: sgf: 12/20 runs\n"


def test_bars_stop_when_their_work_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal; the clock of a row stands still once the next has begun, or it has ended."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr(progress_module, "err", console)
    bars = progress_module._Bars()
    bars.move("0", "training", 3, 9, "epoch 3/9", False)
    bars.move("1", "comparing: MLP", 2, 9, "epoch 2/9", False)
    first, second = bars._progress.tasks
    assert first.stop_time is not None
    assert second.stop_time is None
    bars.move("1", "comparing: MLP", 4, 9, "epoch 4/9", True)
    assert second.stop_time is not None
    bars.stop()
    assert "comparing: MLP" in shown.getvalue()
    assert "epoch 4/9" in shown.getvalue()


def test_a_quiet_bar_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with training_bar(show=False) as report:
        report(Progress(1, 9, 0.5, 0.5, 0.5, 1, []))
    assert capsys.readouterr().err == ""

"""The runs of a studio: a queue, one trained at a time, each watched, paused or stopped."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.report.filter import FREQUENCIES, stacked_response
from graphfilter.report.html import plain, spread_out
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.plan import plan_fit
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.web.graph_store import Entry
from graphfilter.web.run_setting import RunSetting

MOST_POINTS = 150
SECONDS_BETWEEN_CURVES = 0.1
WAITING, TRAINING, PAUSED, COMPARING = "waiting", "training", "paused", "comparing"
DONE, STOPPED, FAILED = "done", "stopped", "failed"
ENDED = (DONE, STOPPED, FAILED)
# Each keeps its curves in memory and its folder on disk.
MOST_RUNS = 200


class _Closed(Exception):  # noqa: N818 - the end of the studio, not an error
    """Raised at the end of an epoch when the studio closes and the run is no longer needed."""


@dataclass(eq=False)
class StudioRun:
    """One run: what was asked, how far it is, and what the page draws of it.

    One that was stopped is kept with the best weights it had, like one that is done.
    """

    key: str
    entry: Entry
    setting: RunSetting
    folder: Path
    state: str = WAITING
    problem: str = ""
    epoch: int = 0
    points: list[tuple[int, float, float, float]] = field(default_factory=list)
    drawn: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    go_on: threading.Event = field(default_factory=threading.Event)
    stop_asked: bool = False
    closed: bool = False
    kept: bool = False
    start: Any = None

    def __post_init__(self) -> None:
        self.go_on.set()
        start = self.setting.filter_init
        if not isinstance(start, str):
            flat = np.full(self.setting.n_layers, float(start))
            self.start = plain(stacked_response(flat, flat, self.setting.operator))

    def train(self) -> None:
        """Fit into the folder, reporting every epoch; ends in one of the ended states."""
        if self.stop_asked:
            self.state = STOPPED
            return
        self.state = TRAINING
        try:
            self._train()
        except _Closed:
            self.state = STOPPED
        except (MemoryError, torch.cuda.OutOfMemoryError):
            self.state, self.problem = FAILED, "not enough memory for this graph."
        except (GraphFilterError, OSError) as error:
            self.state, self.problem = FAILED, str(error)
        else:
            self.kept = True
            self.state = STOPPED if self.stop_asked else DONE
        finally:
            # A bug of ours must not leave the page waiting forever.
            if self.state not in ENDED:
                self.state, self.problem = FAILED, "an internal error; please report it."

    def _train(self) -> None:
        classifier = self.setting.classifier()
        plan = plan_fit(self.entry.source, self.setting.seed)
        drawn_at = -math.inf

        def watch(progress: Progress) -> bool:
            nonlocal drawn_at
            if progress.compared:
                self.state = COMPARING
                return self._stops()
            p, self.epoch = progress, progress.epoch
            self.points.append((p.epoch, p.loss, p.train_score, p.val_score))
            if time.monotonic() - drawn_at > SECONDS_BETWEEN_CURVES:
                drawn_at = time.monotonic()
                self.drawn = _draw(progress.scalars(), self.setting.operator)
            return self._stops()

        summary = fit_folder(
            plan,
            classifier,
            self.folder,
            baselines=self.setting.baselines,
            callback=Callback(watch),
            command_out="run",
            draw=draw_run,
        )
        learned = dict(summary.fit.estimator.filter_.named_parameters())
        scalars = {name: p.detach().cpu().numpy() for name, p in learned.items()}
        self.drawn = _draw(scalars, self.setting.operator)
        self.scores = {p: s["accuracy"] for p, s in summary.fit.scores.items()}

    def _stops(self) -> bool:
        """Wait while paused; return whether to stop."""
        if not self.go_on.is_set() and not self.stop_asked:
            before, self.state = self.state, PAUSED
            self.go_on.wait()
            self.state = before
        if self.closed:
            raise _Closed
        return self.stop_asked

    def to_dict(self) -> dict[str, Any]:
        """Return what the page draws."""
        points = list(self.points)
        shown = [points[i] for i in spread_out(len(points), MOST_POINTS)] if points else []
        return {
            "key": self.key,
            "graph": self.entry.source.graph.name,
            "graph_key": self.entry.key,
            "setting": vars(self.setting),
            "state": self.state,
            "problem": self.problem,
            "epoch": self.epoch,
            "max_epochs": self.setting.max_epochs,
            "epochs": [p[0] for p in shown],
            "loss": plain([p[1] for p in shown]),
            "train_accuracy": plain([p[2] for p in shown]),
            "val_accuracy": plain([p[3] for p in shown]),
            "scores": self.scores,
            "kept": self.kept,
            "x": plain(FREQUENCIES),
            "start": self.start,
            **{"response": None, "alpha": None, "beta": None, **self.drawn},
        }  # fmt: skip


class TrainingQueue:
    """Trains runs one after the other on a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[str, StudioRun] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio-training")

    def add(self, entry: Entry, setting: RunSetting) -> StudioRun:
        """Queue a run; a studio keeps a limited number of them."""
        if len(self._runs) >= MOST_RUNS:
            raise ConfigError(
                f"a studio keeps at most {MOST_RUNS} runs. Download those you want, end it with "
                "Ctrl-C and start it again."
            )
        key = str(len(self._runs) + 1)
        run = StudioRun(key, entry, setting, self._folder / f"run-{key}")
        self._runs[key] = run
        self._thread.submit(run.train)
        return run

    def get(self, key: str) -> StudioRun:
        """Return the run of this key."""
        if key not in self._runs:
            raise ConfigError(f"there is no run {key}.")
        return self._runs[key]

    def all(self) -> list[StudioRun]:
        """List the runs, oldest first."""
        return list(self._runs.values())

    def command(self, key: str, wish: str) -> None:
        """Pause, resume or stop a run."""
        run = self.get(key)
        if wish == "pause":
            run.go_on.clear()
        elif wish == "resume":
            run.go_on.set()
        elif wish == "stop":
            run.stop_asked = True
            run.go_on.set()
            if run.state == WAITING:
                run.state = STOPPED
        else:
            raise ConfigError(f"a run can pause, resume or stop; got {wish!r}.")

    def close(self) -> None:
        """Give up every run, and end the thread."""
        for run in self.all():
            run.closed = True
            self.command(run.key, "stop")
        self._thread.shutdown()


def _draw(scalars: Mapping[str, NDArray[Any]], operator: str) -> dict[str, Any]:
    alpha, beta = scalars["alpha"], scalars["beta"]
    return {
        "response": plain(stacked_response(alpha, beta, operator)),
        "alpha": plain(alpha, 3),
        "beta": plain(beta, 3),
    }

"""The fits of a studio: one trained at a time, each watched, paused or stopped."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import torch
from msgspec import Meta

from graphfilter.estimators.graph import GraphClassifier
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.report.html import plain
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.plan import plan_fit
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.web.tables import Entry

SECONDS_TO_END = 5.0
WAITING, TRAINING, PAUSED, COMPARING = "waiting", "training", "paused", "comparing"
DONE, STOPPED, FAILED = "done", "stopped", "failed"
ENDED = (DONE, STOPPED, FAILED)


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be chosen for a fit: the committee, or the paper's filter alone.

    The limits hold whatever a page sends.
    """

    model: Literal["committee", "filter"] = "committee"
    effort: Literal["low", "full", "high"] = "full"
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
    baselines: bool = True
    max_epochs: Annotated[int, Meta(ge=1, le=10_000)] = 1500

    def classifier(self) -> GraphClassifier | SGFClassifier:
        """Return the classifier to be fitted."""
        about = {"random_state": self.seed, "max_epochs": self.max_epochs}
        if self.model == "filter":
            return SGFClassifier(**about)
        return GraphClassifier(effort=self.effort, **about)


class _Closed(Exception):  # noqa: N818 - the end of the studio, not an error
    """Raised at the end of an epoch when the studio closes and the fit is no longer needed."""


@dataclass(eq=False)
class StudioFit:
    """One fit: how far it is, and what the page draws of it.

    One that was stopped is kept with the best weights it had, like one that is done.
    """

    key: str
    entry: Entry
    setting: Setting
    folder: Path
    state: str = WAITING
    problem: str = ""
    headline: str = ""
    progress: Progress | None = None
    kept: bool = False
    running: threading.Event = field(default_factory=threading.Event)
    stopping: bool = False
    closing: bool = False

    def __post_init__(self) -> None:
        self.running.set()

    def train(self) -> None:
        """Fit into the folder, watched every epoch; ends in one of the ended states."""
        if self.stopping:
            self.state = STOPPED
            return
        self.state = TRAINING
        # A bug of ours must not leave the page waiting forever.
        end, self.problem = FAILED, "an internal error; please report it."
        try:
            self._fit()
            self.kept, self.problem, end = True, "", STOPPED if self.stopping else DONE
        except _Closed:
            end, self.problem = STOPPED, ""
        except (MemoryError, torch.cuda.OutOfMemoryError):
            self.problem = "not enough memory for this graph."
        except (GraphFilterError, OSError) as error:
            self.problem = str(error).replace("`", "")
        finally:
            self.state = end

    def _fit(self) -> None:
        summary = fit_folder(
            plan_fit(self.entry.source, self.setting.seed), self.setting.classifier(), self.folder,
            baselines=self.setting.baselines, callback=Callback(self._watch), command_out="run",
            draw=draw_run,
        )  # fmt: skip
        self.headline = " ".join(summary.conclusion.lines)

    def _watch(self, progress: Progress) -> bool:
        """Take what there is to show of an epoch; wait while paused; return whether to stop."""
        if progress.compared:
            self.state = COMPARING
        else:
            self.progress = progress
        if not self.running.is_set() and not self.stopping:
            before, self.state = self.state, PAUSED
            self.running.wait()
            self.state = before
        if self.closing:
            raise _Closed
        return self.stopping

    def command(self, wish: str) -> None:
        """Pause, resume or stop."""
        if wish == "pause":
            self.running.clear()
        elif wish == "resume":
            self.running.set()
        elif wish == "stop":
            self.stopping = True
            self.running.set()
            if self.state == WAITING:
                self.state = STOPPED
        else:
            raise ConfigError(f"a fit can pause, resume or stop; got {wish!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Return what the page draws."""
        now, progress = dict[str, Any](), self.progress
        if progress is not None:
            name, score = progress.monitored or (progress.score_name, progress.val_score)
            now = {
                "stage": progress.stage, "epoch": progress.epoch, "max_epochs": progress.max_epochs,
                "score": plain(score), "score_name": name.replace("_", " "),
                "pool_score": plain(progress.pool_score),
                "seconds_left": plain(progress.seconds_left),
            }  # fmt: skip
        return {
            "key": self.key,
            "graph": self.entry.source.graph.name,
            "setting": msgspec.structs.asdict(self.setting),
            "state": self.state,
            "problem": self.problem,
            "headline": self.headline,
            "progress": now,
            "kept": self.kept,
        }


class Queue:
    """Trains fits one after the other on a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fits: dict[str, StudioFit] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio-training")

        self._last: Future[None] | None = None

    def add(self, entry: Entry, setting: Setting) -> StudioFit:
        """Queue a fit."""
        key = str(len(self._fits) + 1)
        fit = StudioFit(key, entry, setting, self._folder / f"run-{key}")
        self._fits[key] = fit
        self._last = self._thread.submit(fit.train)
        return fit

    def get(self, key: str) -> StudioFit:
        """Return the fit of this key."""
        if key not in self._fits:
            raise ConfigError(f"there is no run {key}.")
        return self._fits[key]

    def list(self) -> list[dict[str, Any]]:
        """Return what the page draws of all fits, oldest first."""
        return [fit.to_dict() for fit in [*self._fits.values()]]

    def close(self) -> None:
        """Give up every fit; wait for the end of the one under way, but not for long."""
        for fit in self._fits.values():
            fit.closing = True
            fit.command("stop")
        self._thread.shutdown(wait=False, cancel_futures=True)
        wait([self._last] if self._last else [], SECONDS_TO_END)

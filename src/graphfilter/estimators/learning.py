"""LearningEstimator: what is learned and with what, which a subclass may settle in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.keeping import KeptEstimator
from graphfilter.estimators.targets import Target
from graphfilter.models.views import FeatureScaler
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, train_system
from graphfilter.training import Callback, TargetScale, Task
from graphfilter.training.scores import is_rare
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_share
from graphfilter.util.machine import pick_device


@dataclass(frozen=True, eq=False)
class Trained:
    """What training ended with: runs, the values of open parameters, and what to say of both."""

    outcomes: Sequence[Outcome]
    chosen: dict[str, Any]
    notes: tuple[str, ...] = ()


class LearningEstimator(KeptEstimator):
    """The steps of a fit that depend on what is learned."""

    def choose(self, target: Target, split: Split) -> dict[str, Any]:
        """Return the values of parameters that were left open, for what is to be learned.

        Where one of two classes is rare, accuracy hardly sees it, and where one is looked for it
        is not what is asked: average precision then chooses the best epoch.
        """
        if self.monitor is not None:
            if self.monitor not in target.task.monitors:
                raise ConfigError(
                    f"monitor must be one of {', '.join(target.task.monitors)} for "
                    f"{target.task.name}; got {self.monitor!r}."
                )
            return {}
        codes, usual = target.codes, self.build_system().settings()["monitor"]
        asked = getattr(self, "positive", None) is not None
        rare = target.task.one_class and is_rare(codes[split.train], len(target.names))
        seen = len(np.unique(codes[split.val])) == 2
        watched = (rare or asked) and seen and usual == "accuracy"
        return {"monitor": "average_precision"} if watched else {}

    def overridden(self, system: System, chosen: Mapping[str, Any]) -> System:
        """Return a system with the epochs, patience and score that the parameters say."""
        own = {name: getattr(self, name) for name in ("max_epochs", "patience", "monitor")}
        system = system.with_(**{name: v for name, v in own.items() if v is not None})
        return system.choosing_by(chosen.get("monitor"))

    def task_for(self, target: Target) -> Task:
        """Return the task to be trained on a target."""
        return target.task

    def check_parameters(self) -> None:
        """Raise where a parameter is impossible, before any work; ``fit`` does so too."""
        check_count("n_members", self.n_members)
        pick_device(self.device)
        self.build_system()
        FeatureScaler.check(self.feature_scaling)
        for name in ("validation_fraction", "calibration_fraction"):
            check_share(name, getattr(self, name))

    def check_target(self, target: Target) -> None:
        """Raise where nothing can be learned from a target."""
        if (target.codes >= 0).any():
            return
        if target.values is not None and len(target.names) > 1:
            empty = np.flatnonzero(np.isnan(target.values).all(axis=0))
            lacking = f"{target.names[empty[0]]} for none" if len(empty) else "no vertex has all"
            raise GraphError(
                f"every column of y must be known for some of the same vertices; {lacking}. "
                "Leave a column out."
            )
        raise GraphError("y must be known for some vertices; it is known for none.")

    def watching(self, callback: Callback) -> Callback:
        """Return the callback of a fit that begins now."""
        return callback

    def class_weights(self, target: Target, split: Split) -> NDArray[np.float64] | None:
        """Return the weight of each class in the loss; None where all are equal."""
        return None

    def scales_for(
        self, prepared: Prepared | None, target: Target, split: Split
    ) -> tuple[TargetScale, ...]:
        """Return the scale of each number that is learned; none of classes and labels.

        ``prepared`` is None where the scale is not to be chosen yet.
        """
        return ()

    def train_on(
        self,
        prepared: Prepared,
        split: Split,
        seeds: Sequence[int],
        chosen: dict[str, Any],
        **options: Any,
    ) -> Trained:
        """Train the system; ``options`` are those of :func:`~graphfilter.systems.train_system`."""
        system = self.build_system(**chosen)
        outcomes = train_system(prepared, system, [split] * len(seeds), seeds, **options)
        return Trained(outcomes, chosen)

    def take_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Keep what else a subclass wants to know of the training."""

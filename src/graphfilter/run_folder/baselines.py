"""Plain models beside the fitted one, to tell whether the graph helps and adapting is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.graph import Graph
from graphfilter.report.conclusion import BASELINES, Baseline
from graphfilter.runtime.devices import pick_device
from graphfilter.splits import Split
from graphfilter.systems import get_system
from graphfilter.systems.pipeline import Inputs, train_runs
from graphfilter.training import Progress


def train_baselines(
    graph: Graph,
    split: Split,
    classifier: SGFClassifier,
    *,
    seed: int,
    on_epoch: Callable[[Progress], None] | None = None,
) -> tuple[Baseline, ...]:
    """Train MLP, APPNP and SGC on the split of a classifier, under its limits of epochs.

    Each has its usual learning rate and decay, and no class weights; the scaling of the features,
    the most epochs, the patience and the score that chooses the best epoch are the classifier's.
    Where ``on_epoch`` stops them none is returned: one cut short would be no fair comparison.
    """
    device = pick_device(classifier.device)
    inputs = Inputs.of(graph, scaling=classifier.feature_scaling, device=device)
    made = []
    for name, meaning in BASELINES.items():
        system = get_system(name)
        config = replace(
            system.config,
            max_epochs=classifier.max_epochs,
            patience=classifier.patience,
            monitor=classifier.monitor,  # pyright: ignore
        )
        done = train_runs(inputs, system, [split], [seed], config, on_epoch=on_epoch)[0]
        if done.result.stopped == "asked":
            return ()
        predicted = done.probabilities.argmax(axis=1)
        made.append(Baseline(name, system.title, meaning, predicted, done.seconds))
    return tuple(made)

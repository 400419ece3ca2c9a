"""Plain models to compare with: they show whether the graph helps and adapting is needed."""

from __future__ import annotations

from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.report.conclusion import BASELINES, Baseline
from graphfilter.splits import Split
from graphfilter.systems import get_system
from graphfilter.systems.pipeline import train_system
from graphfilter.training import OnEpoch


def train_baselines(
    split: Split,
    classifier: SGFClassifier,
    *,
    seed: int,
    on_epoch: OnEpoch | None = None,
) -> tuple[Baseline, ...]:
    """Train MLP, APPNP and SGC on the split of a classifier, under its limits of epochs.

    Each has its usual learning rate and decay, and no class weights; the scaling of the features,
    the most epochs, the patience and the score that chooses the best epoch are the classifier's.
    Where ``on_epoch`` stops them none is returned: one cut short would be no fair comparison.
    """
    prepared = classifier.prepared_
    made = []
    for name, meaning in BASELINES.items():
        system = get_system(name).with_(
            max_epochs=classifier.max_epochs,
            patience=classifier.patience,
            monitor=classifier.monitor,
        )
        done = train_system(prepared, system, [split], [seed], on_epoch=on_epoch)[0]
        if done.result.stopped == "asked":
            return ()
        predicted = done.probabilities.argmax(axis=1)
        made.append(Baseline(name, get_system(name).title, meaning, predicted, done.seconds))
    return tuple(made)

"""Plain models to compare with: they show whether the graph helps and adapting is needed."""

from __future__ import annotations

import numpy as np

from graphfilter.estimators.base import VertexClassifier
from graphfilter.report.conclusion import BASELINES, Baseline
from graphfilter.splits import Split
from graphfilter.systems import get_system
from graphfilter.systems.pipeline import train_system
from graphfilter.systems.pooling import together
from graphfilter.training import OnEpoch
from graphfilter.training.progress import shared


def train_baselines(
    split: Split,
    classifier: VertexClassifier,
    *,
    seed: int,
    on_epoch: OnEpoch | None = None,
) -> tuple[Baseline, ...]:
    """Train MLP, APPNP and SGC as the classifier was trained.

    The split, the scaling of the features, the class weights, the most epochs, the patience, the
    score that chooses the best epoch and the number of networks that are averaged are the
    classifier's; each system has its usual learning rate and decay. Several processes divide them.
    Where ``on_epoch`` stops them none is returned: one cut short would be no fair comparison.
    """
    seeds = np.random.SeedSequence(seed).generate_state(classifier.n_members).tolist()
    settings = classifier.system_.settings()
    limits = {key: settings[key] for key in ("max_epochs", "patience", "monitor")}
    names = list(BASELINES)

    def work(number: int) -> Baseline | None:
        name = names[number]
        outcomes = train_system(
            classifier.prepared_,
            get_system(name).with_(**limits),
            [split] * len(seeds),
            seeds,
            class_weight=classifier.class_weights_,
            on_epoch=on_epoch,
        )
        if any(done.result.stopped == "asked" for done in outcomes):
            return None
        predicted = together([done.probabilities for done in outcomes]).argmax(axis=1)
        seconds = sum(done.seconds for done in outcomes)
        return Baseline(name, get_system(name).title, BASELINES[name], predicted, seconds)

    made = shared(len(names), work, on_epoch)
    return tuple(one for one in made if one is not None) if None not in made else ()

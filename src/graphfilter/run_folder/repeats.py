"""The same fit on other splits: how much of a score is the luck of one split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.inputs import draw_seed
from graphfilter.metrics import METRICS, mean_interval, score_parts
from graphfilter.run_folder.plan import Plan
from graphfilter.run_folder.split_choice import choose_split
from graphfilter.splits import Split
from graphfilter.systems.pipeline import train_system
from graphfilter.systems.pooling import together
from graphfilter.training import OnEpoch


def repeat_fit(
    plan: Plan,
    classifier: VertexClassifier,
    probabilities: NDArray[np.float64],
    *,
    seed: int,
    repeats: int,
    on_epoch: OnEpoch | None = None,
) -> dict[str, Any] | None:
    """Train a fitted classifier's system again on other splits, side by side.

    Repeat k has the split and the networks of the fit with seed ``seed + k``. A split that is not
    drawn, by time or given, is the same every time. Class weights are those of the fit.

    Returns
    -------
    dict or None
        Each score of each part by mean, deviation, 95 % interval of the mean and values, the
        fit's first; None where ``on_epoch`` stopped it.
    """
    members = classifier.n_members
    splits, seeds = [plan.split], list(range(seed, seed + repeats))
    networks: list[int] = []
    for other in seeds[1:]:
        splits.append(choose_split(plan.graph, other, plan.by)[0])
        networks += np.random.SeedSequence(draw_seed(other)).generate_state(members).tolist()
    outcomes = train_system(
        classifier.prepared_,
        classifier.system_,
        [split for split in splits[1:] for _ in range(members)],
        networks,
        class_weight=classifier.class_weights_,
        on_epoch=on_epoch,
    )
    if any(outcome.result.stopped == "asked" for outcome in outcomes):
        return None
    said = [outcome.probabilities for outcome in outcomes]
    each = [probabilities] + [together(said[i : i + members]) for i in range(0, len(said), members)]
    labels = classifier.prepared_.labels
    scores = [score_parts(p, labels, split) for p, split in zip(each, splits, strict=True)]
    same = all(_equal(split, splits[0]) for split in splits)
    return {
        "n": repeats,
        "seeds": seeds,
        "splits": "one" if same else "drawn",
        "scores": _spread(scores, splits, same=same),
    }


def _spread(
    scores: Sequence[dict[str, dict[str, Any]]], splits: Sequence[Split], *, same: bool
) -> dict[str, dict[str, Any]]:
    """Summarise the scores that every repeat has."""
    found: dict[str, dict[str, Any]] = {}
    for part in [p for p in ("train", "val", "test") if all(p in s for s in scores)]:
        # Splits of one graph share vertices, so that their scores are not independent.
        ratios = [len(getattr(split, part)) / len(split.train) for split in splits]
        ratio = 0.0 if same else float(np.mean(ratios))
        names = set.intersection(*(set(s[part]) for s in scores)) & set(METRICS)
        found[part] = {
            name: _summary(name, [s[part][name] for s in scores], ratio)
            for name in scores[0][part]
            if name in names
        }
    return found


def _summary(name: str, values: list[float], ratio: float) -> dict[str, Any]:
    """Return mean, deviation and interval, within the values that the score can take."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    low, high = mean_interval(mean, deviation, len(values), ratio)
    most = 1.0 if METRICS[name].share else np.inf
    return {
        "mean": mean,
        "deviation": float(np.std(values, ddof=1)),
        "low": max(low, 0.0) if np.isfinite(low) else None,
        "high": min(high, most) if np.isfinite(high) else None,
        "values": values,
    }


def _equal(a: Split, b: Split) -> bool:
    return all(
        np.array_equal(getattr(a, part), getattr(b, part)) for part in ("train", "val", "test")
    )

"""The same fit on other splits: how much of a score is the luck of one split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphfilter.estimators import FittedMember, combine, draw_seed
from graphfilter.fits.fit import Fit
from graphfilter.fits.split_choice import choose_split
from graphfilter.metrics import Metric, mean_interval
from graphfilter.splits import Split
from graphfilter.systems import train_system
from graphfilter.training import OnEpoch


def repeat_fit(fit: Fit, repeats: int, *, on_epoch: OnEpoch | None = None) -> dict[str, Any] | None:
    """Train the system of a fit again on other splits, side by side.

    Repeat k has the split and the networks of the fit with seed ``seed + k``. A split that is not
    drawn, by time or given, is the same every time. Class weights and threshold are those of the
    fit.

    Returns
    -------
    dict or None
        Each score of each part by mean, deviation, 95 % interval of the mean and values, the
        fit's first; None where ``on_epoch`` stopped it.
    """
    plan, estimator = fit.plan, fit.estimator
    members = estimator.n_members
    splits, seeds = [plan.split], list(range(plan.seed, plan.seed + repeats))
    networks: list[int] = []
    for other in seeds[1:]:
        splits.append(choose_split(plan.graph, other, plan.by)[0])
        networks += np.random.SeedSequence(draw_seed(other)).generate_state(members).tolist()
    outcomes = train_system(
        estimator.prepared_,
        estimator.system_,
        [split for split in splits[1:] for _ in range(members)],
        networks,
        class_weight=estimator.class_weights_,
        on_epoch=on_epoch,
    )
    if any(outcome.result.stopped == "asked" for outcome in outcomes):
        return None
    alike = [FittedMember(o.system, o.network, weight=1 / members) for o in outcomes[:members]]
    outputs = [outcome.probabilities for outcome in outcomes]
    each = [fit] + [
        replace(
            fit,
            plan=replace(plan, split=split),
            outputs=estimator.in_units(combine(outputs[i : i + members], alike, fit.task)),
        )
        for split, i in zip(splits[1:], range(0, len(outputs), members), strict=True)
    ]
    same = all(_equal(split, splits[0]) for split in splits)
    scores = [one.scores for one in each]
    return {
        "n": repeats,
        "seeds": seeds,
        "splits": "one" if same else "drawn",
        "scores": _spread(scores, splits, fit.task.metrics, same=same),
    }


def _spread(
    scores: Sequence[dict[str, dict[str, Any]]],
    splits: Sequence[Split],
    metrics: Mapping[str, Metric],
    *,
    same: bool,
) -> dict[str, dict[str, Any]]:
    """Summarise the scores that every repeat has."""
    found: dict[str, dict[str, Any]] = {}
    for part in [p for p in ("train", "val", "test") if all(p in s for s in scores)]:
        # Splits of one graph share vertices, so that their scores are not independent.
        ratios = [len(getattr(split, part)) / len(split.train) for split in splits]
        ratio = 0.0 if same else float(np.mean(ratios))
        names = set.intersection(*(set(s[part]) for s in scores)) & set(metrics)
        found[part] = {
            name: _summary(metrics[name], [s[part][name] for s in scores], ratio)
            for name in scores[0][part]
            if name in names
        }
    return found


def _summary(metric: Metric, values: list[float], ratio: float) -> dict[str, Any]:
    """Return mean, deviation and interval, within the values that the score can take."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    low, high = mean_interval(mean, deviation, len(values), ratio)
    least, most = (0.0, 1.0) if metric.share else (-np.inf, np.inf)
    return {
        "mean": mean,
        "deviation": float(np.std(values, ddof=1)),
        "low": max(low, least) if np.isfinite(low) else None,
        "high": min(high, most) if np.isfinite(high) else None,
        "values": values,
    }


def _equal(a: Split, b: Split) -> bool:
    return all(
        np.array_equal(getattr(a, part), getattr(b, part)) for part in ("train", "val", "test")
    )

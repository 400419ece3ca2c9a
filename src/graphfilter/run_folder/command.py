"""The command that repeats a fit, derived from it."""

from __future__ import annotations

import shlex

from graphfilter.estimators import (
    EFFORTS,
    OfCommittee,
    SGFClassifier,
    SGFRegressor,
    VertexEstimator,
)
from graphfilter.fits import Plan
from graphfilter.runtime import launched

# Parameters of estimators, and the options of the command line that set them.
OPTIONS = {
    "n_layers": "--layers",
    "hidden_size": "--hidden",
    "operator": "--operator",
    "filter_init": "--init",
    "dropout": "--dropout",
    "n_members": "--members",
    "max_epochs": "--epochs",
    "patience": "--patience",
    "monitor": "--monitor",
    "feature_scaling": "--scaling",
    "scale": "--scale",
    "device": "--device",
    "seconds": "--seconds",
}
# Said elsewhere, or of no consequence.
_ELSEWHERE = {"graph", "random_state", "verbose", "effort", "model", "positive", "class_weight"}


def repeat_command(
    plan: Plan, estimator: VertexEstimator, out: str, *, baselines: bool = True
) -> str:
    """Return the command that repeats a fit; empty where no command does.

    ``estimator`` is as it was asked for, before the fit.
    """
    words = _model_words(estimator)
    if words is None:
        return ""
    start = ["graphfilter"]
    if (size := launched().size) > 1:
        start = ["torchrun", "--nproc-per-node", str(size), "-m", "graphfilter"]
    words = [*start, "fit", *plan.source.words, *words]
    words += ["--seed", str(plan.seed)] if plan.seed else []
    words += [] if baselines else ["--no-baselines"]
    return shlex.join([*words, "--out", out])


def _model_words(estimator: VertexEstimator) -> list[str] | None:
    """Return the words for an estimator; None where its parameters cannot be said."""
    given, usual = estimator.get_params(deep=False), type(estimator)().get_params(deep=False)
    if isinstance(estimator, OfCommittee):
        name = EFFORTS.get(str(estimator.effort), "")
    elif isinstance(estimator, SGFClassifier | SGFRegressor):
        name = "sgf"
    else:
        name = str(getattr(estimator, "model", ""))
    words = ["--model", name]
    changed = {key: value for key, value in given.items() if value != usual[key]}
    weights = changed.get("class_weight")
    if (
        not name
        or changed.keys() - OPTIONS.keys() - _ELSEWHERE
        or weights not in (None, "balanced")
    ):
        return None
    for key, option in OPTIONS.items():
        words += [option, _word(changed[key])] if key in changed else []
    return [*words, *(["--balanced"] if weights else [])]


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

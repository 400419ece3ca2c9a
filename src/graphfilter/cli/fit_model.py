"""Which estimator fit trains, from the options that were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators import VertexEstimator

DEFAULT, SGF = "committee", "sgf"

_OF_SGF = {
    "--layers": "n_layers",
    "--hidden": "hidden_size",
    "--dropout": "dropout",
    "--operator": "operator",
    "--init": "filter_init",
}


def choose_model(model: str | None, words: set[str], *, of_values: bool) -> str:
    """Return the model to train; raise where options were given that do not belong together.

    Parameters
    ----------
    model : str or None
        None is the usual one of what is learned.
    words : set of str
        The options that were given.
    of_values : bool
        Whether numbers or several labels per vertex are learned, not one class.
    """
    if of_values and "--balanced" in words:
        raise ConfigError("--balanced is for one class per vertex; leave it out.")
    model = DEFAULT if model is None else model
    if "--seconds" in words and model not in _efforts():
        raise ConfigError("--seconds applies to a committee only; give --epochs instead.")
    if model == SGF:
        return model
    if "--members" in words and model.partition("@")[0] in _efforts():
        raise ConfigError("a committee has its own members; leave --members out.")
    for word in sorted(words & _OF_SGF.keys()):
        if model == DEFAULT:
            raise ConfigError(f"{word} applies to the paper's filter only; add --model sgf.")
        raise ConfigError(
            f"{word} applies to --model sgf only; for another write the setting after its name: "
            f"--model {model}@{_OF_SGF[word]}=... where it has one."
        )
    return model


def make_estimator(
    model: str,
    shared: Mapping[str, Any],
    of_sgf: Mapping[str, Any],
    *,
    seconds: float | None = None,
    numbers: bool = False,
    class_weight: str | None = None,
    scale: str | list[str] | None = None,
) -> VertexEstimator:
    """Return the estimator of a name; parameters that are None are its own."""
    from graphfilter.estimators import (
        GraphClassifier,
        GraphRegressor,
        SGFClassifier,
        SGFRegressor,
        SystemClassifier,
        SystemRegressor,
    )

    given = {name: value for name, value in shared.items() if value is not None}
    if numbers:
        given |= {} if scale is None else {"scale": scale}
    else:
        given["class_weight"] = class_weight
    if model == SGF:
        own = {name: value for name, value in of_sgf.items() if value is not None}
        return (SGFRegressor if numbers else SGFClassifier)(**given, **own)
    if model in _efforts():
        kind = GraphRegressor if numbers else GraphClassifier
        given |= {} if seconds is None else {"seconds": seconds}
        return kind(effort=_efforts()[model], **given)
    kind = SystemRegressor if numbers else SystemClassifier
    return kind(model=model, n_members=of_sgf["n_members"], **given)


def restarted(old: VertexEstimator, made: VertexEstimator, words: set[str]) -> VertexEstimator:
    """Return the estimator of an earlier run, to be fitted again, with the options given now."""
    from graphfilter.run_folder import OPTIONS

    before, own = old.get_params(deep=False), made.get_params(deep=False)
    other = any(own.get(name) != before.get(name) for name in ("model", "effort"))
    if "--model" in words and (other or type(made) is not type(old)):
        raise ConfigError(
            f"--model must be that of the run to start from, a {type(old).__name__} of "
            f"{old.system_.title}. Leave it out, or fit without --start-from."
        )
    given = {name for name, word in OPTIONS.items() if word in words} | {"random_state", "device"}
    given |= {"class_weight"} if "--balanced" in words else set()
    changed = {name: own[name] for name in given if name in own}
    if "seconds" in before:
        changed["seconds"] = own.get("seconds")
    return type(old)(**{**before, **changed})


def _efforts() -> dict[str, str]:
    from graphfilter.estimators import EFFORTS

    return {name: effort for effort, name in EFFORTS.items()}

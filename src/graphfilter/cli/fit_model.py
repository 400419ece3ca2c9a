"""Which classifier fit trains, from the options that were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators.base import VertexClassifier

DEFAULT, SGF = "committee", "sgf"

_OF_SGF = {
    "--layers": "n_layers",
    "--hidden": "hidden_size",
    "--dropout": "dropout",
    "--operator": "operator",
    "--init": "filter_init",
}


def check_words(model: str, words: set[str], *, of_values: bool) -> None:
    """Raise where options were given together that do not belong together.

    Parameters
    ----------
    words : set of str
        The options that were given.
    of_values : bool
        Whether numbers or several labels per vertex are learned.
    """
    if "--seconds" in words and (of_values or model not in _efforts()):
        raise ConfigError("--seconds is of a committee; give --epochs instead.")
    if of_values:
        if "--balanced" in words:
            raise ConfigError("--balanced is for one class per vertex; leave it out.")
        if "--model" in words and model != SGF:
            raise ConfigError("--model is for one class per vertex; leave it out.")
        return
    if model == SGF:
        return
    if "--members" in words and model.partition("@")[0] in _efforts():
        raise ConfigError("a committee has its own members; leave --members out.")
    for word in sorted(words & _OF_SGF.keys()):
        if model == DEFAULT:
            raise ConfigError(f"{word} is of the paper's filter alone; add --model sgf.")
        raise ConfigError(
            f"{word} is of --model sgf; for another write the setting after its name: "
            f"--model {model}@{_OF_SGF[word]}=... where it has one."
        )


def make_classifier(
    model: str,
    shared: Mapping[str, Any],
    of_sgf: Mapping[str, Any],
    *,
    seconds: float | None = None,
    class_weight: str | None,
) -> VertexClassifier:
    """Return the classifier of a name; parameters that are None are its own."""
    from graphfilter.estimators.graph import GraphClassifier
    from graphfilter.estimators.sgf import SGFClassifier
    from graphfilter.estimators.system import SystemClassifier

    given = {name: value for name, value in shared.items() if value is not None}
    if model == SGF:
        own = {name: value for name, value in of_sgf.items() if value is not None}
        return SGFClassifier(**given, **own, class_weight=class_weight)
    if model in _efforts():
        return GraphClassifier(
            effort=_efforts()[model], seconds=seconds, class_weight=class_weight, **given
        )
    return SystemClassifier(
        model=model, n_members=of_sgf["n_members"], class_weight=class_weight, **given
    )


def _efforts() -> dict[str, str]:
    from graphfilter.estimators.graph import EFFORTS

    return {name: effort for effort, name in EFFORTS.items()}

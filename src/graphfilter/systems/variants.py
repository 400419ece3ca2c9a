"""A known system trained in another setting: ``sgf@weight_decay=5e-5``."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from graphfilter.errors import ConfigError, check_name
from graphfilter.systems.base import System
from graphfilter.training import TrainConfig

MARK = "@"
_FIELDS = {field.name: field.default for field in fields(TrainConfig)}


def make_variant(system: System, changes: str) -> System:
    """Return the system with some of how it is trained changed, under a name that says so.

    Parameters
    ----------
    changes : str
        ``key=value``, several of them separated by ``@``; the keys are those of
        :class:`~graphfilter.training.TrainConfig`.
    """
    given: dict[str, Any] = {}
    for change in changes.split(MARK):
        key, equals, value = change.partition("=")
        if not equals or key in given:
            raise ConfigError(
                f"{system.name}{MARK}{changes}: a setting must be changed as key=value, each once; "
                f"got {change!r}. Example: {system.name}{MARK}weight_decay=5e-5."
            )
        check_name("setting", key, _FIELDS)
        given[key] = _parse(key, value)
    if system.build is None:
        raise ConfigError(f"{system.name} is not trained: it has no setting to change.")
    said = [f"{key}={given[key]}" for key in sorted(given)]
    return replace(
        system,
        name=MARK.join([system.name, *said]),
        title=f"{system.title} with {', '.join(said)}",
        config=replace(system.config, **given),
        setting="changed",
        configs={name: replace(config, **given) for name, config in system.configs.items()},
    )


def _parse(key: str, value: str) -> Any:
    kind = type(_FIELDS[key])
    try:
        return kind(value)
    except ValueError:
        raise ConfigError(
            f"{key} must be a {'whole ' if kind is int else ''}number; got {value!r}."
        ) from None

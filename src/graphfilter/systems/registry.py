"""Systems by name, and the text form of a system in another setting: ``sgf@weight_decay=5e-5``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from graphfilter.systems.committees import COMMITTEES
from graphfilter.systems.filter_systems import FILTER_SYSTEMS
from graphfilter.systems.system import System
from graphfilter.util.errors import ConfigError, check_name
from graphfilter.util.plugins import SYSTEMS as PLUG_INS, load_plug_ins

MARK = "@"


class Systems(Mapping[str, System]):
    """Systems by name: ours, and those of installed packages, which are loaded when first needed.

    A package adds systems by an entry point of the group ``graphfilter.systems``, which names a
    sequence of them.
    """

    def __init__(self) -> None:
        self._own = {system.name: system for system in (*COMMITTEES, *FILTER_SYSTEMS)}

    @cached_property
    def _all(self) -> dict[str, System]:
        added = (system for found in load_plug_ins(PLUG_INS).values() for system in found)
        return {system.name: system for system in added} | self._own

    def __getitem__(self, name: str) -> System:
        return self._own[name] if name in self._own else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


SYSTEMS = Systems()


def get_system(name: str) -> System:
    """Return the system of this name; after an ``@``, in a setting of your own.

    The settings are those of :meth:`System.with_`, as ``key=value``, several of them separated by
    ``@``.

    >>> get_system("sgf@weight_decay=5e-5@n_layers=8").config.weight_decay
    5e-05
    """
    known, marked, text = str(name).partition(MARK)
    if known not in SYSTEMS:
        check_name("system", known, SYSTEMS)
    system = SYSTEMS[known]
    return system.with_(**_parse(system, text)) if marked else system


def find_system(name: str) -> System | None:
    """Return the system of a record's name; None where it was the recorder's own.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.systems.find_system("sgf").title
    'SGF'
    >>> gf.systems.find_system("no such system") is None
    True
    """
    try:
        return get_system(name)
    except ConfigError:
        return None


def _parse(system: System, text: str) -> dict[str, Any]:
    if not system.trained:
        raise ConfigError(f"{system.name} is not trained: it has no setting to change.")
    settings = system.settings()
    given: dict[str, Any] = {}
    for change in text.split(MARK):
        key, equals, value = change.partition("=")
        if not equals or key in given:
            raise ConfigError(
                f"{system.name}{MARK}{text}: a setting must be changed as key=value, each once; "
                f"got {change!r}. Example: {system.name}{MARK}weight_decay=5e-5."
            )
        given[key] = _value(key, value, settings[check_name("setting", key, settings)])
    return given


def _value(key: str, text: str, current: Any) -> Any:
    """Read a value of the type that the setting has now."""
    if isinstance(current, bool | tuple):
        raise ConfigError(f"{key} cannot be changed in text; use system.with_({key}=...).")
    if key == "init":
        return text if text == "uniform" else _number(key, text, float)
    if isinstance(current, str):
        return text
    if text.lower() == "none":
        return None
    return _number(key, text, float if isinstance(current, float) else int)


def _number(key: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError:
        whole = "whole " if kind is int else ""
        raise ConfigError(f"{key} must be a {whole}number; got {text!r}.") from None

"""Errors a user can cause. Each says what was given, what is needed and how to fix it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from contextlib import suppress
from math import nan
from numbers import Integral, Real
from os import PathLike
from typing import Any

# What float32 holds, in which settings are computed with.
_LARGEST = 3.4e38
# Quoted names; an apostrophe within or after a word begins none.
_QUOTED = re.compile(r"(?<!\w)(['\"])((?:\\.|[^\\])*?)\1")
_LONGEST_NAME = 200


class GraphFilterError(ValueError):
    """The parent of every error a user can cause. Anything else that escapes is our bug.

    Of names in quotes, which may be those of damaged files, the message has the beginning.

    Examples
    --------
    >>> import graphfilter as gf
    >>> try:
    ...     gf.load_dataset("kora")
    ... except gf.GraphFilterError as error:
    ...     print(str(error).split(" Known")[0])
    unknown dataset 'kora'; did you mean 'cora'?
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_QUOTED.sub(_shorten, message))


def _shorten(quoted: re.Match[str]) -> str:
    mark, name = quoted.groups()
    return f"{mark}{name[:_LONGEST_NAME]}{'...' * (len(name) > _LONGEST_NAME)}{mark}"


class GraphError(GraphFilterError):
    """Edges, features, labels or splits that do not make a graph."""


class ConfigError(GraphFilterError):
    """A setting with an unknown name or an impossible value."""


class ModelFileError(GraphFilterError):
    """A saved model or checkpoint that cannot be used."""


class DataFileError(GraphFilterError):
    """A file that cannot be read as what it should be.

    The message starts with the path and, where one is known, the line.
    """

    def __init__(self, path: str | PathLike[str], problem: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")


class DirectionsDroppedWarning(UserWarning):
    """Edges with directions were taken without them, which may not be meant."""


class NoGraphWarning(UserWarning):
    """An estimator was fitted without a graph, which may have been forgotten."""


class ChangedVerticesWarning(UserWarning):
    """Vertices that a model knows by their ids have other features than when it was fitted."""


def check_count(name: str, value: object, least: int = 1, most: int = 10**6) -> int:
    """Return ``value`` if it is a whole number from ``least`` to ``most``; otherwise raise.

    >>> check_count("n_layers", 16)
    16
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= most
    ):
        raise ConfigError(
            f"{name} must be a whole number from {least} to {most:,}; got {repr(value)[:40]}."
        )
    return int(value)


def check_number(name: str, value: object, within: str = "(-inf, inf)") -> float:
    """Return ``value`` if it is a number that float32 holds, in this interval; otherwise raise.

    >>> check_number("alpha", 1, "(0, 1]")
    1.0
    """
    number = nan
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):
            number = float(value)
    if not abs(number) <= _LARGEST:
        got = repr(value)[:40]
        raise ConfigError(f"{name} must be a finite number, at most {_LARGEST:g}; got {got}.")
    low, high = map(float, within[1:-1].split(","))
    at_an_end = (within[0] == "[" and number == low) or (within[-1] == "]" and number == high)
    if not (low < number < high or at_an_end):
        raise ConfigError(f"{name} must be in {within}; got {value}.")
    return number


def check_bytes(name: str, text: str) -> int:
    """Return the bytes that a text says, with a unit or without; raise where it says none.

    >>> check_bytes("memory", "4GB") == 4 << 30, check_bytes("memory", "512 MiB") == 512 << 20
    (True, True)
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([kmgt]?)i?b?", text.strip().lower())
    n_bytes = 0 if match is None else int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))
    if not n_bytes:
        raise ConfigError(f"{name} must be an amount like 4GB or 512MB; got {text[:40]!r}.")
    return n_bytes


def check_name(kind: str, name: object, names: Iterable[str]) -> str:
    """Return ``name`` if it is one of ``names``; otherwise raise and suggest the nearest.

    >>> check_name("operator", "laplacian", ["laplacian", "adjacency"])
    'laplacian'
    >>> check_name("filter", "stakced", ["stacked", "power"])
    Traceback (most recent call last):
    graphfilter.util.errors.ConfigError: unknown filter 'stakced'; did you mean 'stacked'? ...
    """
    choices = sorted(names)
    if isinstance(name, str) and name in choices:
        return name
    hint = did_you_mean(str(name), choices)
    raise ConfigError(f"unknown {kind} {name!r}{hint} Known: {', '.join(choices)}.")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, if one is near.

    >>> did_you_mean("stakced", ["stacked", "power"]), did_you_mean("x", ["stacked"])
    ("; did you mean 'stacked'?", '.')
    """
    from difflib import get_close_matches

    # The dashes of options make none of them alike.
    bare = {known.lstrip("-"): known for known in names}
    near = get_close_matches(name.lstrip("-"), list(bare), n=1)
    return f"; did you mean {bare[near[0]]!r}?" if near else "."


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import a package that not everybody needs, or say which extra of this one brings it.

    >>> import_extra("no_such_package", "formats", "reading GraphML")
    Traceback (most recent call last):
    graphfilter.util.errors.ConfigError: reading GraphML needs no_such_package, which is not ...
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        text = f"{what} needs {module}, which is not installed. Install it: pip install"
        raise ConfigError(f"{text} 'graphfilter[{extra}]'") from None

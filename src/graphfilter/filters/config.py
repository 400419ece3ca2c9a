"""Config: what a filter or network is made from, and so its identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar


def added(default: Any) -> Any:
    """Make a field that records of earlier versions do not know.

    At its default it is left out of a description, so that those records remain of this config.
    """
    return field(default=default, metadata={"added": True})


@dataclass(frozen=True)
class Config:
    """Everything that distinguishes one filter or network from another, except data and weights.

    Objects with equal configs are the same function of their weights. They may therefore run side
    by side, share a record and load each other's weights. A subclass is a frozen dataclass whose
    fields are plain values or other configs, each with a default where one is sensible.

    Attributes
    ----------
    kind : str
        The name of what is built, for printing and for records.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.PowerFilterConfig(k=3).describe()
    {'kind': 'PowerFilter', 'k': 3}
    >>> gf.filters.PowerFilterConfig(k=3) == gf.filters.PowerFilterConfig(k=3)
    True
    """

    kind: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        """Return the kind and every field as plain values that JSON can hold."""
        return {"kind": self.kind, **described_fields(self)}

    def arguments(self) -> str:
        """Return the fields as ``name=value``, for ``repr``."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{k}={v}" for k, v in pairs if not isinstance(v, Config))


def read_config(described: Mapping[str, Any]) -> Config:
    """Return the config that :meth:`Config.describe` described; ValueError where there is none.

    >>> import graphfilter as gf
    >>> config = gf.models.FilterNetworkConfig(filter=gf.filters.PowerFilterConfig(k=3))
    >>> read_config(config.describe()) == config
    True
    """
    values = dict(described)
    kind = values.pop("kind", None)
    return _config_of(str(kind))(**{name: _read(value) for name, value in values.items()})


@cache
def _config_of(kind: str) -> type[Config]:
    # Of its own: a config that inherits from another one is of no other kind.
    known = [each for each in _subclasses(Config) if vars(each).get("kind") == kind]
    if len(known) != 1:
        raise ValueError(f"a config of unknown kind {kind!r}")
    return known[0]


def _subclasses(config: type[Config]) -> Iterator[type[Config]]:
    for each in config.__subclasses__():
        yield each
        yield from _subclasses(each)


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return read_config(value)
    return tuple(value) if isinstance(value, list) else value


def described_fields(config: Any) -> dict[str, Any]:
    """Return the fields of a config, less those :func:`added` later that are at their default."""
    values = {f.name: (f, getattr(config, f.name)) for f in fields(config)}
    return {
        name: _plain(value)
        for name, (f, value) in values.items()
        if not (f.metadata.get("added") and value == f.default)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.describe()
    return list(value) if isinstance(value, tuple) else value

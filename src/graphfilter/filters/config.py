"""Config: what a filter or network is made from, and so its identity."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar


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
    """

    kind: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        """Return the kind and every field as plain values that JSON can hold."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **{name: _plain(value) for name, value in values.items()}}

    def arguments(self) -> str:
        """Return the fields as ``name=value``, for ``repr``."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ", ".join(f"{k}={v}" for k, v in pairs if not isinstance(v, Config))


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.describe()
    return list(value) if isinstance(value, tuple) else value

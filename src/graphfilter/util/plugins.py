"""What other installed packages add: systems, commands and datasets, by their entry points.

A package names what it adds in its ``pyproject.toml``; nothing of it is imported before it is asked
for. ``graphfilter_research``, which is installed beside this package, comes in by the same doors:

    [project.entry-points."graphfilter.systems"]
    mine = "my_package.systems:SYSTEMS"        # System objects, in a sequence
    [project.entry-points."graphfilter.datasets"]
    mine = "my_package.datasets"               # a graphfilter.data.datasets.Collection
    [project.entry-points."graphfilter.commands"]
    audit = "my_package.commands:audit"        # a function with typer's options, or a typer.Typer
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

SYSTEMS, DATASETS, COMMANDS = "graphfilter.systems", "graphfilter.datasets", "graphfilter.commands"


def plug_ins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return {point.name: point for point in sorted(entry_points(group=group))}


@cache
def load_plug_ins(group: str) -> dict[str, Any]:
    """Load what the packages of a group add; one that cannot be imported is left out and named."""
    loaded: dict[str, Any] = {}
    for name, point in plug_ins(group).items():
        try:
            loaded[name] = point.load()
        except MemoryError:
            raise
        except Exception as error:  # Whatever another package's code does when it is imported.
            warnings.warn(why_broken(point, error), UserWarning, stacklevel=3)
    return loaded


def why_broken(point: EntryPoint, error: Exception) -> str:
    """Return why what a package adds cannot be used, in one line with a remedy."""
    package = point.dist.name if point.dist is not None else point.value
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"{point.name} of {package} cannot be imported from {point.value}: {reason}. "
        f"Update or uninstall {package}."
    )


def moved(place: str, name: str, group: str, known: Mapping[str, str] | None = None) -> Any:
    """Return a name of 0.2 that is elsewhere now, with a warning.

    It is looked for in the module that ``known`` names for it, else in those that the entry points
    of ``group`` name.

    Raises
    ------
    AttributeError
        No installed package has it.
    """
    if not name.startswith("_"):
        modules = (
            [known[name]]
            if known and name in known
            else [point.module for point in plug_ins(group).values()]
        )
        for module in modules:
            value = getattr(import_module(module), name, None)
            if value is not None:
                text = f"{place}.{name} is {module}.{name} now; the old name goes with 0.4."
                warnings.warn(text, DeprecationWarning, stacklevel=3)
                return value
    raise AttributeError(f"module {place!r} has no attribute {name!r}")

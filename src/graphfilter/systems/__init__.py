"""Systems by name: what the paper compares, each with a model, an operator and a setting."""

from graphfilter.errors import ConfigError, check_name
from graphfilter.systems.base import PAPER, OnGraph, System, filter_system, sized_system
from graphfilter.systems.peers import PEERS
from graphfilter.systems.polynomial import POLYNOMIAL
from graphfilter.systems.variants import MARK, make_variant

SYSTEMS: dict[str, System] = {system.name: system for system in (*POLYNOMIAL, *PEERS)}


def get_system(name: str) -> System:
    """Return the system of this name; after an ``@``, in a setting of your own.

    >>> get_system("sgf@weight_decay=5e-5@patience=300").config.patience
    300
    """
    known, marked, changes = name.partition(MARK)
    system = SYSTEMS[check_name("system", known, SYSTEMS)]
    return make_variant(system, changes) if marked else system


def find_system(name: str) -> System | None:
    """Return the system of a record's name; None where it was the recorder's own."""
    try:
        return get_system(name)
    except ConfigError:
        return None


__all__ = [
    "PAPER",
    "SYSTEMS",
    "OnGraph",
    "System",
    "filter_system",
    "find_system",
    "get_system",
    "sized_system",
]

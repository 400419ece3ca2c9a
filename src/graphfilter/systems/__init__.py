"""Systems by name: what the paper compares, each with a model, an operator and a setting."""

from graphfilter.errors import check_name
from graphfilter.systems.base import PAPER, OnGraph, System, filter_system, sized_system
from graphfilter.systems.peers import PEERS
from graphfilter.systems.polynomial import POLYNOMIAL

SYSTEMS: dict[str, System] = {system.name: system for system in (*POLYNOMIAL, *PEERS)}


def get_system(name: str) -> System:
    """Return the system of this name."""
    return SYSTEMS[check_name("system", name, SYSTEMS)]


__all__ = [
    "PAPER",
    "SYSTEMS",
    "OnGraph",
    "System",
    "filter_system",
    "get_system",
    "sized_system",
]

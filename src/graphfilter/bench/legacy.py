"""Records of version 0.1.0, whose networks are described by the attributes they happened to have.

Today a record holds the config of its network. Those older ones are read as if they did, where the
system of that name still agrees with everything they say; a system that has changed since does not
count them as its own.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from graphfilter.errors import ConfigError
from graphfilter.filters import FilterConfig, HorizontalFilterConfig, StackedFilterConfig
from graphfilter.models import FilterNetworkConfig
from graphfilter.systems import find_system

# Filters of systems that were made for one table and are in no registry.
_STACKS: dict[str, type[StackedFilterConfig] | type[HorizontalFilterConfig]] = {
    "StackedFilter": StackedFilterConfig,
    "HorizontalFilter": HorizontalFilterConfig,
}


def modern_network(model: str, dataset: str, network: dict[str, Any]) -> dict[str, Any]:
    """Return the config of the network that a record of 0.1.0 describes, as far as it is known."""
    return json.loads(_modern(model, dataset, json.dumps(network)))


@cache
def _modern(model: str, dataset: str, text: str) -> str:
    network: dict[str, Any] = json.loads(text)
    system = find_system(model)
    config = None if system is None else system.for_dataset(dataset).model
    if config is not None:
        described = config.describe()
        return json.dumps(described) if _agrees(network, described) else text
    stack = _stack(network)
    return text if stack is None else json.dumps(stack.describe())


def _agrees(network: dict[str, Any], described: dict[str, Any]) -> bool:
    """Return whether a config has every value that was recorded, where it has that field."""
    for name, value in network.items():
        now = described.get(name)
        if isinstance(now, dict):
            kind, arguments = _filter_arguments(str(value))
            same = kind == now["kind"] and all(
                str(now.get(key, said)) == said or _number(now[key]) == _number(said)
                for key, said in arguments.items()
            )
        else:
            # None is "chosen by the graph's size", which was recorded as a number.
            same = now is None or now == value
        if not same:
            return False
    return True


def _stack(network: dict[str, Any]) -> FilterNetworkConfig | None:
    kind, arguments = _filter_arguments(str(network.get("filter")))
    make = _STACKS.get(kind)
    if network.get("kind") != FilterNetworkConfig.kind or make is None:
        return None
    own = {k: v for k, v in network.items() if k not in ("kind", "filter")}
    try:
        degree = int(arguments.get("n_layers") or arguments["degree"])
        made: FilterConfig = make(degree)
        return FilterNetworkConfig(filter=made, **own)
    except (KeyError, TypeError, ValueError, ConfigError):
        return None


def _filter_arguments(text: str) -> tuple[str, dict[str, str]]:
    """Parse ``StackedFilter(n_layers=16, init=0.5)``."""
    kind, _, rest = text.partition("(")
    return kind, dict(re.findall(r"(\w+)=([^,()]+)", rest))


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None

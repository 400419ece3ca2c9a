from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from graphfilter.data.datasets import make_csbm
from graphfilter.filters import Config
from graphfilter.operators import OPERATORS
from graphfilter.systems import SYSTEMS, System, get_system
from graphfilter.util.errors import ConfigError


def test_single_members_are_those_of_the_committee() -> None:
    committee: Any = get_system("committee")
    for member in committee.members:
        alone: Any = get_system(f"only-{member.name}")
        assert alone.members == (member,)


def test_systems_state_their_source_and_setting() -> None:
    for name, system in SYSTEMS.items():
        assert system.name == name
        assert system.operator in OPERATORS
        assert system.setting in ("paper", "authors", "adapted", "own")
        assert system.trained == (system.predict is None)
        assert system.reference or name == "mlp" or system.setting == "own"
    assert len({system.title for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_unknown_system_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'mlp'"):
        get_system("mpl")


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_settings_have_one_name_each(system: System) -> None:
    """Training config, model and filter share no name, so that with_ is never ambiguous."""
    if system.model is None:
        return
    names = [f.name for f in fields(system.config)]
    configs: list[Config] = [system.model]
    while configs:
        config = configs.pop()
        for f in fields(config):
            value = getattr(config, f.name)
            if isinstance(value, Config):
                configs.append(value)
            else:
                names.append(f.name)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_network_carries_the_config_it_was_built_from(system: System) -> None:
    if system.model is None:
        return
    graph = make_csbm(20, mean_degree=3, n_features=4)
    assert system.build(graph, 0).config == system.model
    assert hash(system.model) == hash(replace(system.model))

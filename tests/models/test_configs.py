"""What every config of a network has: a kind, and numbers that are checked."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from graphfilter.models import GraphNetwork, ModelConfig
from graphfilter.systems import SYSTEMS
from graphfilter.util.errors import ConfigError

CONFIGS = {type(s.model): s.model for s in SYSTEMS.values() if s.model is not None}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.kind)
def test_config_is_of_its_network(config: ModelConfig) -> None:
    assert config.kind == type(config).network.__name__
    assert config.keeps_graph == issubclass(type(config).network, GraphNetwork)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.kind)
def test_numbers_of_a_config_are_checked(config: ModelConfig) -> None:
    for field in fields(config):
        if str(field.type) in ("int", "int | None"):
            least = 0 if field.name in config.may_be_zero else 1
            for wrong in (least - 1, 2.5):
                with pytest.raises(ConfigError, match=f"{field.name} must be a whole number"):
                    replace(config, **{field.name: wrong})
        elif str(field.type) == "float":
            with pytest.raises(ConfigError, match=f"{field.name} must be a finite number"):
                replace(config, **{field.name: float("nan")})

"""The system that the parameters of SGFClassifier and SGFRegressor describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from graphfilter.errors import ConfigError, check_name
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import ChannelNetworkConfig, FilterNetworkConfig, ModelConfig
from graphfilter.operators import OPERATORS
from graphfilter.systems import System
from graphfilter.training import TrainConfig


def sgf_system(given: Mapping[str, Any]) -> System:
    """Return the system that the parameters of an estimator describe."""
    own = {f.name: given[f.name] for f in fields(TrainConfig) if f.name in given}
    return System(
        "sgf",
        "SGF",
        _model(given),
        operator=check_name("operator", given["operator"], OPERATORS),
        config=TrainConfig(**own),
    )


def _model(given: Mapping[str, Any]) -> ModelConfig:
    filter = StackedFilterConfig(given["n_layers"], given["filter_init"])
    if given["operator"] != "channels":
        return FilterNetworkConfig(
            filter=filter,
            hidden_size=given["hidden_size"],
            dropout=given["dropout"],
            dropout_on=given["dropout_on"],
        )
    if given["dropout_on"] != "linear":
        raise ConfigError(
            "dropout_on must be 'linear' with the operator 'channels'; "
            f"got {given['dropout_on']!r}."
        )
    return ChannelNetworkConfig(
        filter=filter, hidden_size=given["hidden_size"], dropout=given["dropout"]
    )

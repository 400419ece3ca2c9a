"""Which datasets and runs a target asks for."""

from __future__ import annotations

import pytest

from graphfilter.util.errors import ConfigError
from graphfilter_research.paper.collect import Options, at_hand


def test_options_and_datasets_are_checked() -> None:
    with pytest.raises(ConfigError, match="runs must be a whole number from 1 to 1,000,000; got 0"):
        Options(runs=0)
    with pytest.raises(ConfigError, match="did you mean 'cora'"):
        at_hand(["coar"])

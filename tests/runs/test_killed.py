"""A process that is killed at any write leaves a whole run or store, or one that is resumed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.killed import kill_builds, kill_fits
from tests.processes import apart


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("kill", [kill_fits, kill_builds])
def test_killed_at_a_write_and_begun_again_gives_the_same(
    kill: Callable[[Path], int], tmp_path: Path
) -> None:
    assert apart(kill, tmp_path) >= 3

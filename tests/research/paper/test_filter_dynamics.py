"""Figures 4 and 8: α and β by epoch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphfilter.filters import StackedFilter
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_dynamics_record_starts_where_the_figure_says(tmp_path: Path) -> None:
    for name in ("fig-dynamics", "fig-random-dynamics"):
        TARGETS[name].collect(tmp_path, QUICK, None)
    fixed, random = (
        json.loads((tmp_path / f"{name}-quick.jsonl").read_text())
        for name in ("fig-dynamics", "fig-random-dynamics")
    )
    assert fixed["epochs"] == [0, 2]
    assert fixed["alpha"][0] == fixed["beta"][0] == [0.5] * 16
    start = StackedFilter(init="uniform", seed=0)
    np.testing.assert_allclose(random["alpha"][0], start.alpha.tolist(), atol=1e-6)
    assert np.shape(random["beta"]) == (2, 16)

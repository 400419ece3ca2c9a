"""Figure 2: the filters of the records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.filters import StackedFilter
from graphfilter_research.paper import figure2
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_filter_figure_draws_the_response_of_the_recorded_scalars(tmp_path: Path) -> None:
    TARGETS["fig-filters"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-filters-quick")
    frequency = np.array([0.0, 0.7, 2.0])
    for record in records:
        start, learned = figure2.responses(record, frequency)
        lam = frequency if record.model == "sgf-laplacian" else 1 - frequency
        np.testing.assert_allclose(start, StackedFilter().response(lam))
        h = np.ones_like(lam)
        for alpha, beta in zip(record.filter["alpha"], record.filter["beta"], strict=True):
            h = alpha * lam * h + beta
        np.testing.assert_allclose(learned, h, rtol=1e-6)

"""What the first page of the site plays is what was recorded, and records as the tool does."""

from __future__ import annotations

import numpy as np
import pytest
from tools.site_dynamics import FRAMES, read, record

from graphfilter.report.filter import FREQUENCIES, describe_shape
from graphfilter.spectral import Density
from graphfilter_research.commands.demo import GRAPHS


@pytest.mark.parametrize("made", read(), ids=lambda made: made["name"])
def test_recorded_filter_has_the_shape_the_page_says(made: dict) -> None:
    shapes = {"low": "low-pass", "middle": "nearly flat", "high": "high-pass"}
    assert GRAPHS[made["name"]] == made["kind"]
    assert len(made["epochs"]) == len(made["alpha"]) == len(made["beta"]) <= FRAMES + 1
    assert made["alpha"][0] == made["beta"][0] == [0.5] * 16
    lam = FREQUENCIES if made["operator"] == "laplacian" else 1 - FREQUENCIES
    last = np.ones_like(lam)
    for alpha, beta in zip(made["alpha"][-1], made["beta"][-1], strict=True):
        last = alpha * lam * last + beta
    flat = Density(np.linspace(0.025, 1.975, 40), np.full(40, 0.5), exact=True)
    assert describe_shape(last, flat).startswith(shapes[made["kind"]])
    frequency = np.average(flat.centres, weights=made["energy"])
    assert frequency == pytest.approx(made["frequency"], abs=0.05)


def test_recording_starts_where_the_kept_one_does() -> None:
    (kept,) = (made for made in read() if made["name"] == "csbm")
    made = record("csbm", max_epochs=2)
    for name in ("vertices", "edges", "frequency", "energy"):
        assert made[name] == pytest.approx(kept[name], abs=1e-3)
    assert made["epochs"] in ([0], [0, 1], [0, 1, 2])
    assert made["alpha"][0] == kept["alpha"][0]

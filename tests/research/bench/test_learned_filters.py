"""Filters on record, drawn from their scalars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphfilter.report.filter import FREQUENCIES
from graphfilter_research.bench.learned_filters import (
    HEIGHT,
    WIDTH,
    learned_filters,
    recorded_response,
)
from graphfilter_research.bench.record import Record

ALPHA = np.linspace(0.2, 0.9, 16).tolist()
BETA = np.linspace(-0.3, 0.8, 16).tolist()


@pytest.fixture
def record() -> Record:
    return Record(
        "karate", "sgf", "stratified", 0, 0, "none", {"operator": "augmented_adjacency"}, "cpu",
        filter={"alpha": ALPHA, "beta": BETA},
    )  # fmt: skip


def test_recorded_response_is_the_recurrence_scaled_to_one(record: Record) -> None:
    lam = 1 - FREQUENCIES
    h = np.ones_like(lam)
    for alpha, beta in zip(ALPHA, BETA, strict=True):
        h = alpha * lam * h + beta
    curve = recorded_response(record)
    assert curve is not None
    np.testing.assert_allclose(curve, h / h[np.abs(h).argmax()], atol=1e-6)
    on_laplacian = recorded_response(replace(record, config={"operator": "laplacian"}))
    assert on_laplacian is not None
    assert not np.allclose(on_laplacian, curve)


def test_recorded_response_undoes_the_sign(record: Record) -> None:
    theta = np.linspace(1, -2, 11)
    one, other = (
        recorded_response(replace(record, model="gpr-gnn", filter={"theta": (s * theta).tolist()}))
        for s in (1, -1)
    )
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other)


def test_records_without_a_filter_that_fits_have_no_response(record: Record) -> None:
    for changes in (
        {"filter": {}},
        {"model": "not in the registry"},
        {"model": "mlp"},
        {"model": "label-propagation"},
        {"status": "failed"},
        {"filter": {"alpha": ALPHA[:3], "beta": BETA[:3]}},
        {"filter": {"alpha": [None] * 16, "beta": BETA}},
        {"filter": {"alpha": ALPHA, "beta": [0.0] * 15 + [1e300]}},
    ):
        assert recorded_response(replace(record, **changes)) is None, changes


def test_learned_filters_keep_datasets_and_systems_apart(record: Record) -> None:
    flat = {"alpha": [0.0] * 16, "beta": [1.0] * 16}
    records = [
        record,
        replace(record, seed=1, filter=flat),
        replace(record, dataset="csbm", filter=flat),
        replace(record, dataset="csbm", model="mlp", filter={}),
    ]
    found = learned_filters(records)
    assert {d: [(f.title, len(f.runs)) for f in of] for d, of in found.items()} == {
        "karate": [("SGF", 2)],
        "csbm": [("SGF", 1)],
    }
    (csbm,) = found["csbm"]
    assert csbm.shape == "nearly flat"
    points = [tuple(map(float, p.split(","))) for p in csbm.mean.split()]
    assert points[0] == (0, 0)
    assert points[-1] == (WIDTH, 0)
    runs = [[float(p.split(",")[1]) for p in run.split()] for run in found["karate"][0].runs]
    assert all(0 <= y <= HEIGHT for run in runs for y in run)

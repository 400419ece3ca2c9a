"""A run whose features change by rounding: the first is the run itself."""

from __future__ import annotations

import pytest

import rounding
from graphfilter import load_dataset
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system


@pytest.mark.parametrize("scaling", ["row", "none"])
def test_first_run_is_that_of_the_record(scaling: str) -> None:
    graph, model = load_dataset("karate"), "sgf@n_layers=2"
    assert graph.labels is not None
    split = stratified(graph.labels, 0)
    found = list(rounding.moved(graph, split, model, 0, scaling, 2))
    prepared = Prepared.of(graph, scaling=scaling, device="cpu")
    (outcome,) = train_system(prepared, get_system(model), [split], [0])
    right = outcome.probabilities.argmax(axis=1) == graph.labels
    assert found[0] == (right[split.test].mean(), outcome.n_epochs)
    assert len(found) == 2

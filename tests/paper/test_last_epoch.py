"""The second training ends where the first one stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphfilter.data import load_dataset
from graphfilter.paper import last_epoch
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system


def test_training_without_looking_at_validation_goes_the_same_way() -> None:
    """Its losses are those of the training that stopped by its validation loss, to the bit."""
    graph = load_dataset("karate")
    prepared = Prepared.of(graph)
    system = get_system(last_epoch.SYSTEM)
    system = replace(system, config=replace(system.config, patience=5))
    split = stratified(graph.labels, 0)
    (first,) = train_system(prepared, system, [split], [3])
    n_epochs = first.result.n_epochs
    blind = replace(system, config=replace(system.config, max_epochs=n_epochs))
    (second,) = train_system(prepared, blind, [replace(split, val=split.val[:0])], [3])
    np.testing.assert_array_equal(first.result.history["loss"], second.result.history["loss"])
    assert second.result.best_epoch == n_epochs > first.result.best_epoch


@pytest.mark.usefixtures("tiny")
def test_both_weights_are_scored_on_the_same_split() -> None:
    graph = load_dataset("karate")
    record = last_epoch.train_twice(Prepared.of(graph, scaling="row"), "karate", 0, 4)
    assert record.epochs == 4
    assert 0 <= record.best <= 1
    assert 0 <= record.last <= 1

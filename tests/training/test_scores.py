"""The scores of an epoch against their definitions, and what the patience makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split, stratified
from graphfilter.training import TrainConfig, train
from graphfilter.training.epoch import Run

GRAPH = make_csbm(n_vertices=90, mean_degree=4, n_features=5)


def make_network() -> FilterNetwork:
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(5, 2, StackedFilter(3), hidden_size=6, generator=generator)


@pytest.mark.parametrize("class_weight", [None, torch.tensor([1.0, 3.0])])
def test_epoch_scores_follow_their_definitions(class_weight: torch.Tensor | None) -> None:
    """After one epoch: the weights kept are the ones that were scored."""
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0, (0.3, 0.5, 0.2))
    network = make_network()
    (result,) = train(
        [network], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[0],
        class_weight=class_weight,
    )  # fmt: skip
    network.load_state_dict(result.state)
    with torch.no_grad():
        logits = network.eval()(operator, x).double()
    own = torch.ones(90) if class_weight is None else class_weight[labels]

    def accuracy(part: np.ndarray) -> float:
        index = torch.from_numpy(part.copy())
        right = (logits.argmax(1) == labels)[index] * own[index]
        return float(right.sum() / own[index].sum())

    val = torch.from_numpy(split.val.copy())
    weight = None if class_weight is None else class_weight.double()
    loss = cross_entropy(logits[val], labels[val], weight=weight)
    got = {name: values[0] for name, values in result.history.items()}
    assert got["train_accuracy"] == pytest.approx(accuracy(split.train))
    assert got["val_accuracy"] == pytest.approx(accuracy(split.val))
    assert got["val_loss"] == pytest.approx(float(loss), rel=1e-5)
    # What tells the parts apart here: no two of them score the same.
    assert accuracy(split.train) != accuracy(split.val)


def test_training_loss_is_that_of_the_training_vertices_with_dropout() -> None:
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0)
    (result,) = train(
        [make_network()], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[7]
    )
    logits = make_network().train()(operator, x, torch.Generator().manual_seed(7))
    index = torch.from_numpy(split.train.copy())
    expected = cross_entropy(logits[index], labels[index])
    assert result.history["loss"][0] == pytest.approx(expected.item(), rel=1e-5)


def test_patience_is_counted_anew_after_a_better_score() -> None:
    labels = torch.tensor([0, 0, 0, 1, 0, 1])
    split = Split(np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([], dtype=int))
    network = FilterNetwork(2, 2, StackedFilter(2))
    run = Run(network, split, labels, None, monitor="accuracy", patience=3)
    still_training = []
    for val_accuracy in (0.5, 0.4, 0.4, 0.6, 0.4, 0.4, 0.4):
        run.update(np.array([1.0, 0.9, 0.7, val_accuracy]), np.zeros(4))
        still_training.append(run.training)
    assert still_training == [True] * 6 + [False]

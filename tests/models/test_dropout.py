"""Where dropout falls: on the input of every linear layer, and never on the skipped signal."""

from __future__ import annotations

import pytest
import torch

from graphfilter.data import make_csbm
from graphfilter.filters import (
    ChebyshevFilter,
    Filter,
    HorizontalFilter,
    IdentityFilter,
    PageRankFilter,
    StackedFilter,
)
from graphfilter.models import FilterNetwork
from graphfilter.models.network import DropoutOn
from graphfilter.operators import adjacency, laplacian

GRAPH = make_csbm(n_vertices=200, mean_degree=4, n_features=50)
X = torch.tensor(GRAPH.features)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network(**options) -> FilterNetwork:
    return FilterNetwork(
        50, 2, IdentityFilter(), hidden_size=100, generator=generator(), **options
    ).train()


@pytest.mark.parametrize("filter_on", ["hidden", "logits"])
@pytest.mark.parametrize("dropout_on", ["linear", "every_layer"])
def test_head_drops_its_input(filter_on: str, dropout_on: str) -> None:
    """A hidden layer of ones: a logit is a binomial count, scaled to keep its mean of 100."""
    model = network(dropout=0.5, filter_on=filter_on, dropout_on=dropout_on)
    assert model.encoder is not None
    with torch.no_grad():
        model.encoder.weight.zero_()
        model.encoder.bias.fill_(1.0)
        model.head.weight.fill_(1.0)
        model.head.bias.zero_()
        logits = model(adjacency(GRAPH), X, generator(1))[:, 0]
    # The sum of 100 numbers that are 0 or 2: mean 100, standard deviation 10.
    assert abs(logits.mean() - 100) < 5 * 10 / 200**0.5
    assert 8 < logits.std() < 12
    torch.testing.assert_close(logits % 2, torch.zeros(200))


def test_encoder_drops_its_input() -> None:
    """An encoder that adds up features of one, and a head that passes its first column on."""
    model = network(dropout=0.5, activation="none")
    assert model.encoder is not None
    with torch.no_grad():
        model.encoder.weight.fill_(1.0)
        model.encoder.bias.zero_()
        model.head.weight.zero_()
        model.head.weight[0] = 1.0
        model.head.bias.zero_()
        logits = model(adjacency(GRAPH), torch.ones_like(X), generator(1))[:, 0]
    kept = logits[logits != 0] / 2
    # The head drops half of the rows; the others hold the encoder's sums of 50 numbers, 0 or 2.
    assert 70 < len(kept) < 130
    assert abs(kept.mean() - 50) < 5 * 50**0.5 / len(kept) ** 0.5
    assert 5 < kept.std() < 9


@pytest.mark.parametrize(
    "make",
    [StackedFilter, HorizontalFilter, PageRankFilter, lambda: ChebyshevFilter(1, lambda_max=2.0)],
)
def test_dropout_of_everything_leaves_the_skipped_signal(make) -> None:
    """With every input of a product dropped, what is left is w_0 H_0, whole."""
    filter_: Filter = make()
    operator = laplacian(GRAPH) if isinstance(filter_, ChebyshevFilter) else adjacency(GRAPH)
    with torch.no_grad():
        left = filter_(operator, X, torch.zeros_like)
        torch.testing.assert_close(left, filter_.weights()[0].float() * X)


def test_dropout_on_linear_layers_leaves_the_filter_alone() -> None:
    """The signal that reaches a filter is the one that leaves it, where the filter is I."""
    seen = []

    class Watching(IdentityFilter):
        def forward(self, operator, x, dropout=None):
            seen.append(dropout)
            return super().forward(operator, x, dropout)

    cases: list[tuple[DropoutOn, list[bool]]] = [("linear", []), ("every_layer", [True])]
    for dropout_on, expected in cases:
        model = FilterNetwork(50, 2, Watching(), dropout_on=dropout_on, generator=generator())
        seen.clear()
        model.train()(adjacency(GRAPH), X, generator(1))
        assert [drop is not None for drop in seen] == expected

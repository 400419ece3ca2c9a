"""NormedNetwork: its equation, its norms in training and after it, several runs at once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from graphfilter.data import make_csbm
from graphfilter.models import NormedConfig, NormedNetwork
from graphfilter.models.deep import MOMENTUM, _NormedLayer
from graphfilter.operators import augmented_adjacency, to_tensor

GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=0.6, seed=0)
OTHER = make_csbm(20, mean_degree=3, n_features=5, frequency=0.3, seed=1)
X = torch.tensor(GRAPH.features)


def make(seed: int = 0, dropout: float = 0.0) -> NormedNetwork:
    config = NormedConfig(n_layers=2, hidden_size=3, dropout=dropout)
    return NormedNetwork(5, 2, config, generator=torch.Generator().manual_seed(seed))


def expected(model: NormedNetwork, norms: list[nn.BatchNorm1d]) -> torch.Tensor:
    """Return the logits by torch's own batch norm."""
    dense = augmented_adjacency(GRAPH) @ torch.eye(30)
    hidden = torch.relu(model.encoder(X))
    for layer, norm in enumerate(norms):
        made = torch.cat([hidden, dense @ hidden], dim=1) @ model.weights[layer]
        hidden = torch.relu(model.gains[layer] * norm(made) + model.shifts[layer])
    return model.head(hidden)


def test_it_is_its_equation_in_training_and_after_it() -> None:
    model, operator = make().train(), augmented_adjacency(GRAPH)
    norms = [nn.BatchNorm1d(3, momentum=MOMENTUM, affine=False) for _ in range(2)]
    with torch.no_grad():
        model.gains.copy_(torch.tensor([[1.0, 2.0, 0.5], [0.7, 1.0, 3.0]]))
        model.shifts.copy_(torch.tensor([[0.1, -0.2, 0.3], [0.0, 0.5, -0.5]]))
        for _ in range(3):
            torch.testing.assert_close(
                model(operator, X), expected(model, norms), rtol=1e-4, atol=1e-5
            )
        for layer, norm in enumerate(norms):
            torch.testing.assert_close(model.mean[layer], norm.running_mean)
            torch.testing.assert_close(model.variance[layer], norm.running_var)
        model.eval()
        made = expected(model, [norm.eval() for norm in norms])
        torch.testing.assert_close(model(operator, X), made, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropped", [False, True])
def test_gradient_of_a_layer_is_that_of_its_equation(dropped: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, gains, shifts = (
        torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()
        for shape in [(7, 2, 3), (2, 3), (2, 3)]
    )
    kept = torch.rand(7, 2, 3, generator=generator) < 0.5 if dropped else None
    assert torch.autograd.gradcheck(
        lambda *given: _NormedLayer.apply(*given, kept)[0], (x, gains, shifts)
    )


def test_predictions_do_not_change_the_running_averages() -> None:
    model = make().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model(augmented_adjacency(GRAPH), X)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_runs_side_by_side_are_those_alone(dropout: float) -> None:
    operator = augmented_adjacency(GRAPH)
    together, alone = ([make(s, dropout).train() for s in (0, 1)] for _ in range(2))
    generators = [torch.Generator().manual_seed(s) for s in (5, 6)]
    made = NormedNetwork.forward_side_by_side(together, operator, X, generators)
    for run, model in enumerate(alone):
        own = model(operator, X, torch.Generator().manual_seed(5 + run))
        torch.testing.assert_close(made[:, run], own, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(together[run].variance, model.variance)


def test_it_serves_another_graph() -> None:
    assert not NormedConfig.keeps_graph
    made = make().eval()(augmented_adjacency(OTHER), to_tensor(OTHER.features))
    assert made.shape == (20, 2)


def test_it_is_left_out_where_vertices_are_too_few_or_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, enough = (
        make_csbm(n, mean_degree=4, n_features=2, frequency=1.0, seed=0) for n in (499, 500)
    )
    assert NormedConfig().skip_reason(few, 20) == (
        "it needs at least 500 vertices for its batch norms"
    )
    assert NormedConfig().skip_reason(enough, 20) is None
    monkeypatch.setattr("graphfilter.models.deep.MOST_HELD", 10)
    assert NormedConfig().skip_reason(enough, 20) == (
        "500 vertices are too many for a network with batch norms"
    )

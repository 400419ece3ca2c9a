from __future__ import annotations

import pytest
import torch

from graphfilter import operators
from graphfilter.data.graph import Graph
from graphfilter_research.peers.ap_gcn import APGCN, APGCNConfig

STEPS = 4

Parts = tuple[APGCN, operators.Operator, torch.Tensor]


@pytest.fixture
def parts() -> Parts:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    generator = torch.Generator().manual_seed(0)
    model = APGCN(5, 3, APGCNConfig(max_steps=STEPS, dropout=0.0, cost=0.5), generator=generator)
    z = torch.randn(4, 3, generator=generator)
    return model, operators.augmented_adjacency(graph), z


def set_halting(model: APGCN, bias: float) -> None:
    with torch.no_grad():
        model.halt.weight.zero_()
        model.halt.bias.fill_(bias)


def test_ap_gcn_that_halts_at_once_takes_one_step(parts: Parts) -> None:
    model, operator, z = parts
    set_halting(model, 20.0)
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, operator @ z)
    assert steps.tolist() == [1.0] * 4
    assert rest.tolist() == [1.0] * 4


def test_ap_gcn_that_never_halts_averages_all_steps(parts: Parts) -> None:
    """With h = 0: p is 0 until the last step, where it is 1."""
    model, operator, z = parts
    set_halting(model, -30.0)
    powers = [z]
    for _ in range(STEPS):
        powers.append(operator @ powers[-1])
    expected = (sum(powers[: STEPS - 1]) + powers[STEPS]) / STEPS
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, expected)
    assert steps.tolist() == [float(STEPS)] * 4
    torch.testing.assert_close(rest, torch.ones(4))


def test_ap_gcn_halts_when_its_budget_is_spent(parts: Parts) -> None:
    """With h = 0.4 the third step reaches 1.2: K = 3, R = 1 - 0.8."""
    model, operator, z = parts
    set_halting(model, float(torch.logit(torch.tensor(0.4))))
    z1 = operator @ z
    z2 = operator @ z1
    z3 = operator @ z2
    expected = (0.4 * z1 + 0.6 * z + 0.4 * z2 + 0.6 * z1 + 0.2 * z3 + 0.8 * z2) / 3
    logits, steps, rest = model.propagate(operator, z)
    torch.testing.assert_close(logits, expected)
    assert steps.tolist() == [3.0] * 4
    torch.testing.assert_close(rest, torch.full((4,), 0.2))


def test_ap_gcn_penalty_is_the_cost_of_its_steps(parts: Parts) -> None:
    model, operator, _ = parts
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    output = model.training_output(operator, x, None)
    _, steps, rest = model.propagate(operator, model.head(torch.relu(model.encoder(x))))
    torch.testing.assert_close(output.penalty, 0.5 * (steps + rest).mean())
    torch.testing.assert_close(output.logits, model(operator, x))
    assert output.vertex_weight is None

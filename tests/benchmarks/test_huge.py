from __future__ import annotations

import argparse

import pytest
import torch

import huge
from graphfilter.util.errors import GraphFilterError
from graphs import make_graph


def test_exact_step_has_the_gradients_of_plain_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge, "CHUNK_ROWS", 70)
    monkeypatch.setattr(huge, "LABELLED", 0.5)
    differences = huge.check(torch.device("cpu"))
    assert set(differences) == {name for name, _ in huge.make_network().named_parameters()}
    assert max(differences.values()) < 1e-11


def test_check_finds_a_wrong_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_relu(step: huge.ExactStep, grad: torch.Tensor) -> None:
        step.network.get_parameter("encoder.weight").grad = step.problem.x.T @ grad
        step.network.get_parameter("encoder.bias").grad = grad.sum(0)

    monkeypatch.setattr(huge.ExactStep, "_encoder_gradients", forget_relu)
    with pytest.raises(GraphFilterError, match="gradients"):
        huge.run_or_check(argparse.Namespace(), torch.device("cpu"))


def test_exact_steps_lower_the_loss() -> None:
    problem = huge.Problem(make_graph(500, 4000, "power-law"), torch.float32)
    step = huge.ExactStep(huge.make_network(), problem)
    losses = [step().item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]

"""Polynomials of an operator against their definition, plain autograd and numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.operators import Operator, augmented_adjacency, laplacian
from graphfilter.operators.polynomial import Basis, apply_polynomial, apply_with_dropout
from graphfilter.util.errors import GraphError

BASES = {
    "powers": Basis.powers(),
    "scaled powers": Basis.powers(2.0),
    "chebyshev": Basis.chebyshev(0.0, 2.0),
    "symmetric chebyshev": Basis.chebyshev(-2.0, 2.0),
    "legendre-like": Basis(scale=0.5, shift=-0.25, step=1.5, back=0.5),
}
coefficients = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=1, max_size=9)


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def plain(matrix: Tensor, basis: Basis, weights: Tensor, x: Tensor) -> Tensor:
    """The sum as the docstring states it, with dense products that autograd follows.

    A group of columns has its own weights: (K + 1, g) for x of (n, g * c).
    """
    per_column = weights.repeat_interleave(x.shape[1] // weights.shape[1], dim=1)
    t = basis.scale * matrix + basis.shift * torch.eye(len(matrix), dtype=matrix.dtype)
    terms = [x, t @ x]
    while len(terms) < len(weights):
        terms.append(basis.step * t @ terms[-1] - basis.back * terms[-2])
    return torch.stack([per_column[k] * terms[k] for k in range(len(weights))]).sum(0)


def dense(operator: Operator) -> Tensor:
    return torch.from_numpy(operator.matrix.toarray())


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_polynomial_and_its_gradients_equal_plain_autograd(
    basis: Basis, n_groups: int, degree: int, small_graph: Graph
) -> None:
    operator = laplacian(small_graph, dtype=torch.float64)
    weights = randn(degree + 1, n_groups, seed=1).requires_grad_()
    x = randn(operator.n, 6, seed=2).requires_grad_()
    ours = apply_polynomial(operator, basis, weights, x)
    theirs = plain(dense(operator), basis, weights, x)
    torch.testing.assert_close(ours, theirs)
    grad = randn(operator.n, 6, seed=3)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (weights, x), grad),
        torch.autograd.grad(theirs, (weights, x), grad),
    )


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_polynomial_gradcheck(basis: Basis) -> None:
    operator = augmented_adjacency(Graph.from_edges([[0, 1], [1, 2], [0, 2]]), dtype=torch.float64)
    weights = randn(5).requires_grad_()
    x = randn(3, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda w, x: apply_polynomial(operator, basis, w, x), (weights, x)
    )


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_polynomial_acts_on_the_spectrum(basis: Basis, small_graph: Graph) -> None:
    """f(P) x = U f(Λ) Uᵀ x."""
    operator = laplacian(small_graph, dtype=torch.float64)
    eigenvalues, vectors = torch.linalg.eigh(dense(operator))
    weights, x = randn(6), randn(operator.n, 2, seed=1)
    response = basis.evaluate(weights, eigenvalues)
    expected = vectors @ (response[:, None] * (vectors.T @ x))
    torch.testing.assert_close(apply_polynomial(operator, basis, weights, x), expected)


def test_polynomial_takes_strides_and_double_weights_on_single_columns() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]))
    x = torch.arange(12, dtype=torch.float32).reshape(4, 3).T.requires_grad_()
    weights = randn(4).requires_grad_()
    y = apply_polynomial(operator, Basis.powers(2.0), weights, x)
    assert y.dtype == torch.float32
    y.square().sum().backward()
    assert weights.grad is not None
    assert weights.grad.dtype == torch.float64
    matrix, w = dense(operator), weights.detach()
    expected = plain(matrix, Basis.powers(2.0), w[:, None], x.detach().double())
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("wanted", ["weights", "x"])
def test_polynomial_gives_one_gradient_without_the_other(wanted: str) -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    tensors = {"weights": randn(3, 1), "x": randn(3, 2)}
    tensors[wanted].requires_grad_()
    basis = Basis.chebyshev(0, 2)
    ours = apply_polynomial(operator, basis, **tensors).sum()
    theirs = plain(dense(operator), basis, **tensors).sum()
    torch.testing.assert_close(
        torch.autograd.grad(ours, tensors[wanted]), torch.autograd.grad(theirs, tensors[wanted])
    )


def test_polynomial_leaves_its_input_alone() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    x, weights = randn(3, 2).requires_grad_(), randn(5).requires_grad_()
    before = x.detach().clone(), weights.detach().clone()
    apply_polynomial(operator, Basis.chebyshev(0, 2), weights, x).sum().backward()
    assert torch.equal(x, before[0])
    assert torch.equal(weights, before[1])


@pytest.mark.parametrize("n_groups", [1, 2])
def test_polynomial_saves_its_input_and_nothing_that_grows(n_groups: int) -> None:
    """What autograd keeps for the backward pass: x and the K + 1 weights, at any degree."""
    operator = laplacian(Graph.from_edges([[i, i + 1] for i in range(49)]))

    def saved_sizes(degree: int) -> list[int]:
        sizes: list[int] = []

        def pack(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        x = torch.ones(50, 4, requires_grad=True)
        weights = torch.ones(degree + 1, n_groups, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            apply_polynomial(operator, Basis.powers(2.0), weights, x)
        return sorted(sizes)

    for degree in (1, 4, 64):
        assert saved_sizes(degree) == sorted([(degree + 1) * n_groups, 50 * 4])


def test_polynomial_refuses_second_derivatives() -> None:
    """Rather than give wrong ones: the backward pass is not recorded."""
    operator = laplacian(Graph.from_edges([[0, 1]]), dtype=torch.float64)
    x = randn(2, 1).requires_grad_()
    y = apply_polynomial(operator, Basis.powers(), randn(3).requires_grad_(), x)
    (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_polynomial_refuses_columns_of_another_graph() -> None:
    operator = laplacian(Graph.from_edges([[0, 1]]))
    with pytest.raises(GraphError, match="one row per vertex"):
        apply_polynomial(operator, Basis.powers(), torch.ones(2), torch.ones(3, 1))


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_dropout_of_nothing_changes_nothing(basis: Basis, small_graph: Graph) -> None:
    operator = laplacian(small_graph, dtype=torch.float64)
    weights, x = randn(5), randn(operator.n, 3, seed=1)
    torch.testing.assert_close(
        apply_with_dropout(operator, basis, weights, x, lambda h: h),
        apply_polynomial(operator, basis, weights, x),
    )


def test_dropout_of_everything_leaves_the_constant_term() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    weights, x = randn(5), randn(3, 2, seed=1)
    got = apply_with_dropout(operator, Basis.powers(), weights, x, torch.zeros_like)
    torch.testing.assert_close(got, weights[0] * x)


def test_dropout_acts_on_the_input_of_every_product() -> None:
    operator = laplacian(Graph.from_edges([[0, 1], [1, 2]]), dtype=torch.float64)
    weights, x = randn(4), randn(3, 2, seed=1)
    masks = [randn(3, 2, seed=s).gt(0).double() for s in (2, 3, 4)]
    queue = iter(masks)
    got = apply_with_dropout(operator, Basis.powers(), weights, x, lambda h: h * next(queue))
    expected, h = weights[0] * x, x
    for k, mask in enumerate(masks, start=1):
        h = dense(operator) @ (mask * h)
        expected = expected + weights[k] * h
    torch.testing.assert_close(got, expected)


def as_tensor(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(coefficients)
def test_chebyshev_basis_equals_numpy(values: list[float]) -> None:
    basis = Basis.chebyshev(0.5, 2.0)
    lam = np.linspace(0.5, 2, 11)
    theirs = np.polynomial.Chebyshev(values, domain=[0.5, 2.0])
    evaluated = basis.evaluate(as_tensor(values), torch.from_numpy(lam))
    np.testing.assert_allclose(evaluated, theirs(lam), atol=1e-10)
    converted = basis.to_powers(as_tensor(values)).numpy()
    powers = np.zeros(len(values))  # numpy trims leading zeros
    trimmed = theirs.convert(domain=[-1, 1], kind=np.polynomial.Polynomial).coef
    powers[: len(trimmed)] = trimmed
    np.testing.assert_allclose(converted, powers, rtol=1e-8, atol=1e-6)


@given(coefficients, st.floats(0.25, 4))
def test_powers_basis_equals_numpy(values: list[float], radius: float) -> None:
    basis = Basis.powers(radius)
    lam = np.linspace(-radius, radius, 11)
    expected = np.polynomial.polynomial.polyval(lam / radius, values)
    evaluated = basis.evaluate(as_tensor(values), torch.from_numpy(lam))
    np.testing.assert_allclose(evaluated, expected, atol=1e-10)
    np.testing.assert_allclose(
        basis.to_powers(as_tensor(values)).numpy(), values / radius ** np.arange(len(values))
    )

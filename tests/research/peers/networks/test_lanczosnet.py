from __future__ import annotations

import numpy as np
import torch

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter_research.peers.lanczosnet import LanczosNet, LanczosNetConfig, lanczos


def test_lanczos_with_every_vector_is_exact(small_graph: Graph) -> None:
    """Repeated eigenvalues and several components included."""
    operator = operators.augmented_adjacency(small_graph)
    values, vectors = lanczos(operator, 100)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(operator.n), atol=1e-10)
    dense = operator.matrix.toarray()
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, dense, atol=1e-10)


def test_lanczos_finds_the_ends_of_the_spectrum_first() -> None:
    operator = operators.augmented_adjacency(make_csbm(300, n_features=2))
    values, vectors = lanczos(operator, 40)
    exact = np.linalg.eigvalsh(operator.matrix.toarray())
    np.testing.assert_allclose([values[0], values[-1]], exact[[0, -1]], atol=1e-4)
    residual = operator.matrix @ vectors[:, -1] - values[-1] * vectors[:, -1]
    assert np.linalg.norm(residual) < 1e-3


def test_lanczosnet_layer_is_the_sum_of_its_scales() -> None:
    graph = make_csbm(30, mean_degree=4, n_features=5)
    operator = operators.augmented_adjacency(graph)
    generator = torch.Generator().manual_seed(0)
    config = LanczosNetConfig(short=(1, 3), long=(5, 10), n_vectors=30, n_layers=1)
    model = LanczosNet(graph, config, generator=generator).eval()
    x = torch.tensor(graph.features)
    values, vectors = np.linalg.eigh(operator.matrix.toarray())
    lam, basis = torch.tensor(values).float(), torch.tensor(vectors).float()
    with torch.no_grad():
        blocks = model.linears[0](x).view(30, 4, 2)
        responses = model.filters[0](torch.stack([lam**5, lam**10], dim=1))
        expected = basis @ (lam[:, None] * (basis.T @ blocks[:, 0]))
        expected += basis @ (lam[:, None] ** 3 * (basis.T @ blocks[:, 1]))
        for i in range(2):
            expected += basis @ (responses[:, i, None] * (basis.T @ blocks[:, 2 + i]))
        torch.testing.assert_close(model(operator, x), expected, rtol=1e-3, atol=1e-4)

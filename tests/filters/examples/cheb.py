"""Chebyshev polynomials of the Laplacian, two layers of them, in a ``Sequential`` of PyG's."""

from __future__ import annotations

from typing import Any

import torch
from tests.filters.examples.common import fit, small_data
from torch import nn

from graphfilter.pyg import ChebyshevFilterConv


def main(
    conv: Any = ChebyshevFilterConv, name: str = "karate", epochs: int = 60, **options: Any
) -> tuple[list[float], float]:
    from torch_geometric.nn import Sequential

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        data = small_data(name)
        layers = [
            (nn.Dropout(0.5), "x -> x"),
            (conv(data.num_features, 16, **options), "x, edge_index -> x"),
            nn.ReLU(),
            (conv(16, int(data.y.max()) + 1, **options), "x, edge_index -> x"),
        ]
        return fit(Sequential("x, edge_index", layers), data, epochs)


if __name__ == "__main__":
    print("test accuracy", main(degree=2)[1])

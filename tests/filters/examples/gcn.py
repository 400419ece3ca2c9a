"""Two convolutions with dropout, as in PyTorch Geometric's ``gcn.py``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tests.filters.examples.common import fit, small_data
from torch import Tensor, nn
from torch.nn import functional

from graphfilter.pyg import StackedFilterConv


class GCN(nn.Module):
    def __init__(
        self, conv: Callable[..., nn.Module], in_channels: int, hidden: int, out_channels: int
    ) -> None:
        super().__init__()
        self.conv1 = conv(in_channels, hidden, cached=True)
        self.conv2 = conv(hidden, out_channels, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = functional.dropout(x, p=0.5, training=self.training)
        x = self.conv1(x, edge_index, edge_weight).relu()
        x = functional.dropout(x, p=0.5, training=self.training)
        return self.conv2(x, edge_index, edge_weight)


def main(
    conv: Callable[..., nn.Module] = StackedFilterConv, name: str = "karate", epochs: int = 60
) -> tuple[list[float], float]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        data = small_data(name)
        return fit(GCN(conv, data.num_features, 16, int(data.y.max()) + 1), data, epochs)


if __name__ == "__main__":
    print("test accuracy", main()[1])

"""An MLP whose answers are propagated, as in PyTorch Geometric's examples of APPNP."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tests.filters.examples.common import fit, small_data
from torch import Tensor, nn
from torch.nn import functional

from graphfilter.pyg import StackedFilterConv


class Net(nn.Module):
    def __init__(
        self, prop: Callable[[], nn.Module], in_channels: int, hidden: int, out_channels: int
    ) -> None:
        super().__init__()
        self.lin1 = nn.Linear(in_channels, hidden)
        self.lin2 = nn.Linear(hidden, out_channels)
        self.prop1 = prop()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = functional.dropout(x, p=0.5, training=self.training)
        x = self.lin1(x).relu()
        x = functional.dropout(x, p=0.5, training=self.training)
        return self.prop1(self.lin2(x), edge_index)


def main(
    prop: Callable[[], nn.Module] = StackedFilterConv, name: str = "karate", epochs: int = 60
) -> tuple[list[float], float]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        data = small_data(name)
        return fit(Net(prop, data.num_features, 32, int(data.y.max()) + 1), data, epochs)


if __name__ == "__main__":
    print("test accuracy", main()[1])

"""A small graph as ``Data``, and the loop that the examples share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from graphfilter.data import load_dataset, make_bipartite


def small_data(name: str = "karate") -> Any:
    """Return the karate club, or a bipartite graph, where neighbours always disagree."""
    from torch_geometric.data import Data

    bipartite = make_bipartite(n_side=60, probability=0.2, n_features=16, seed=0)
    graph = load_dataset("karate") if name == "karate" else bipartite
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()), dtype=torch.long)
    n = graph.n_vertices
    x = torch.eye(n) if name == "karate" else torch.tensor(graph.features)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    train, test = torch.zeros(n, dtype=torch.bool), torch.zeros(n, dtype=torch.bool)
    train[order[: n // 3]] = True
    test[order[n // 3 :]] = True
    labels = torch.tensor(graph.labels)
    return Data(x=x, edge_index=edges, y=labels, train_mask=train, test_mask=test)


def fit(model: nn.Module, data: Any, epochs: int = 60) -> tuple[list[float], float]:
    """Train a model; return the loss of every epoch and the accuracy on the test vertices."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        loss = functional.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        predicted = model(data.x, data.edge_index).argmax(dim=1)
    right = (predicted == data.y)[data.test_mask]
    return losses, float(right.float().mean())

"""Other averages of neighbours than the symmetric one, made of it and the degrees."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ConfigT, GraphNetwork, SideBySide
from graphfilter.operators import Operator


class DegreeNetwork(GraphNetwork[ConfigT], SideBySide[ConfigT]):
    """A network that knows the degrees of the graph it is built on.

    Its operator is the augmented adjacency :math:`(D+I)^{-1/2}(A+I)(D+I)^{-1/2}`, of which other
    normalisations are made here, for columns (n, R, c).
    """

    degrees: Tensor

    def take_graph(self, graph: Graph) -> None:
        degrees = torch.tensor(graph.degrees, dtype=torch.float32)[:, None, None]
        self.register_buffer("degrees", degrees, persistent=False)

    def mean(self, operator: Operator, x: Tensor) -> Tensor:
        """Return the mean of each vertex and its neighbours, (D + I)⁻¹ (A + I) x."""
        root = (self.degrees + 1).sqrt()
        return (operator @ (root * x)) / root

    def sum(self, operator: Operator, x: Tensor) -> Tensor:
        """Return the sum of each vertex's neighbours, A x."""
        root = (self.degrees + 1).sqrt()
        return root * (operator @ (root * x)) - x

    def inverse_degrees(self) -> Tensor:
        """Return D⁻¹, with 0 where there are no neighbours."""
        return torch.where(self.degrees > 0, 1 / self.degrees.clamp(min=1e-12), 0.0)

"""GraphSAINT (Zeng et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig, TrainingOutput
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator, augmented_adjacency
from graphfilter_research.peers.gcn import GCN, GCNConfig
from graphfilter_research.peers.pyg import operator_csr


@dataclass(frozen=True)
class GraphSAINTConfig(ModelConfig):
    """Of :class:`GraphSAINT`.

    Parameters
    ----------
    n_roots : int, optional
        A quarter of the vertices unless given.
    walk_length : int
        Steps of every walk.
    n_samples : int
        N.
    hidden_size, n_layers, dropout
        Of the GCN.
    """

    n_roots: int | None = None
    walk_length: int = 2
    n_samples: int = 50
    hidden_size: int = 64
    n_layers: int = 2


class GraphSAINT(GraphNetwork[GraphSAINTConfig], config=GraphSAINTConfig):
    r"""*GraphSAINT: Graph Sampling Based Inductive Learning Method* (ICLR 2020), around GCN.

    Every training step sees the subgraph of the vertices that random walks from random roots
    visit. How often a vertex (:math:`C_v`) and an edge (:math:`C_{uv}`) fall into N such
    subgraphs is counted beforehand and corrects for the sampling: a message counts
    :math:`P_{vu} / \alpha_{uv}` with :math:`\alpha_{uv} = C_{uv} / C_v`, and a vertex's loss
    :math:`1 / \lambda_v` with :math:`\lambda_v = C_v / N`. Prediction runs on the whole graph.

    Vertices outside the subgraph weigh nothing in the loss of a training step. The counts belong
    to the entries of the graph's augmented adjacency, which it must be trained on.

    The generator draws the counted subgraphs, too.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="graphsaint@n_samples=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    indptr: Tensor
    indices: Tensor
    vertex_share: Tensor
    edge_scale: Tensor

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        self.n_roots = max(1, graph.n_vertices // 4) if config.n_roots is None else config.n_roots
        self.network = GCN(
            graph.n_features,
            graph.n_classes,
            GCNConfig(
                dropout=config.dropout, hidden_size=config.hidden_size, n_layers=config.n_layers
            ),
            generator=generator,
        )
        for name, array in (("indptr", graph.indptr), ("indices", graph.indices)):
            self.register_buffer(name, torch.from_numpy(array.astype(np.int64)), persistent=False)
        csr = operator_csr(augmented_adjacency(graph))
        share, scale = self._count(csr, config.n_samples, generator)
        self.register_buffer("vertex_share", share, persistent=False)
        self.register_buffer("edge_scale", scale, persistent=False)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        if self.training:
            return self.training_output(operator, x, generator).logits
        return self.network(operator, x, generator)

    def training_output(self, operator: Operator, x: Input, generator: Draws) -> TrainingOutput:
        """Return the logits of a random subgraph; ``generator`` draws it and the dropout."""
        inside = self.sample(generator)
        vertices = inside.nonzero().squeeze(1)
        hidden = self.network.encode(x, generator)[vertices]
        adjacency = self.subgraph_csr(operator, inside)
        logits = self.network.convolve(adjacency, hidden, generator)
        logits = logits.new_zeros(operator.n, logits.shape[1]).index_put((vertices,), logits)
        return TrainingOutput(logits, vertex_weight=inside / self.vertex_share)

    def sample(self, generator: torch.Generator | None) -> Tensor:
        """Return which vertices are in a subgraph: (n,) of bool."""
        n, device = len(self.indptr) - 1, self.indptr.device
        at = torch.randint(n, (self.n_roots,), generator=generator, device=device)
        inside = torch.zeros(n, dtype=torch.bool, device=device)
        inside[at] = True
        if not len(self.indices):
            return inside
        for _ in range(self.config.walk_length):
            start = self.indptr[at]
            degree = self.indptr[at + 1] - start
            draws = torch.rand(len(at), generator=generator, device=device, dtype=torch.float64)
            # A vertex without neighbours stays where it is; its index only has to be valid.
            index = (start + (draws * degree).long()).clamp(max=len(self.indices) - 1)
            at = torch.where(degree > 0, self.indices[index], at)
            inside[at] = True
        return inside

    def subgraph_csr(self, operator: Operator, inside: Tensor) -> Tensor:
        """Return the operator among the sampled vertices, scaled up for the edges that miss."""
        csr = operator_csr(operator)
        rows, columns = _rows(csr), csr.col_indices().long()
        kept = inside[rows] & inside[columns]
        number = inside.cumsum(0) - 1
        counts = torch.bincount(number[rows[kept]], minlength=int(inside.sum()))
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        values = (csr.values() * self.edge_scale)[kept]
        size = (len(counts), len(counts))
        return torch.sparse_csr_tensor(
            indptr, number[columns[kept]], values, size, check_invariants=False
        )

    def _count(
        self, csr: Tensor, n_samples: int, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        r"""Return :math:`C_v / N` of every vertex and :math:`C_v / C_{uv}` of every entry."""
        rows, columns = _rows(csr), csr.col_indices().long()
        vertices = torch.zeros(csr.shape[0])
        entries = torch.zeros(len(rows))
        for _ in range(n_samples):
            inside = self.sample(generator)
            vertices += inside
            entries += inside[rows] & inside[columns]
        # What was never seen would be divided by zero when it turns up: count it once.
        scale = vertices[rows].clamp(min=1) / entries.clamp(min=1)
        return vertices.clamp(min=1) / n_samples, scale


def _rows(csr: Tensor) -> Tensor:
    counts = csr.crow_indices().diff().long()
    return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)

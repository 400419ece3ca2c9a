"""What frequencies the labels of a PyTorch Geometric ``Data`` have."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.pyg.edges import read_edges
from graphfilter.spectral import Diagnosis, diagnose as diagnose_graph, known_frequency


def diagnose(data: Any, mask: Any = "train_mask") -> Diagnosis:
    """Return what frequencies the labels of a ``Data`` have, and which kind of model they need.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With ``y``, one class per vertex (-1: unlabelled), and ``edge_index`` or ``adj_t``.
    mask : str or Tensor (n,), optional
        The vertices whose labels may be looked at, or the name of such a mask of the ``Data``;
        by default those for training, so that nothing is learned of the others. All labels where
        it has no such mask, or with None.

    Returns
    -------
    Diagnosis
        See :func:`graphfilter.spectral.diagnose`: ``.advice``, ``.range``, ``.label_frequency``.

    Examples
    --------
    >>> from types import SimpleNamespace    # Stands for a Data.
    >>> cycle = torch.tensor([[i, (i + 1) % 100] for i in range(100)]).T
    >>> data = SimpleNamespace(edge_index=cycle, y=torch.arange(100) % 2, num_nodes=100)
    >>> diagnose(data).range
    'high'
    """
    return diagnose_graph(graph_of(data), _known(data, mask))


class AddLabelFrequency:
    """A transform that adds the frequency of each class's labels to a ``Data``, from 0 to 2.

    Near 0 neighbours agree and ``GCNConv`` will do; near 1 they say little; near 2 they disagree.
    Where the labels are known in part the frequencies of all are estimated.

    Parameters
    ----------
    mask : str or Tensor (n,), optional
        As in :func:`diagnose`: by default only the labels for training are looked at.
    name : str
        The attribute that is added: a float tensor (n_classes,). NaN for a class that none of
        these vertices has, and where there are no edges.

    Examples
    --------
    >>> from types import SimpleNamespace    # Stands for a Data.
    >>> cycle = torch.tensor([[i, (i + 1) % 100] for i in range(100)]).T
    >>> data = SimpleNamespace(edge_index=cycle, y=torch.arange(100) % 2, num_nodes=100)
    >>> AddLabelFrequency()(data).label_frequency
    tensor([2., 2.])
    """

    def __init__(self, mask: Any = "train_mask", *, name: str = "label_frequency") -> None:
        self.mask = mask
        self.name = name

    def __call__(self, data: Any) -> Any:
        """Return a shallow copy of the ``Data`` with the attribute."""
        graph, known = graph_of(data), _known(data, self.mask)
        if known is None and graph.labels is not None:
            known = graph.labels >= 0
        value = known_frequency(graph, np.empty(0) if known is None else known).value
        made = copy.copy(data)
        setattr(made, self.name, _by_number(graph.classes, value))
        return made

    def __repr__(self) -> str:
        mask = self.mask if isinstance(self.mask, str) or self.mask is None else "..."
        return f"{type(self).__name__}(mask={mask!r}, name={self.name!r})"


def graph_of(data: Any) -> Graph:
    """Return the Graph of a ``Data``, from its ``edge_index`` or ``adj_t``."""
    edge_index, weights = getattr(data, "edge_index", None), getattr(data, "edge_weight", None)
    if edge_index is None:
        edge_index, weights = getattr(data, "adj_t", None), None
    if edge_index is None:
        raise GraphError("the Data must have an edge_index or an adj_t; it has neither.")
    labels = getattr(data, "y", None)
    if not isinstance(labels, Tensor) or labels.numel() != data.num_nodes:
        shape = None if labels is None else tuple(labels.shape)
        raise GraphError(f"the Data must have a y of one class per vertex; got {shape}.")
    edges = read_edges(edge_index, weights, data.num_nodes)
    features = getattr(data, "x", None)
    return Graph.from_edges(
        torch.stack([edges.sources, edges.targets], 1).cpu().numpy(),
        data.num_nodes,
        weights=None if edges.weights is None else edges.weights.cpu().numpy(),
        labels=labels.detach().cpu().reshape(-1).numpy(),
        features=features if features is None else _host(features),
    )


def _host(features: Tensor) -> Any:
    return features.detach().to_dense().cpu().numpy()


def _known(data: Any, mask: Any) -> NDArray[np.bool_] | None:
    found = getattr(data, mask, None) if isinstance(mask, str) else mask
    if found is None:
        if isinstance(mask, str) and mask != "train_mask":
            raise GraphError(f"the Data must have the mask {mask!r}; it has none of this name.")
        return None
    found = torch.as_tensor(found).cpu()
    if found.ndim != 1:
        raise GraphError(
            f"a mask must have one value per vertex; got shape {tuple(found.shape)}. Choose a "
            "column: mask=data.train_mask[:, 0]."
        )
    return found.numpy()


def _by_number(classes: NDArray[Any], values: NDArray[np.float64]) -> Tensor:
    """Put the value of each class at its number; NaN at numbers that are no class."""
    numbers = torch.tensor(classes.astype(np.int64))
    if (numbers < 0).any():
        raise GraphError(f"the classes in y must be numbered from 0; got {numbers.tolist()}.")
    by_number = torch.full((int(numbers.max()) + 1 if len(numbers) else 0,), torch.nan)
    by_number[numbers] = torch.tensor(values).float()
    return by_number

"""FilterNetwork: one encoder, any filter, one head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError, check_count, check_name, check_number
from graphfilter.filters import Filter, apply_filters
from graphfilter.models.layers import Linear, drop
from graphfilter.operators import Operator
from graphfilter.sparse import SparseFeatures

DropoutOn = Literal["linear", "every_layer"]
FilterOn = Literal["hidden", "logits"]
Generators = Sequence[torch.Generator | None]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}


class FilterNetwork(nn.Module):
    r"""Encoder, graph filter and head (section 4).

    .. math:: H_0 = \mathrm{relu}(X W_\mathrm{in} + b), \qquad
              \hat y = f(P)\, H_0\, W_\mathrm{out} + b'

    With a :class:`~graphfilter.filters.StackedFilter` this is SGF, with the other filters MLP,
    SGC, APPNP, PPNP, GPR-GNN and the paper's variants.

    Parameters
    ----------
    n_features, n_classes : int
    filter : Filter
    hidden_size : int or None
        Width of the encoder; None leaves the encoder out, so that the network is linear (SGC).
    activation : {'relu', 'elu', 'tanh', 'none'}
        After the encoder.
    dropout : float
        Rate in [0, 1).
    dropout_on : {'linear', 'every_layer'}
        On the input of the linear layers (the paper's text), or also on the input of every filter
        layer (the authors' code): two different models.
    filter_on : {'hidden', 'logits'}
        Whether training filters the hidden layer (SGF) or the logits (APPNP, SGC). Prediction
        filters whichever is narrower: without dropout both are the same function.
    generator : torch.Generator, optional
        For the initial weights.

    Examples
    --------
    >>> from graphfilter import Graph, operators
    >>> from graphfilter.filters import StackedFilter
    >>> operator = operators.augmented_adjacency(Graph.from_edges([[0, 1], [1, 2]]))
    >>> network = FilterNetwork(4, 2, StackedFilter())
    >>> network(operator, torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        filter: Filter,
        *,
        hidden_size: int | None = 64,
        activation: str = "relu",
        dropout: float = 0.7,
        dropout_on: DropoutOn = "linear",
        filter_on: FilterOn = "hidden",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if hidden_size is not None:
            check_count("hidden_size", hidden_size)
        if not 0 <= check_number("dropout", dropout) < 1:
            raise ConfigError(f"dropout must be in [0, 1); got {dropout}.")
        check_name("dropout placement", dropout_on, ("linear", "every_layer"))
        check_name("filter placement", filter_on, ("hidden", "logits"))
        if hidden_size is None and filter_on == "hidden":
            raise ConfigError("without a hidden layer the filter must be on the logits.")
        self.activation = check_name("activation", activation, ACTIVATIONS)
        self.dropout = dropout
        self.dropout_on = dropout_on
        self.filter_on = filter_on
        width = n_features if hidden_size is None else hidden_size
        self.encoder = None if hidden_size is None else Linear(n_features, width, generator)
        self.filter = filter
        self.head = Linear(width, n_classes, generator)

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        return forward_side_by_side([self], operator, x, [generator])[0]

    @property
    def rate(self) -> float:
        """The dropout rate now in force: none outside training."""
        return self.dropout if self.training else 0.0

    def encode(
        self, x: Tensor | SparseFeatures, generator: torch.Generator | None
    ) -> Tensor | SparseFeatures:
        r"""Return :math:`H_0`."""
        if self.encoder is None:
            return x
        hidden = self.encoder(x, dropout=self.rate, generator=generator)
        return ACTIVATIONS[self.activation](hidden)

    def filters_logits(self) -> bool:
        """Say whether the filter runs after the head now."""
        narrower = self.head.weight.shape[1] < self.head.weight.shape[0]
        return self.filter_on == "logits" or (not self.training and narrower)

    def filter_parameters(self) -> list[nn.Parameter]:
        return list(self.filter.parameters())

    def linear_parameters(self) -> list[nn.Parameter]:
        inside = set(self.filter.parameters())
        return [p for p in self.parameters() if p not in inside]


def forward_side_by_side(
    models: Sequence[FilterNetwork],
    operator: Operator,
    x: Tensor | SparseFeatures,
    generators: Generators,
) -> list[Tensor]:
    """Run networks of one shape on one graph, their columns side by side in the same products.

    An optimisation, not another model: each result is that of the network alone.
    """
    pairs = list(zip(models, generators, strict=True))
    hidden = [model.encode(x, generator) for model, generator in pairs]
    if models[0].filters_logits():
        return _head_then_filter(pairs, operator, hidden)
    filtered = _filter(pairs, operator, hidden)  # pyright: ignore
    return [
        model.head(h, dropout=model.rate, generator=generator)
        for (model, generator), h in zip(pairs, filtered, strict=True)
    ]


def _head_then_filter(
    pairs: list[tuple[FilterNetwork, torch.Generator | None]],
    operator: Operator,
    hidden: list[Tensor | SparseFeatures],
) -> list[Tensor]:
    logits = [
        model.head(h, dropout=model.rate, generator=generator)
        for (model, generator), h in zip(pairs, hidden, strict=True)
    ]
    if pairs[0][0].filter_on == "logits":
        return _filter(pairs, operator, logits)
    # Trained with the bias added after the filter: keep it there.
    bare = [z - model.head.bias for (model, _), z in zip(pairs, logits, strict=True)]
    filtered = _filter(pairs, operator, bare)
    return [z + model.head.bias for (model, _), z in zip(pairs, filtered, strict=True)]


def _filter(
    pairs: list[tuple[FilterNetwork, torch.Generator | None]],
    operator: Operator,
    columns: list[Tensor],
) -> list[Tensor]:
    first = pairs[0][0]
    if first.dropout_on == "every_layer" and first.rate > 0:
        return [
            model.filter(operator, h, lambda z, g=generator: drop(z, first.rate, g))
            for (model, generator), h in zip(pairs, columns, strict=True)
        ]
    filters = [model.filter for model, _ in pairs]
    if len(filters) == 1:
        return [filters[0](operator, columns[0])]
    n, width = columns[0].shape
    joined = apply_filters(filters, operator, torch.stack(columns, dim=1).view(n, -1))
    return list(joined.view(n, len(filters), width).unbind(1))

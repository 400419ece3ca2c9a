"""FilterNetwork: one encoder, any filter, one head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError, check_count, check_name, check_number
from graphfilter.filters import Filter, apply_filters
from graphfilter.models.layers import Generators, Linear, drop, linear_side_by_side
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures

DropoutOn = Literal["linear", "every_layer"]
FilterOn = Literal["hidden", "logits"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}


class SideBySide(nn.Module, ABC):
    """A network of which several of one shape can run on one graph at once.

    An optimisation, not another model: each gives what it gives alone. Those of one ``repr`` do so,
    which must therefore name every setting. Nothing in :meth:`together` may wait for the device, so
    that a whole epoch can be captured and replayed.
    """

    @classmethod
    @abstractmethod
    def together(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Tensor | SparseFeatures,
        generators: Generators,
    ) -> Tensor:
        """Return the logits of all of them (n, R, n_classes); each draws from its generator."""

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        return self.together([self], operator, x, [generator])[:, 0]


class FilterNetwork(SideBySide):
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

    @classmethod
    def together(
        cls,
        models: Sequence[FilterNetwork],
        operator: Operator,
        x: Tensor | SparseFeatures,
        generators: Generators,
    ) -> Tensor:
        first = models[0]
        hidden = x
        encoders = [m.encoder for m in models if m.encoder is not None]
        if encoders:
            hidden = linear_side_by_side(encoders, x, first.rate, generators)
            hidden = ACTIVATIONS[first.activation](hidden)
        heads = [model.head for model in models]
        if not first.filters_logits():
            filtered = _filter(models, operator, hidden, generators)  # pyright: ignore
            return linear_side_by_side(heads, filtered, first.rate, generators)
        logits = linear_side_by_side(heads, hidden, first.rate, generators)
        if first.filter_on == "logits":
            return _filter(models, operator, logits, generators)
        # Trained with the bias added after the filter: keep it there.
        biases = torch.stack([head.bias for head in heads])
        return _filter(models, operator, logits - biases, generators) + biases

    @property
    def rate(self) -> float:
        """The dropout rate now in force: none outside training."""
        return self.dropout if self.training else 0.0

    def filters_logits(self) -> bool:
        """Say whether the filter runs after the head now."""
        narrower = self.head.weight.shape[1] < self.head.weight.shape[0]
        return self.filter_on == "logits" or (not self.training and narrower)

    def extra_repr(self) -> str:
        return (
            f"activation={self.activation}, dropout={self.dropout:g} on {self.dropout_on}, "
            f"filter on {self.filter_on}"
        )

    def filter_parameters(self) -> list[nn.Parameter]:
        return list(self.filter.parameters())

    def linear_parameters(self) -> list[nn.Parameter]:
        inside = set(self.filter.parameters())
        return [p for p in self.parameters() if p not in inside]


def _filter(
    models: Sequence[FilterNetwork], operator: Operator, columns: Tensor, generators: Generators
) -> Tensor:
    """Apply the filter of each network to its own columns (n, R, c)."""
    first = models[0]
    if first.dropout_on == "every_layer" and first.rate > 0:
        parts = zip(models, columns.unbind(1), generators, strict=True)
        return torch.stack(
            [
                model.filter(operator, h, lambda z, g=generator: drop(z, first.rate, g))
                for model, h, generator in parts
            ],
            dim=1,
        )
    filters = [model.filter for model in models]
    return apply_filters(filters, operator, columns.flatten(1)).view(columns.shape)

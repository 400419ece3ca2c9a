"""GPR-GNN (Chien et al. 2021), as its authors train it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphfilter.filters import FilterConfig, HorizontalFilterConfig, apply_filters
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Generators, Input, linear_side_by_side
from graphfilter.models.network import FilterNetwork
from graphfilter.operators import Operator
from graphfilter.util.errors import check_number
from graphfilter_research.peers.pieces import dropped


@dataclass(frozen=True)
class GPRGNNConfig(ModelConfig):
    """Of :class:`GPRGNN`.

    Parameters
    ----------
    dropout : float
        On the input of both linear layers.
    filter : FilterConfig
    hidden_size : int
    logit_dropout : float
        On the logits, before the filter: ``dprate`` in the authors' code.
    """

    filter: FilterConfig = field(default_factory=HorizontalFilterConfig)
    hidden_size: int = 64
    logit_dropout: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("logit_dropout", self.logit_dropout, "[0, 1)")


class GPRGNN(FilterNetwork, config=GPRGNNConfig):
    r"""*Adaptive Universal Generalized PageRank Graph Neural Network* (ICLR 2021).

    .. math:: \hat y = \sum_k \gamma_k P^k\, \mathrm{drop}\bigl(
              \mathrm{relu}(X W_1 + b_1) W_2 + b_2\bigr)

    A :class:`FilterNetwork` on the logits, with dropout on them as well.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gpr-gnn-authors@hidden_size=32", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    config: GPRGNNConfig  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        config: GPRGNNConfig | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        config = config or GPRGNNConfig()
        super().__init__(
            n_features,
            n_classes,
            config.filter.build(),
            hidden_size=config.hidden_size,
            dropout=config.dropout,
            filter_on="logits",
            generator=generator,
        )
        self.config = config  # pyright: ignore[reportIncompatibleVariableOverride]

    def activate(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    @property
    def filters_bias(self) -> bool:
        return True

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[FilterNetwork], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first = models[0]
        assert isinstance(first, GPRGNN)  # the models are those of one config
        encoders = [model.encoder for model in models if model.encoder is not None]
        hidden = linear_side_by_side(encoders, x, first.rate, generators, relu=True)
        heads = [model.head for model in models]
        logits = linear_side_by_side(heads, hidden, first.rate, generators)
        rate = first.config.logit_dropout if first.training else 0.0
        filters, kept = [model.filter for model in models], dropped(logits, rate, generators)
        return apply_filters(filters, operator, kept.flatten(1)).view(logits.shape)

    def filters_logits(self) -> bool:
        return True

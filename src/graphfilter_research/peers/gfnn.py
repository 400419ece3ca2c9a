"""gfNN (NT & Maehara 2019) and GLP (Li et al. 2019): a fixed filter, then an MLP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphfilter.filters import FilterConfig, PowerFilterConfig, apply_filters
from graphfilter.models import ModelConfig, SideBySide, SizedNetwork
from graphfilter.models.layers import Draws, Generators, Input, Linear, linear_side_by_side
from graphfilter.operators import Operator


@dataclass(frozen=True)
class FilteredFeaturesConfig(ModelConfig):
    """Of :class:`FilteredFeatures`.

    Parameters
    ----------
    dropout : float
        On the input of both linear layers.
    filter : FilterConfig
        Without learnable scalars.
    hidden_size : int
    """

    filter: FilterConfig = field(default_factory=PowerFilterConfig)
    hidden_size: int = 32


class FilteredFeatures(
    SizedNetwork[FilteredFeaturesConfig],
    SideBySide[FilteredFeaturesConfig],
    config=FilteredFeaturesConfig,
):
    r"""A multilayer perceptron on filtered features.

    .. math:: \hat y = \mathrm{relu}(f(P) X W_1 + b_1) W_2 + b_2

    With :math:`f(\lambda) = \lambda^2` this is gfNN (*Revisiting Graph Neural Networks: All We Have
    is Low-Pass Filters*), with :math:`1 / (1 + \alpha (1 - \lambda))` GLP (*Label Efficient
    Semi-Supervised Learning via Graph Filtering*, the AR filter). The filter runs on X W, which is
    narrower than X, so that dropout is on X before the filter.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> config = FilteredFeaturesConfig(filter=gf.filters.PowerFilterConfig(k=2))
    >>> system = gf.systems.System("averaged", "averaged", config, setting="own")
    >>> clf = gf.SystemClassifier(model=system, max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.encoder = Linear(n_features, config.hidden_size, generator)
        self.filter = config.filter.build()
        self.head = Linear(config.hidden_size, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls,
        models: Sequence[FilteredFeatures],
        operator: Operator,
        x: Input,
        generators: Generators,
    ) -> Tensor:
        rate = models[0].rate
        encoders = [model.encoder for model in models]
        biases = torch.stack([encoder.bias for encoder in encoders])
        columns = linear_side_by_side(encoders, x, rate, generators) - biases
        filters = [model.filter for model in models]
        filtered = apply_filters(filters, operator, columns.flatten(1)).view(columns.shape)
        hidden = torch.relu(filtered + biases)
        return linear_side_by_side([model.head for model in models], hidden, rate, generators)

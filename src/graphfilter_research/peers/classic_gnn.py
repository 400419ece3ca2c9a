"""ClassicGNN: GCN, GraphSAGE and GAT with residuals and norms (Luo et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    Weights,
    linear_side_by_side,
    matmul_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.util.errors import check_name
from graphfilter_research.peers.pieces import DegreeNetwork, Norm, attend, dropped, stacked

CONVOLUTIONS = ("gcn", "sage", "gat")
NORMS = ("none", "layer", "batch")


@dataclass(frozen=True)
class ClassicGNNConfig(ModelConfig):
    """Of :class:`ClassicGNN`.

    Parameters
    ----------
    dropout : float
        After every layer.
    convolution : {'gcn', 'sage', 'gat'}
    n_layers, hidden_size : int
    norm : {'none', 'layer', 'batch'}
        After every layer, before its relu.
    residual : bool
        Whether a linear map of each layer's input is added to its output.
    """

    convolution: str = "gcn"
    n_layers: int = 3
    hidden_size: int = 256
    norm: str = "batch"
    residual: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("convolution", self.convolution, CONVOLUTIONS)
        check_name("norm", self.norm, NORMS)


class _Layer(nn.Module):
    """The weights of one layer; all that multiplies its input is applied in one product."""

    def __init__(self, n_in: int, config: ClassicGNNConfig, generator: Draws) -> None:
        super().__init__()
        width, sage = config.hidden_size, config.convolution == "sage"
        self.neighbours = nn.Parameter(
            _drawn((n_in, width), None if sage else n_in + width, generator)
        )
        if sage:
            self.own = nn.Parameter(_drawn((n_in, width), None, generator))
        if config.convolution == "gat":
            self.score_to, self.score_of = (
                nn.Parameter(_drawn((width, 1), width + 1, generator)) for _ in range(2)
            )
        else:
            bias = _drawn((1, width), None, generator, n_in)[0]
            self.bias = nn.Parameter(bias if sage else torch.zeros(width))
        if config.residual:
            self.residual = Linear(n_in, width, generator)
        self.norm = Norm(config.norm, width)
        self.plain = ("neighbours", "own") if sage else ("neighbours",)
        self.has_residual = config.residual

    def joined(self) -> Weights:
        """Return the weights of its parts side by side."""
        parts = [getattr(self, name) for name in self.plain]
        biases = [torch.zeros_like(part[0]) for part in parts]
        if self.has_residual:
            parts.append(self.residual.weight)
            biases.append(self.residual.bias)
        return Weights(torch.cat(parts, dim=1), torch.cat(biases))


class ClassicGNN(DegreeNetwork[ClassicGNNConfig], config=ClassicGNNConfig):
    r"""*Classic GNNs are Strong Baselines* (NeurIPS 2024).

    .. math:: H_{\ell+1} = \mathrm{drop}\bigl(\mathrm{relu}(\mathrm{norm}(
              \mathrm{conv}_\ell(H_\ell) + H_\ell W_\ell + b_\ell))\bigr), \qquad
              \hat y = H_L W + b

    From the authors' code (LUOyk1999/tunedGNN: medium_graph/model.py, main.py), which takes
    PyTorch Geometric's layers on a graph with self loops: ``GCNConv``, ``SAGEConv`` (the mean
    includes the vertex itself) and ``GATConv`` of one head without a bias. They are written out
    here, so that several networks run side by side; a test compares each with its layer.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="sage-tuned@n_layers=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        widths = [graph.n_features] + [config.hidden_size] * (config.n_layers - 1)
        self.layers = nn.ModuleList(_Layer(n_in, config, generator) for n_in in widths)
        self.head = Linear(config.hidden_size, graph.n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[ClassicGNN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, still = models[0], [None] * len(models)
        config = first.config
        hidden: Tensor | None = None
        for layers in zip(*(m.layers for m in models), strict=True):
            if hidden is None:
                joined = linear_side_by_side([layer.joined() for layer in layers], x, 0.0, still)
            else:
                joined = _mapped(layers, hidden)
            seen, *others = joined.split(config.hidden_size, dim=2)
            new = first.convolve(operator, seen.contiguous(), layers)
            for other in others:
                new = new + other
            new = torch.relu(Norm.side_by_side([layer.norm for layer in layers], new))
            hidden = dropped(new, first.rate, generators)
        assert hidden is not None  # there is a layer
        return linear_side_by_side([m.head for m in models], hidden, 0.0, still)

    def convolve(self, operator: Operator, x: Tensor, layers: Sequence[_Layer]) -> Tensor:
        """Return what the neighbours give of projected columns (n, R, width)."""
        if self.config.convolution == "gat":
            # A head each: (n, R, width) are R heads already.
            to, of = (
                (x * stacked(layers, name)[..., 0]).sum(2) for name in ("score_to", "score_of")
            )
            return attend(operator, to, of, x)
        spread = operator @ x if self.config.convolution == "gcn" else self.mean(operator, x)
        return spread + stacked(layers, "bias")


def _mapped(layers: Sequence[_Layer], x: Tensor) -> Tensor:
    """Multiply the columns of each run by all its weights, as :meth:`_Layer.joined` has them."""
    first = layers[0]
    parts = [stacked(layers, name) for name in first.plain]
    if not first.has_residual:
        return matmul_side_by_side(x, torch.cat(parts, dim=2))
    residuals = [layer.residual for layer in layers]
    made = matmul_side_by_side(x, torch.cat([*parts, stacked(residuals, "weight")], dim=2))
    bias = stacked(residuals, "bias")
    return made + nn.functional.pad(bias, (made.shape[2] - bias.shape[1], 0))


def _drawn(
    shape: tuple[int, int], glorot: int | None, generator: Draws, n_in: int | None = None
) -> Tensor:
    """Draw uniform weights, within Glorot's bound of fan in and out or else ±1/√fan in."""
    bound = math.sqrt(6 / glorot) if glorot else 1 / math.sqrt(max(n_in or shape[0], 1))
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)

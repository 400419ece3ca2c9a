"""Pieces of the peers that run side by side: norms and dropout of (n, R, width)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.models.layers import Generators, draw_kept


def stacked(modules: Sequence[Any], name: str) -> Tensor:
    """Return the parameter of this name of R modules, one after another: (R, ...)."""
    return torch.stack([getattr(module, name) for module in modules])


class Norm(nn.Module):
    """Layer or batch normalisation of R runs side by side, with weights of each.

    Parameters
    ----------
    kind : {'layer', 'batch', 'none'}

    Shapes
    ------
    x, output : (n, R, width)
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.kind = kind
        if kind != "none":
            self.weight = nn.Parameter(torch.ones(width))
            self.bias = nn.Parameter(torch.zeros(width))
        if kind == "batch":
            self.register_buffer("mean", torch.zeros(width))
            self.register_buffer("variance", torch.ones(width))

    @staticmethod
    def side_by_side(norms: Sequence[Norm], x: Tensor) -> Tensor:
        """Apply each norm to the columns of its run."""
        first = norms[0]
        if first.kind == "none":
            return x
        if first.kind == "layer":
            normed = nn.functional.layer_norm(x, x.shape[2:])
        else:
            normed = _batch_normed(norms, x)
        return normed * stacked(norms, "weight") + stacked(norms, "bias")


def _batch_normed(norms: Sequence[Norm], x: Tensor, momentum: float = 0.1) -> Tensor:
    """Normalise by all vertices in training, else by what was seen of them, as torch does."""
    if norms[0].training:
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        unbiased = variance.detach() * (len(x) / max(len(x) - 1, 1))
        for run, norm in enumerate(norms):
            norm.mean.lerp_(mean[run].detach(), momentum)
            norm.variance.lerp_(unbiased[run], momentum)
    else:
        mean, variance = stacked(norms, "mean"), stacked(norms, "variance")
    return (x - mean) * (variance + 1e-5).rsqrt()


def dropped(x: Tensor, rate: float, generators: Generators) -> Tensor:
    """Apply dropout to (n, R, width), each run's from its own generator."""
    kept, scale = draw_kept(x.shape[::2], rate, generators, x.device)
    return x if kept is None else x * (kept.transpose(0, 1) * scale)

"""What networks of several papers share: norms, dropout, attention, sums over neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ConfigT, GraphNetwork, SideBySide
from graphfilter.models.layers import Generators
from graphfilter.operators import Operator
from graphfilter.operators.sparse import draw
from graphfilter.util.machine import blocks


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


def draw_kept(
    shape: Sequence[int], rate: float, generators: Generators, device: torch.device
) -> tuple[Tensor | None, float]:
    """Draw what dropout keeps, a Boolean array (R, *shape), and what to multiply it with.

    None where nothing is dropped.
    """
    drawn = draw(shape, rate, generators, device)
    return (None, 1.0) if drawn is None else (drawn.kept(), drawn.scale)


def dropped(x: Tensor, rate: float, generators: Generators) -> Tensor:
    """Apply dropout to (n, R, width), each run's from its own generator."""
    kept, scale = draw_kept(x.shape[::2], rate, generators, x.device)
    return x if kept is None else x * (kept.transpose(0, 1) * scale)


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


SLOPE = 0.2
# The most entries of messages in memory: further columns are computed in turn.
MOST_MESSAGES = 2**29


def attend(operator: Operator, to: Tensor, of: Tensor, values: Tensor) -> Tensor:
    r"""Return the averages of the neighbours' values, weighed by how they score.

    .. math:: h_v' = \sum_{u : P_{vu} \ne 0} \alpha_{vu} h_u, \qquad
              \alpha_{v\cdot} = \mathrm{softmax}_u\, \mathrm{leakyrelu}(\mathrm{to}_v +
              \mathrm{of}_u)

    Of the operator only its pattern counts. Sums are made row by row, never by atomic additions:
    the same input gives the same bits on a GPU too, and nothing waits for the device.

    Shapes
    ------
    to, of : (n, K) for K heads;  values, output : (n, K, d)

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.augmented_adjacency(path)
    >>> score = torch.zeros(3, 1)
    >>> attend(operator, score, score, torch.tensor([[[0.0]], [[3.0]], [[6.0]]])).flatten().tolist()
    [1.5, 3.0, 4.5]
    """
    csr = operator.csr()
    offsets, columns = csr.crow_indices(), csr.col_indices()
    n_heads, width = values.shape[1:]
    parts = [
        _Attention.apply(offsets, columns, to[:, k], of[:, k], values[:, k])
        for k in blocks(n_heads, MOST_MESSAGES // max(len(columns) * width, 1))
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, offsets: Tensor, columns: Tensor, to: Tensor, of: Tensor, values: Tensor
    ) -> Tensor:
        rows = _rows(offsets, columns)
        score = to[rows] + of[columns]
        rising = score > 0
        score = torch.where(rising, score, SLOPE * score)
        places = rows[:, None].expand_as(score)
        most = torch.full_like(to, -torch.inf).scatter_reduce_(0, places, score, "amax")
        weight = (score - most[rows]).exp_()
        weight /= _sums(offsets, weight)[rows]
        ctx.save_for_backward(offsets, columns, weight, rising, values)
        return _sums(offsets, weight[..., None] * values[columns])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        offsets, columns, weight, rising, values = ctx.saved_tensors
        rows = _rows(offsets, columns)
        # The pattern is symmetric: in this order its entries are those of the transpose.
        turned = columns.argsort(stable=True)
        of_weight = (grad[rows] * values[columns]).sum(2)
        of_score = weight * (of_weight - _sums(offsets, weight * of_weight)[rows])
        of_score = torch.where(rising, of_score, SLOPE * of_score)
        of_values = _sums(offsets, weight[turned][..., None] * grad[columns])
        return None, None, _sums(offsets, of_score), _sums(offsets, of_score[turned]), of_values


def _rows(offsets: Tensor, columns: Tensor) -> Tensor:
    """Return the row of every entry."""
    vertices = torch.arange(len(offsets) - 1, device=offsets.device)
    return vertices.repeat_interleave(offsets.diff(), output_size=len(columns))


def _sums(offsets: Tensor, entries: Tensor) -> Tensor:
    """Add the entries (m, ...) of each row: (n, ...)."""
    n, m = len(offsets) - 1, len(entries)
    places = torch.arange(m, dtype=offsets.dtype, device=offsets.device)
    ones = torch.ones(m, dtype=entries.dtype, device=entries.device)
    add = torch.sparse_csr_tensor(offsets, places, ones, (n, m), check_invariants=False)
    return (add @ entries.reshape(m, -1)).view(n, *entries.shape[1:])

"""Members that see more of a vertex than its features: their columns hold those of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from graphfilter.explain.members import Member
from graphfilter.graph import Features
from graphfilter.inputs import VIEWS, fix_view
from graphfilter.models import Fitted, Input, Network
from graphfilter.operators import to_tensor
from graphfilter.systems import Prepared, System

# Columns made of the vertex's own features alone.
_OF_ITS_OWN = ("features", "unit")


@dataclass
class LastColumns:
    """Columns of a view, made once for networks that see the same features one after another."""

    make: Callable[[Any], Features]
    device: Any
    _last: tuple[Tensor, Input] | None = field(default=None, repr=False)

    def __call__(self, features: Tensor) -> Input:
        if self._last is None or self._last[0] is not features:
            columns = self.make(features.cpu().numpy())
            self._last = features, to_tensor(columns, device=self.device)
        return self._last[1]


def member_of(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    *,
    weight: float = 1.0,
    temperature: float = 1.0,
    views: dict[str, LastColumns] | None = None,
) -> Member:
    """Return a trained network of a system as it predicts a graph.

    Where its view mixes the features of neighbours or the links of the graph into a vertex's
    columns, a column is not the vertex's own: the features themselves are hidden and shown, step
    by step, and the view made of them each time. What links alone say is then part of its position.

    ``views`` holds what the networks of one committee share; this one is added to it.
    """
    operator = prepared.operator(system.operator)
    kept = network.kept_view() if isinstance(network, Fitted) else None
    seen = prepared.seen_as(system.view, kept)
    member = Member.of(network, operator, seen.x, weight=weight, temperature=temperature)
    if system.view in _OF_ITS_OWN:
        return member

    if not VIEWS[system.view].reads_features:
        outputs = network.eval()(operator, seen.x)
        return replace(member, logits=lambda _: outputs, x=prepared.x, terms=())
    if isinstance(network, Fitted):
        # It reads rows one by one, so that one row is enough.
        make = fix_view(prepared.graph, system.view, seen.found, prepared.known)

        def rows(features: Tensor, vertex: int | slice = slice(None)) -> Tensor:
            columns = make(features.cpu().numpy())
            chosen = columns[[vertex]] if isinstance(vertex, int) else columns
            outputs = network(operator, to_tensor(chosen, device=prepared.device))
            return outputs[0] if isinstance(vertex, int) else outputs

        return replace(member, logits=rows, x=prepared.x, terms=(), logits_at=rows)
    views = {} if views is None else views
    if system.view not in views:
        views[system.view] = LastColumns(
            fix_view(prepared.graph, system.view, seen.found, prepared.known), prepared.device
        )
    columns = views[system.view]
    return replace(
        member, logits=lambda features: network(operator, columns(features)), x=prepared.x, terms=()
    )

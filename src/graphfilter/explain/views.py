"""Members that see more of a vertex than its features: their columns hold those of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from graphfilter.explain.members import Member
from graphfilter.inputs import VIEWS, fix_view
from graphfilter.models import Fitted, Network
from graphfilter.operators import to_tensor
from graphfilter.systems import Prepared, System

# Columns made of the vertex's own features alone.
_OF_ITS_OWN = ("features", "unit")


def member_of(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    *,
    weight: float = 1.0,
    temperature: float = 1.0,
) -> Member:
    """Return a trained network of a system as it predicts a graph.

    Where its view mixes the features of neighbours or the links of the graph into a vertex's
    columns, a column is not the vertex's own: the features themselves are hidden and shown, step
    by step, and the view made of them each time. What links alone say is then part of its place.
    """
    operator = prepared.operator(system.operator)
    kept = network.kept_view() if isinstance(network, Fitted) else None
    seen = prepared.seen_as(system.view, kept)
    member = Member.of(network, operator, seen.x, weight=weight, temperature=temperature)
    if system.view in _OF_ITS_OWN:
        return member

    if not VIEWS[system.view].reads_features:
        said = network.eval()(operator, seen.x)
        return replace(member, logits=lambda _: said, x=prepared.x, terms=())
    make = fix_view(prepared.graph, system.view, seen.found, prepared.known)

    def logits(features: Tensor) -> Tensor:
        columns = make(features.cpu().numpy())
        return network(operator, to_tensor(columns, device=prepared.device))

    return replace(member, logits=logits, x=prepared.x, terms=())

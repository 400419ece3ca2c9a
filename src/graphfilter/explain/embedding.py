"""Vertices as rows of numbers: what the head of a network reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError
from graphfilter.explain.members import Member
from graphfilter.runtime import own_torch_state


def embed_members(members: Sequence[Member]) -> NDArray[np.float32]:
    """Return the filtered hidden layers of the members that have one, side by side.

    Columns are scaled by the root of each member's weight, so that inner products of rows are the
    members' own, averaged by weight.
    """
    total = sum(member.weight for member in members)
    parts = []
    with own_torch_state(gradients=False):
        for member in members:
            if member.embed is None or not member.weight:
                continue
            hidden = member.embed().cpu().numpy()
            parts.append(hidden * np.float32((member.weight / total) ** 0.5))
    if not parts:
        raise ConfigError(
            "an embedding is the filtered hidden layer of a filter network; this model has none. "
            "Fit one of sgf, gpr, appnp, sgc, ..."
        )
    return np.concatenate(parts, axis=1)

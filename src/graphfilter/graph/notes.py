"""What a graph says of its edges, in sentences."""

from __future__ import annotations

import numpy as np

from graphfilter.graph.arrays import GraphArrays
from graphfilter.wording import count


def say_links(graph: GraphArrays) -> list[str]:
    """Return in sentences which way the edges go, and of what types they are."""
    sentences = []
    if graph.arcs is not None:
        sentences.append(say_arcs(int(np.count_nonzero(graph.arcs)), graph.n_edges))
    if graph.kinds is not None:
        sizes = np.count_nonzero(graph.kinds.values, axis=1) // 2
        pairs = zip(graph.kinds.names, sizes.tolist(), strict=True)
        sentences.append(f"Edge types: {', '.join(f'{name} {n:,}' for name, n in pairs)}.")
    return sentences


def say_arcs(n_arcs: int, n_edges: int) -> str:
    """Say how many edges go both ways."""
    both = count(n_arcs - n_edges, "edge goes", "edges go")
    return f"Directions kept: {count(n_arcs, 'arc')}; {both} both ways."

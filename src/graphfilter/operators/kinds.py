r"""The kinds of operators by name, each made of a graph.

============================ ================================================== =======
:func:`augmented_adjacency`  :math:`\tilde A = (D+I)^{-1/2}(A+I)(D+I)^{-1/2}`         [-1, 1]
:func:`adjacency`            :math:`\hat A = D^{-1/2} A D^{-1/2}`                    [-1, 1]
:func:`laplacian`            :math:`L = I - D^{-1/2} A D^{-1/2}`                     [0, 2]
:func:`coupling`             :math:`D_o^{-1/2} A D_i^{-1} A^\top D_o^{-1/2}`        [0, 1]
:func:`co_citation`          :math:`D_i^{-1/2} A^\top D_o^{-1} A D_i^{-1/2}`        [0, 1]
============================ ================================================== =======

The first three forget which way the edges go. Of the other two, one compares vertices by whom they
link to and one by who links to them, with :math:`D_o, D_i` the weights of the links out and in:
both are symmetric, so that every filter runs on them. In a graph without directions both are
:math:`\hat A^2`.

:func:`channels` is :math:`\tilde A` with the operators of its edge types and of its directions
beside it, for networks of several channels.

A vertex without such links counts as its own only neighbour (:math:`\hat A_{vv} = 1`,
:math:`L_{vv} = 0`), so that :math:`\hat A = I - L` on every graph and its frequency is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from graphfilter.data.graph import Graph
from graphfilter.operators.channels import CO_CITATION, COUPLING, Channels, kind_operators
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.kernels.gram_kernel import GramMatrix
from graphfilter.operators.operator import Operator, normalise
from graphfilter.util.errors import check_name

# A product of links is multiplied out where it has at most so many entries per vertex, or in all:
# on a CPU one product and its fused recurrence are then faster than two.
FORMED_PER_VERTEX = 16
FORMED_ALWAYS = 2**15


def augmented_adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\tilde A`, the adjacency with self loops, normalised: the paper's default.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.augmented_adjacency(path)
    >>> operator.n, operator.interval
    (3, (-1.0, 1.0))
    """
    return _undirected("augmented_adjacency", graph, **where)


def adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\hat A`, the normalised adjacency without self loops.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.adjacency(path)
    >>> operator.n, operator.interval
    (3, (-1.0, 1.0))
    """
    return _undirected("adjacency", graph, **where)


def laplacian(graph: Graph, **where: Any) -> Operator:
    """Make L, the symmetric normalised Laplacian.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.laplacian(path)
    >>> operator.n, operator.interval
    (3, (0.0, 2.0))
    """
    return _undirected("laplacian", graph, **where)


def coupling(graph: Graph, **where: Any) -> Operator:
    """Make the operator of bibliographic coupling: vertices are alike that link to the same.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> links = gf.Graph.from_edges([[0, 2], [1, 2]], directed=True)
    >>> (gf.operators.coupling(links) @ torch.eye(3)).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    return _two_steps("coupling", graph.out_links(), **where)


def co_citation(graph: Graph, **where: Any) -> Operator:
    """Make the operator of co-citation: vertices are alike that the same link to.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> links = gf.Graph.from_edges([[0, 1], [0, 2]], directed=True)
    >>> (gf.operators.co_citation(links) @ torch.eye(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    """
    return _two_steps("co_citation", graph.in_links(), **where)


def channels(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\tilde A` with one operator per edge type and per direction beside it."""
    whole = augmented_adjacency(graph, **where)
    parts = kind_operators(graph, whole, **where)
    if graph.directed:
        parts |= {COUPLING: coupling(graph, **where), CO_CITATION: co_citation(graph, **where)}
    return Channels(whole, parts)


OPERATORS: dict[str, Callable[..., Operator]] = {
    "augmented_adjacency": augmented_adjacency,
    "adjacency": adjacency,
    "laplacian": laplacian,
    "coupling": coupling,
    "co_citation": co_citation,
    "channels": channels,
}


def make_operator(kind: str, graph: Graph, **where: Any) -> Operator:
    """Make the operator of this name for a graph, ``device`` and ``dtype`` as given.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> gf.operators.make_operator("laplacian", path).interval
    (0.0, 2.0)
    """
    return OPERATORS[check_name("operator", kind, OPERATORS)](graph, **where)


def _undirected(kind: str, graph: Graph, **where: Any) -> Operator:
    return normalise(
        FactoredMatrix.from_graph(graph), torch.from_numpy(graph.degrees), kind, **where
    )


@made_to_be_kept
def _two_steps(
    kind: str, links: sp.csr_array, *, form_up_to: int | None = None, **where: Any
) -> Operator:
    r"""Make :math:`B B^\top` of :math:`B = D_o^{-1/2} A D_i^{-1/2}` for the links A of every row.

    The row sums of :math:`A D_i^{-1} A^\top` are :math:`D_o`, so this is its normalisation.
    It is multiplied out where it has at most ``form_up_to`` entries.
    """
    links = links.astype(np.float64)
    out, into = (np.asarray(links.sum(axis=axis)).ravel() for axis in (1, 0))
    scales = [1 / np.sqrt(np.where(sums == 0, 1, sums)) for sums in (out, into)]
    factor = sp.csr_array(sp.diags_array(scales[0]) @ links @ sp.diags_array(scales[1]))
    alone = (out == 0).astype(np.float64)
    # Every pair of links to one vertex fills an entry.
    pairs = np.square(np.bincount(factor.indices), dtype=np.float64).sum()
    if form_up_to is None:
        form_up_to = max(FORMED_PER_VERTEX * factor.shape[0], FORMED_ALWAYS)
    if pairs <= form_up_to:
        formed = sp.csr_array(factor @ factor.T + sp.diags_array(alone))
        return Operator(FactoredMatrix.from_scipy(formed), (0.0, 1.0), kind, **where)
    matrix = GramMatrix.from_scipy(factor, torch.from_numpy(alone))
    return Operator(matrix, (0.0, 1.0), kind, **where)

"""Graphs as PyTorch Geometric writes them: read, checked, and made into an operator."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import pad

from graphfilter.operators import Operator
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.operator import NORMALISED, DirectedOperator
from graphfilter.util.errors import GraphError, check_count, check_name

_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from sources to targets, with their weights; None where all are 1.

    Shapes
    ------
    sources, targets, weights : (m,)
    """

    sources: Tensor
    targets: Tensor
    weights: Tensor | None
    n: int


def read_edges(
    edge_index: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None
) -> Edges:
    """Return the edges of an edge index or an adjacency; raise where they are not a graph."""
    if num_nodes is not None:
        check_count("num_nodes", num_nodes, least=0, most=2**63)
    is_sparse_tensor = _is_sparse_tensor(edge_index)
    if not is_sparse_tensor and getattr(edge_index, "layout", None) not in _SPARSE:
        return _of_pairs(edge_index, edge_weight, num_nodes)
    shape = tuple(edge_index.sparse_sizes() if is_sparse_tensor else edge_index.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency must be square; got shape {shape}.")
    if edge_weight is not None:
        raise GraphError(
            "the weights of a sparse adjacency are its values; got an edge_weight too. Leave one "
            "of them out."
        )
    if num_nodes is not None and num_nodes != shape[0]:
        raise GraphError(
            f"the adjacency must be ({num_nodes}, {num_nodes}), one row per row of x; got "
            f"({shape[0]}, {shape[0]})."
        )
    if is_sparse_tensor:
        targets, sources, values = edge_index.coo()
    else:
        entries = edge_index.to_sparse_coo().coalesce()
        (targets, sources), values = entries.indices(), entries.values()
    return Edges(sources, targets, _checked_weights(values, len(sources)), shape[0])


def _is_sparse_tensor(edge_index: Any) -> bool:
    """Return whether this is a SparseTensor, PyTorch Geometric's own class."""
    return hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor)


def check_constant(*tensors: Tensor) -> None:
    """Raise where a gradient is asked of what an operator is made from."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise GraphError(
            "edge_weight must not require a gradient: an operator is a constant, and its weights "
            "would silently not be learned. Pass edge_weight.detach(), or learn them in a layer "
            "of PyTorch Geometric."
        )


def _of_pairs(edge_index: Any, edge_weight: Tensor | None, num_nodes: int | None) -> Edges:
    if not isinstance(edge_index, Tensor):
        raise GraphError(
            "edge_index must be a Tensor (2, m), a sparse adjacency or an Operator; got "
            f"{type(edge_index).__name__}."
        )
    whole = not (edge_index.is_floating_point() or edge_index.is_complex())
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or not whole:
        raise GraphError(
            "edge_index must be whole numbers of shape (2, m); got "
            f"{edge_index.dtype} of shape {tuple(edge_index.shape)}."
        )
    # Not a subclass, such as PyTorch Geometric's EdgeIndex, whose operations do more.
    pairs = edge_index.detach().as_subclass(Tensor).long()
    least, most = (int(pairs.min()), int(pairs.max())) if pairs.numel() else (0, -1)
    n = most + 1 if num_nodes is None else num_nodes
    if least < 0 or most >= n:
        raise GraphError(
            f"edge_index must number vertices 0..{n - 1}, one per row of x; got {least}..{most}."
        )
    return Edges(pairs[0], pairs[1], _checked_weights(edge_weight, pairs.shape[1]), n)


def _checked_weights(weights: Tensor | None, n_edges: int) -> Tensor | None:
    """Return the weights in float64; None where all are 1. Raise where they are impossible."""
    if weights is None:
        return None
    check_constant(weights)
    if weights.shape != (n_edges,):
        raise GraphError(
            f"edge_weight must be one number per edge ({n_edges},); got shape "
            f"{tuple(weights.shape)}."
        )
    values = weights.detach().double()
    if not bool((values.isfinite() & (values >= 0)).all()):
        raise GraphError("edge_weight must be finite and not negative; got other numbers.")
    return None if bool((values == 1).all()) else values


@made_to_be_kept
def prepare_operator(
    edge_index: Any,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    operator: str = "augmented_adjacency",
    dtype: torch.dtype = torch.float32,
) -> Operator:
    r"""Make the operator of a graph as PyTorch Geometric writes it, once for all layers.

    The numbers are those of its ``gcn_norm``: with weights :math:`w` of the edges that come in,

    .. math:: P_{ij} = \frac{w_{j \to i}}{\sqrt{d_i d_j}}, \qquad d_i = \sum_j w_{j \to i} .

    ``augmented_adjacency`` gives every vertex without a self loop one of weight 1, as
    ``add_self_loops=True`` does there. ``adjacency`` and ``laplacian`` leave out self loops; a
    vertex that no edge comes in to is its own only neighbour. Repeated edges add up. Edges may be
    directed; gradients are then exact too.

    Parameters
    ----------
    edge_index : Tensor (2, m), sparse Tensor (n, n) or SparseTensor (n, n)
        Edges from the first row to the second; or the transposed adjacency ``adj_t``, whose row i
        holds the edges that come in to i. A sparse tensor may be COO, CSR or CSC.
    edge_weight : Tensor (m,), optional
        Not negative. Operators are constants: it must not require a gradient.
    num_nodes : int, optional
        Otherwise the largest number in ``edge_index`` plus one.
    operator : {'augmented_adjacency', 'adjacency', 'laplacian'}
    dtype : torch.dtype
        Of the columns that are multiplied.

    Returns
    -------
    Operator
        On the device of the edges; a ``DirectedOperator`` where they are not symmetric.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> prepare_operator(path, operator="adjacency")
    Operator(adjacency, 3 vertices, spectrum in [-1, 1])
    """
    check_name("operator", operator, NORMALISED)
    edges = read_edges(edge_index, edge_weight, num_nodes)
    sources, targets, weights = edges.sources, edges.targets, edges.weights
    if weights is None:
        weights = torch.ones(len(sources), dtype=torch.float64, device=sources.device)
    loops = sources == targets
    degrees = torch.bincount(targets[~loops], weights[~loops], minlength=edges.n).double()
    own = torch.ones_like(degrees)
    if operator == "augmented_adjacency":
        own[sources[loops]] = weights[loops]
        degrees += own
    alone = degrees == 0
    scale = (degrees + alone).rsqrt()
    sign, interval = 1.0, (-1.0, 1.0)
    if operator == "augmented_adjacency":
        diagonal = torch.where(alone, 1.0, own * scale.square())
    elif operator == "adjacency":
        diagonal = alone.double()
    else:
        diagonal, sign, interval = 1 - alone.double(), -1.0, (0.0, 2.0)
    # As in gcn_norm, no edge goes out of a vertex that none comes in to.
    kept = ~(loops | alone[sources])
    places = torch.stack([targets[kept], sources[kept]])
    factors = {"scale": scale, "diagonal": diagonal, "sign": sign}
    matrix, mirror = _csr_both_ways(places, weights[kept], edges.n, factors)
    if _equal(matrix, mirror):
        return Operator(matrix, interval, operator, dtype=dtype)
    return DirectedOperator(matrix, mirror, interval, operator, dtype=dtype)


def _csr_both_ways(
    places: Tensor, weights: Tensor, n: int, factors: dict[str, Any]
) -> list[FactoredMatrix]:
    """Return the matrix with these entries at rows and columns (2, m), and its transpose.

    Repeated entries add up.
    """
    if places.device.type == "cpu":
        # Two to three times faster on a CPU than torch, which sorts; this counts.
        matrix = sp.coo_array((weights.numpy(), tuple(places.numpy())), shape=(n, n)).tocsr()
        both = [(m.indptr, m.indices, m.data) for m in (matrix, matrix.T.tocsr())]
    else:
        both = []
        for one in (places, places.flip(0)):
            entries = torch.sparse_coo_tensor(one, weights, (n, n)).coalesce()
            ends = torch.bincount(entries.indices()[0], minlength=n).cumsum(0)
            both.append((pad(ends, (1, 0)), entries.indices()[1], entries.values()))
    index = torch.int32 if max(len(both[0][1]), n) < 2**31 else torch.int64
    made = []
    for offsets, columns, values in both:
        values = torch.as_tensor(values)
        made.append(
            FactoredMatrix(
                torch.as_tensor(offsets).to(index), torch.as_tensor(columns).to(index), n,
                values if bool((values != 1).any()) else None, checked=True, **factors,
            )
        )  # fmt: skip
    return made


def _equal(a: FactoredMatrix, b: FactoredMatrix) -> bool:
    """Return whether two matrices of one scale and diagonal are the same, to rounding of sums."""
    same = torch.equal(a.offsets, b.offsets) and torch.equal(a.columns, b.columns)
    if not same or a.values is None or b.values is None:
        return same
    return torch.allclose(a.values, b.values, rtol=1e-12, atol=0.0)


class OperatorCache:
    """Keep one operator, and give it back for the very tensors it was made from.

    An operator is given back only where each tensor is the same *object* as then, not one that
    came to lie at its address, and has not been written to since (torch counts every write, in
    place or through a view; not those through ``.data`` or a numpy array of the same memory). Of
    anything else a new operator is made. Neither copied nor pickled with its layer.
    """

    def __init__(self) -> None:
        # What it was made from, the tensors themselves, held weakly, and the operator.
        self._entry: tuple[tuple[Any, ...], list[weakref.ref[Any]], Operator] | None = None

    def get(
        self, edge_index: Any, edge_weight: Tensor | None, setting: tuple[Any, ...],
        make: Callable[[], Operator],
    ) -> Operator:  # fmt: skip
        """Return the operator of a graph: the kept one, or the one that ``make`` makes.

        ``setting`` is what else it is made from.
        """
        parts = edge_index.coo() if _is_sparse_tensor(edge_index) else (edge_index,)
        tensors = [part for part in (*parts, edge_weight) if part is not None]
        if not all(isinstance(tensor, Tensor) for tensor in tensors):
            return make()
        check_constant(*tensors)
        # torch does not count writes to tensors that were made in inference mode.
        if any(tensor.is_inference() for tensor in tensors):
            self.clear()
            return make()
        state = (*setting, *((tensor._version, _address(tensor)) for tensor in tensors))
        if self._entry is not None:
            kept, seen, operator = self._entry
            if kept == state and all(a() is b for a, b in zip(seen, tensors, strict=True)):
                return operator
        operator = make()
        self._entry = state, [weakref.ref(tensor) for tensor in tensors], operator
        return operator

    def clear(self) -> None:
        """Forget the operator."""
        self._entry = None

    def __reduce__(self) -> tuple[type[OperatorCache], tuple[()]]:
        """Copy and pickle as an empty one."""
        return OperatorCache, ()


def _address(tensor: Tensor) -> int:
    """Return where a tensor lies, which assigning its ``.data`` changes; 0 of a sparse one."""
    return tensor.data_ptr() if tensor.layout == torch.strided else 0

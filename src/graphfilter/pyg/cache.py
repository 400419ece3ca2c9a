"""The operator of the last graph a layer has seen, for as long as that graph is unchanged."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from graphfilter.operators import Operator


@dataclass(frozen=True)
class _Seen:
    """A tensor as it was: the object itself, held weakly, and how often it had been written to."""

    tensor: weakref.ref[Any]
    version: int

    def is_still(self, tensor: Tensor) -> bool:
        return self.tensor() is tensor and self.version == tensor._version


@dataclass(frozen=True)
class _Entry:
    seen: tuple[_Seen, ...]
    n_vertices: int
    operator: Operator


class OperatorCache:
    """Keep one operator, and give it back for the very tensors it was made from.

    An operator is given back only where each tensor is the same *object* as then, not one that
    came to lie at its address, and has not been written to since (torch counts every write, in
    place or through a view; not those through ``.data`` or a numpy array of the same memory). Of
    anything else a new operator is made. Neither copied nor pickled with its layer.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None

    def get(
        self, tensors: tuple[Tensor, ...], n_vertices: int, make: Callable[[], Operator]
    ) -> Operator:
        """Return the operator of these tensors: the kept one, or the one that ``make`` makes."""
        entry = self._entry
        if (
            entry is not None
            and entry.n_vertices == n_vertices
            and len(entry.seen) == len(tensors)
            and not any(tensor.is_inference() for tensor in tensors)
            and all(seen.is_still(t) for seen, t in zip(entry.seen, tensors, strict=True))
        ):
            return entry.operator
        made = make()
        self.put(tensors, n_vertices, made)
        return made

    def put(self, tensors: tuple[Tensor, ...], n_vertices: int, operator: Operator) -> None:
        """Keep an operator; not of tensors made in inference mode, whose writes none counts."""
        if any(tensor.is_inference() for tensor in tensors):
            self._entry = None
            return
        seen = tuple(_Seen(weakref.ref(t), t._version) for t in tensors)
        self._entry = _Entry(seen, n_vertices, operator)

    def clear(self) -> None:
        """Forget the operator."""
        self._entry = None

    def __reduce__(self) -> tuple[type[OperatorCache], tuple[()]]:
        """Copy and pickle as an empty one."""
        return OperatorCache, ()

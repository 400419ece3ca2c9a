"""The operator of the last graph a layer has seen, for as long as that graph is unchanged."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphfilter.operators import Operator


@dataclass(frozen=True)
class _Seen:
    """A tensor as it was: the object itself, held weakly, where it lay and how often written to."""

    tensor: weakref.ref[Any]
    version: int
    address: int

    @classmethod
    def of(cls, tensor: Tensor) -> _Seen:
        return cls(weakref.ref(tensor), tensor._version, _address(tensor))

    def is_still(self, tensor: Tensor) -> bool:
        return (
            self.tensor() is tensor
            and self.version == tensor._version
            and self.address == _address(tensor)
        )


@dataclass(frozen=True)
class _Entry:
    seen: tuple[_Seen, ...]
    setting: tuple[Any, ...]
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
        self, tensors: tuple[Tensor, ...], setting: tuple[Any, ...], make: Callable[[], Operator]
    ) -> Operator:
        """Return the operator of these tensors: the kept one, or the one that ``make`` makes.

        ``setting`` is what else it is made from.
        """
        # torch does not count writes to tensors that were made in inference mode.
        countable = not any(tensor.is_inference() for tensor in tensors)
        entry = self._entry
        if (
            countable
            and entry is not None
            and entry.setting == setting
            and len(entry.seen) == len(tensors)
            and all(seen.is_still(t) for seen, t in zip(entry.seen, tensors, strict=True))
        ):
            return entry.operator
        made = make()
        self._entry = None
        if countable:
            self._entry = _Entry(tuple(map(_Seen.of, tensors)), setting, made)
        return made

    def clear(self) -> None:
        """Forget the operator."""
        self._entry = None

    def __reduce__(self) -> tuple[type[OperatorCache], tuple[()]]:
        """Copy and pickle as an empty one."""
        return OperatorCache, ()


def _address(tensor: Tensor) -> int:
    """Return where a tensor lies, which assigning its ``.data`` changes; 0 of a sparse one."""
    return tensor.data_ptr() if tensor.layout == torch.strided else 0

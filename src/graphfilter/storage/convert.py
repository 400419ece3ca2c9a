"""Typed conversion between dataclasses and what JSON holds.

msgspec does the work: it checks and converts a line in one pass in C, and takes plain dataclasses.

A field that is missing takes its default, so files of older versions load; a field that is unknown
is ignored, so files of newer versions load too. A field of a wrong type is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def convert(kind: type[T], content: Any) -> T:
    """Return content of JSON as ``kind``, a dataclass or a type; TypeError where it is not one.

    A whole number is taken for a float; a truth value is not taken for a number.

    >>> convert(list[float], [1, 2.5])
    [1.0, 2.5]
    >>> convert(dict[str, int], {"seed": True})
    Traceback (most recent call last):
    TypeError: $[...]: Expected `int`, got `bool`
    """
    import msgspec

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        raise TypeError(f"{where.strip('`') or '$'}: {problem}") from None


def matches(value: Any, kind: Any) -> bool:
    """Return whether content of JSON is of a type.

    >>> matches([1, 2.5], list[float]), matches([1, None], list[float]), matches(True, int)
    (True, False, False)
    """
    try:
        convert(kind, value)
    except TypeError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Return what JSON can hold of a value; numbers that are not finite become None.

    >>> to_plain({"a": (np.float32(0.5), float("nan"))})
    {'a': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

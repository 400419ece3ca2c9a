"""Arrays that are made of a graph, kept beside the arrays of its store.

A header says what they were made of and holds the checksum of every file; it is written last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, ModelFileError
from graphfilter.storage import convert, read_checked_json, write_checked_json
from graphfilter.store.arrays import StoredArray, map_array, verify_array
from graphfilter.store.checks import check_values

Array = NDArray[np.float32]
_log_warning = logging.getLogger("graphfilter").warning


@dataclass(frozen=True)
class KeptArrays:
    """What a header holds: the checksum of what the arrays were made of, and the arrays."""

    made_of: str = ""
    arrays: list[StoredArray] = field(default_factory=list)


def keep(
    path: Path,
    made_of: str,
    shapes: Sequence[tuple[int, ...]],
    write: Callable[[], list[StoredArray]],
    *,
    what: str,
) -> list[Array] | None:
    """Return the arrays of a header, mapped; made and written first where needed.

    Files that are damaged, or of something else, are replaced. None where they cannot be written.
    Both are logged.
    """
    try:
        if path.exists():
            return read_kept(path, made_of, shapes)
    except (DataFileError, ModelFileError, TypeError) as error:
        _log_warning("%s are made again: %s", what, error)
    try:
        # Until the header is written it is that of the files before, whose checksums then differ.
        arrays = write()
        write_checked_json(path, asdict(KeptArrays(made_of, arrays)))
    except (DataFileError, OSError) as error:
        _log_warning("%s are not kept: %s", what, error)
        return None
    return [map_array(path.parent, array) for array in arrays]


def read_kept(path: Path, made_of: str, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Map the arrays of a header; raise where they are of something else, or damaged."""
    kept = convert(KeptArrays, read_checked_json(path))
    if kept.made_of != made_of:
        raise DataFileError(path, "is of other features, edges or steps.")
    if [(array.dtype, array.shape) for array in kept.arrays] != [("<f4", s) for s in shapes]:
        raise DataFileError(path, f"must name {len(shapes)} arrays of the shape {shapes[:1]}.")
    found = [map_array(path.parent, array) for array in kept.arrays]
    for array in kept.arrays:
        verify_array(path.parent, array)
    try:
        for array in found:
            check_values({"features": array})
    except ValueError as error:
        raise DataFileError(path, f"{error}.") from None
    return found

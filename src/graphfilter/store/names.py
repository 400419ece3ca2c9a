"""The ids of a store's vertices: text in one file, where each begins in another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.storage import check_text
from graphfilter.store.arrays import StoredArray, map_array, writing_array

OFFSETS, BYTES = "names_offsets", "names_bytes"
_AT_ONCE = 1 << 16


class StoredNames(Sequence[Any]):
    """Ids that stay on disk: each is made a Python object when it is asked for.

    Equal to a tuple of the same ids.

    Parameters
    ----------
    offsets : int64 array (n + 1,)
    content : uint8 array
        UTF-8, in Arrow's layout: id i lies from ``offsets[i]`` to ``offsets[i + 1]``.
    are_json : bool
        Whether each is JSON of a number or text, not text itself.
    """

    def __init__(
        self, offsets: NDArray[np.int64], content: NDArray[np.uint8], *, are_json: bool = False
    ) -> None:
        self._offsets, self._content, self._are_json = offsets, content, are_json

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        i = range(len(self))[index]
        word = bytes(self._content[self._offsets[i] : self._offsets[i + 1]]).decode()
        return json.loads(word) if self._are_json else word

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._block(start, start + _AT_ONCE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{len(self):,} ids on disk>"

    def _block(self, start: int, stop: int) -> list[Any]:
        offsets = self._offsets[start : stop + 1].tolist()
        content = bytes(self._content[offsets[0] : offsets[-1]])
        first = offsets[0]
        words = [content[a - first : b - first].decode() for a, b in pairwise(offsets)]
        return [json.loads(word) for word in words] if self._are_json else words

    def check(self) -> None:
        """Raise a ValueError unless every id is text, or JSON of text or a number."""
        import pyarrow as pa

        for start in range(0, len(self), _AT_ONCE):
            try:
                self.as_arrow().slice(start, _AT_ONCE).validate(full=True)
                block = self._block(start, start + _AT_ONCE) if self._are_json else []
            except (pa.ArrowInvalid, ValueError, RecursionError):
                raise ValueError("ids must be readable") from None
            if not all(isinstance(name, str | int | float) for name in block):
                raise ValueError("ids must be text or numbers")
            check_text(block, "ids")

    def as_arrow(self) -> Any:
        """Return the text as Arrow sees it, without a copy."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._content)]
        return pa.LargeStringArray.from_buffers(len(self), *buffers[1:])


def map_names(folder: Path, arrays: dict[str, StoredArray]) -> StoredNames:
    """Map ids that are text into memory."""
    return StoredNames(*(map_array(folder, arrays[role]) for role in (OFFSETS, BYTES)))


def write_names(folder: Path, names: Sequence[Any]) -> tuple[dict[str, StoredArray], bool]:
    """Write ids of any plain kind; return the arrays, and whether they are JSON."""
    are_json = not all(isinstance(name, str) for name in names)
    with (
        writing_array(folder / f"{OFFSETS}.bin", "<i8") as offsets,
        writing_array(folder / f"{BYTES}.bin", "|u1") as content,
    ):
        last = 0
        offsets.append(np.zeros(1, dtype=np.int64))
        for start in range(0, len(names), _AT_ONCE):
            words = [_spell(name, are_json) for name in names[start : start + _AT_ONCE]]
            ends = last + np.cumsum([len(word) for word in words])
            offsets.append(ends)
            content.append(np.frombuffer(b"".join(words), dtype=np.uint8))
            last = int(ends[-1])
    return {OFFSETS: offsets.result, BYTES: content.result}, are_json


def write_text(folder: Path, text: Any) -> dict[str, StoredArray]:
    """Write a column of text, an Arrow string array in chunks, as ids."""
    import pyarrow as pa

    with (
        writing_array(folder / f"{OFFSETS}.bin", "<i8") as offsets,
        writing_array(folder / f"{BYTES}.bin", "|u1") as content,
    ):
        last = 0
        offsets.append(np.zeros(1, dtype=np.int64))
        for chunk in text.chunks if hasattr(text, "chunks") else [text]:
            for start in range(0, len(chunk), 16 * _AT_ONCE):
                # Sliced offsets begin where the slice does: a copy begins at 0.
                block = pa.concat_arrays(
                    [chunk.slice(start, 16 * _AT_ONCE).cast(pa.large_string())]
                )
                _, places, data = block.buffers()
                at = np.frombuffer(places, dtype=np.int64)[block.offset :][: len(block) + 1]
                offsets.append(last + at[1:] - at[0])
                if data is not None:
                    content.append(np.frombuffer(data, dtype=np.uint8)[at[0] : at[-1]])
                last += int(at[-1] - at[0])
    return {OFFSETS: offsets.result, BYTES: content.result}


def _spell(name: Any, are_json: bool) -> bytes:
    if isinstance(name, np.generic):
        name = name.item()
    if are_json and not isinstance(name, str | int | float):
        raise GraphError(
            f"ids must be text or numbers to be stored; got {name!r}. Rename the vertices with "
            "graph.replace(vertex_names=...)."
        )
    try:
        return (json.dumps(name) if are_json else str(name)).encode()
    except UnicodeEncodeError:
        raise GraphError(f"ids must be valid text to be stored; got {name!r}.") from None

"""Hashes of text, with which columns larger than a hash table's memory are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Texts that are hashed together; what is made of them on the way stays near the processor.
_AT_ONCE = 1 << 18
# Bytes of a text that are mixed word by word, for all texts at once; longer ones are rare, and the
# rest of each is hashed by itself.
_MIXED_BYTES = 512
_ODD = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
# Masks of the bytes of an 8-byte word that still belong to the text, by how many are left.
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def all_differ(text: Any) -> bool:
    """Return whether no two cells of a column of strings are equal; 8 bytes of memory per cell."""
    import pyarrow as pa

    hashes = np.empty(len(text), dtype=np.uint64)
    start = 0
    for piece in _pieces(text):
        hashes[start : start + len(piece)] = hash_text(piece)
        start += len(piece)
    hashes.sort()
    twice = hashes[:-1][hashes[1:] == hashes[:-1]]
    if not len(twice):
        return True
    # Equal hashes only suggest equal texts.
    words = pa.array([], pa.string())
    for piece in _pieces(text):
        suspects = piece.filter(pa.array(np.isin(hash_text(piece), twice)))
        words = pa.concat_arrays([words, suspects])
        if len(words.unique()) < len(words):
            return False
    return True


def _pieces(text: Any) -> Iterator[Any]:
    for chunk in text.chunks:
        for start in range(0, len(chunk), _AT_ONCE):
            yield chunk.slice(start, _AT_ONCE)


def hash_text(text: Any) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each of an Arrow array of strings."""
    import pyarrow.types as is_type

    if not len(text):
        return np.empty(0, dtype=np.uint64)
    _, places, data = text.buffers()
    kind = np.int64 if is_type.is_large_string(text.type) else np.int32
    offsets = np.frombuffer(places, dtype=kind)[text.offset :][: len(text) + 1].astype(np.int64)
    offsets, first, last = offsets - offsets[0], offsets[0], offsets[-1]
    # A word may be read beyond the last text.
    content = np.zeros(last - first + 8, dtype=np.uint8)
    if data is not None:
        content[:-8] = np.frombuffer(data, dtype=np.uint8)[first:last]
    return _mix(offsets[:-1], np.diff(offsets), content)


def _mix(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], content: NDArray[np.uint8]
) -> NDArray[np.uint64]:
    # Eight bytes from anywhere are one number.
    words = np.ndarray(len(content) - 7, "<u8", content.data, strides=(1,))
    state = lengths.astype(np.uint64) * _OTHER_ODD
    for k in range(0, min(int(lengths.max()), _MIXED_BYTES), 8):
        rows = np.flatnonzero(lengths > k)
        own = words[starts[rows] + k]
        own &= _MASKS[np.minimum(lengths[rows] - k, 8)]
        own ^= state[rows]
        own *= _ODD
        own ^= own >> _HALF
        state[rows] = own
    for row in np.flatnonzero(lengths > _MIXED_BYTES):
        rest = content[starts[row] + _MIXED_BYTES : starts[row] + lengths[row]]
        digest = hashlib.blake2b(rest.data, digest_size=8).digest()
        state[row] ^= np.uint64(int.from_bytes(digest, "little"))
    state *= _OTHER_ODD
    state ^= state >> _HALF
    state *= _ODD
    return state

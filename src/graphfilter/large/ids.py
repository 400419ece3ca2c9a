"""Ids and edges that do not fit in memory: their numbers, and their order.

The numbers of ids are found in memory that does not depend on how long the ids or the tables are.
DuckDB sorts, and sees no file of the user's: tables are read by this package's own readers and
handed over as Arrow batches, so that a store holds what the graph in memory would, and no name of a
file or column is ever part of a query.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.store import StoredNames
from graphfilter.util.errors import ConfigError, DataFileError, GraphError, GraphFilterError
from graphfilter.util.machine import blocks

if TYPE_CHECKING:
    import pyarrow as pa

# The engine's share of a build's memory; the rest is for the pieces of tables in flight.
ENGINE_SHARE = 0.6
LEAST_MEMORY = 512 << 20
ROWS_AT_ONCE = 1 << 20
# Bytes of a text that are mixed word by word, for all texts at once; longer ones are rare, and the
# rest of each is hashed by itself.
_MIXED_BYTES = 512
_ODD = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
# Masks of the bytes of an 8-byte word that still belong to the text, by how many are left.
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


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


def check_engine() -> None:
    """Raise where DuckDB is not installed."""
    from importlib.util import find_spec

    if find_spec("duckdb") is None:
        raise ConfigError(
            "building a graph store needs the package duckdb, which is not installed. Install "
            "it: pip install 'graphfilter[scale]'"
        )


def query_batches(
    text: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], folder: Path, memory: int
) -> Iterator[pa.RecordBatch]:
    """Yield what DuckDB makes of batches, which the query knows as ``batches``, piece by piece.

    It spills to ``folder`` beyond its share of ``memory`` bytes.
    """
    import duckdb
    import pyarrow as pa

    spill = folder / "spill"
    # What a killed process left there is of no use to anybody.
    shutil.rmtree(spill, ignore_errors=True)
    settings: dict[str, Any] = {
        "memory_limit": f"{int(memory * ENGINE_SHARE) >> 20}MiB",
        "temp_directory": str(spill),
        # Nothing is fetched, and no other file is opened.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
    }
    errors: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (GraphFilterError, KeyboardInterrupt) as error:
            errors.append(error)  # DuckDB would say it in its own words.
            raise

    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")
        # After the spill folder was set, which counts as outside.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.register("batches", pa.RecordBatchReader.from_batches(schema, watched()))
        yield from connection.sql(text).to_arrow_reader(ROWS_AT_ONCE)
    except (duckdb.Error, RuntimeError, OSError, ValueError) as error:
        if errors:
            raise errors[0] from None
        # What DuckDB says where a signal stopped it, as an error of its own or not.
        if isinstance(error, duckdb.InterruptException) or "interrupted" in str(error):
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        problem = " ".join(str(error).split())[:200]
        raise DataFileError(
            folder,
            f"DuckDB stopped ({problem}). Give more `memory` or free disk space, and run the same "
            "command again: finished steps are kept.",
        ) from None
    finally:
        connection.close()


MOST_VERTICES = 1 << 31
# Ids that are hashed together; what is made of them on the way stays near the processor.
_AT_ONCE = 1 << 18


class IdIndex:
    """Finds the numbers of ids, in 8 to 12 bytes of memory per id.

    Each id has a key of 64 bits: above, the first bits of its hash; below, its number. Keys are
    sorted, and a table says where those with the same first bits begin, one or two keys on
    average. A hash only proposes a number: the text of that id, which stays on disk, decides, so
    that ids with equal hashes are told apart and unknown ids are found to be so.

    Parameters
    ----------
    names : StoredNames
        The ids, by number.
    """

    def __init__(self, names: StoredNames, at_once: int = _AT_ONCE) -> None:
        n, self._at_once = len(names), at_once
        if n >= MOST_VERTICES:
            raise GraphError(f"a store holds at most {MOST_VERTICES - 1:,} vertices; got {n:,}.")
        self.names, self._text = names, names.as_arrow()
        self._low = np.uint64(n.bit_length())
        # The last key belongs to no id: searches end there.
        self._keys = np.full(n + 1, ~np.uint64(0))
        for rows in blocks(n, at_once):
            numbers = np.arange(rows.start, rows.stop, dtype=np.uint64)
            hashes = hash_text(self._text.slice(rows.start, len(numbers)))
            self._keys[rows] = hashes >> self._low << self._low | numbers
        self._keys.sort()
        n_bits = max(1, n.bit_length() - 1)
        self._shift = np.uint64(64 - n_bits)
        self._starts = np.empty(1 << n_bits, dtype=np.int32)
        for rows in blocks(1 << n_bits, at_once):
            first = np.arange(rows.start, rows.stop, dtype=np.uint64)
            self._starts[rows] = np.searchsorted(self._keys, first << self._shift)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, text: Any) -> NDArray[np.int64]:
        """Return the number of each id of an Arrow array of strings, -1 for an unknown one."""
        hashes = hash_text(text)
        at = self._starts[(hashes >> self._shift).astype(np.int64)].astype(np.int64)
        least = hashes >> self._low << self._low
        behind = np.flatnonzero(self._keys[at] < least)
        while len(behind):
            at[behind] += 1
            behind = behind[self._keys[at[behind]] < least[behind]]
        result = np.full(len(text), -1, dtype=np.int64)
        rows = np.arange(len(text))
        while len(rows):
            # Further from its hash than any number is a key of another hash.
            numbers = self._keys[at[rows]] - least[rows]
            near = numbers < len(self)
            rows, numbers = rows[near], numbers[near].astype(np.int64)
            equal = self._are(numbers, text, rows)
            result[rows[equal]] = numbers[equal]
            rows = rows[~equal]
            at[rows] += 1
        return result

    def first_repeated(self) -> tuple[int, int] | None:
        """Return the first number whose id an earlier one has too, and that one."""
        suspects, numbers = [np.empty(0, np.uint64)], ~(~np.uint64(0) << self._low)
        for rows in blocks(len(self) - 1, self._at_once):
            keys = self._keys[rows.start : rows.stop + 1]
            same = np.flatnonzero(keys[1:] >> self._low == keys[:-1] >> self._low)
            suspects += [keys[same] & numbers, keys[same + 1] & numbers]
        seen: dict[str, int] = {}
        for number in np.unique(np.concatenate(suspects)).tolist():
            earlier = seen.setdefault(self.names[number], number)
            if earlier != number:
                return number, earlier
        return None

    def _are(
        self, numbers: NDArray[np.int64], text: Any, rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether each of these numbers has the id that stands in its row of a text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = text if len(rows) == len(text) else text.take(pa.array(rows))
        proposed = self._text.take(pa.array(numbers))
        equal = pc.call_function("equal", [wanted.cast(pa.large_string()), proposed])
        return equal.to_numpy(zero_copy_only=False)

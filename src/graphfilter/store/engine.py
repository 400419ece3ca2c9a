"""DuckDB, which sorts what does not fit in memory; it sees no file of the user's.

Tables are read by this package's own readers and handed over as Arrow batches, so that a store
holds what the graph in memory would, and no name of a file or column is ever part of a query.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.errors import ConfigError, DataFileError, GraphFilterError

if TYPE_CHECKING:
    import pyarrow as pa

# The engine's share of a build's memory; the rest is for the pieces of tables in flight.
ENGINE_SHARE = 0.6
LEAST_MEMORY = 512 << 20
ROWS_AT_ONCE = 1 << 20


def check_engine() -> None:
    """Raise where DuckDB is not installed."""
    from importlib.util import find_spec

    if find_spec("duckdb") is None:
        raise ConfigError(
            "building a graph store needs the package duckdb, which is not installed. Install "
            "it: pip install 'graphfilter[scale]'"
        )


@contextmanager
def open_engine(folder: Path, memory: int) -> Generator[Engine]:
    """Yield an engine that spills to ``folder`` beyond its share of ``memory`` bytes."""
    import duckdb

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
    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")
        # After the spill folder was set, which counts as outside.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield Engine(connection)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        # What DuckDB says where a signal stopped it.
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        text = " ".join(str(error).split())[:200]
        raise DataFileError(
            folder,
            f"DuckDB stopped ({text}). Give more `memory` or free disk space, and run the same "
            "command again: finished steps are kept.",
        ) from None
    finally:
        connection.close()


class Engine:
    """Runs queries over streams of Arrow batches."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._failed: GraphFilterError | KeyboardInterrupt | None = None

    def add_stream(self, name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Let one query read batches by this name, as they come."""
        import pyarrow as pa

        def watched() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except (GraphFilterError, KeyboardInterrupt) as error:
                # DuckDB would say it in its own words.
                self._failed = error
                raise

        self._connection.register(name, pa.RecordBatchReader.from_batches(schema, watched()))

    def query(self, text: str) -> Iterator[pa.RecordBatch]:
        """Yield what a query gives, piece by piece."""
        import duckdb

        try:
            yield from self._connection.sql(text).to_arrow_reader(ROWS_AT_ONCE)
        except (duckdb.Error, OSError, ValueError):
            if self._failed is not None:
                raise self._failed from None
            raise

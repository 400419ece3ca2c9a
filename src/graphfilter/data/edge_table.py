"""A table of edges, read block by block: ids become numbers as they come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.cells import as_text, at_row, index_in, is_parquet, read_numbers
from graphfilter.data.columns import END_NAMES, WEIGHT_NAMES, Columns, choose_columns
from graphfilter.data.limits import EDGE_BYTES, Budget
from graphfilter.data.readers.formats import column_names, read_batches, reading_table
from graphfilter.errors import DataFileError
from graphfilter.graph.edges import count

if TYPE_CHECKING:
    import pyarrow as pa


def read_edge_table(
    path: Path, vertices: Path, ids: pa.Array, columns: Columns, allow_missing: bool
) -> tuple[NDArray[np.int32], NDArray[np.float32] | None, list[str]]:
    """Read the edges in one pass, turning ids into numbers block by block."""
    import pyarrow as pa

    roles, header, notes = _edge_roles(path, ids, columns)
    remedy = "Fix it, or name another column with --weight."
    pairs, weights = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    row, first_line = 0, 2 if header else 1
    budget = Budget(path)
    for batch in read_batches(path, list(roles.values()), header):
        budget.spend(EDGE_BYTES * len(batch), f"it lists {row + len(batch):,} edges or more")
        with reading_table(path):
            ends = [as_text(batch.column(roles[role])) for role in ("source", "target")]
        numbers = index_in(pa.chunked_array(ends), ids).reshape(2, -1)
        known = (numbers >= 0).all(axis=0)
        if not (allow_missing or known.all()):
            bad = int(known.argmin())
            name = ends[int(numbers[0, bad] >= 0)][bad].as_py()
            problem = f"vertex {name!r} is not in {vertices.name}. Add it to {vertices.name}, or "
            problem = problem if name else "an end of the edge is empty. Fill it in, or "
            raise at_row(path, row + bad, f"{problem}pass --allow-missing.", first_line=first_line)
        pairs.append(numbers.T[known])
        if (name := roles.get("weight")) is not None:
            with reading_table(path):
                column = pa.chunked_array([batch.column(name)])
                values = read_numbers(column, path, name, remedy, least=0, first_row=row)
            weights.append(values[known])
        row += len(batch)
    # Arrow keeps freed memory for itself, which would lie on top of what building the graph takes.
    pa.default_memory_pool().release_unused()
    if n_dropped := row - sum(map(len, pairs)):
        notes.append(f"{count(n_dropped, 'edge')} to vertices not in {vertices.name} dropped.")
    notes += [] if row else [f"{path.name} lists no edge."]
    return np.concatenate(pairs), np.concatenate(weights) if "weight" in roles else None, notes


def _edge_roles(
    path: Path, ids: pa.Array, columns: Columns
) -> tuple[dict[str, str], bool, list[str]]:
    """Find the two ends and the weight; return also whether the first line is a header."""
    import pyarrow as pa

    names = column_names(path)
    if len(names) < 2:
        problem = f"a table of edges must have two columns or more; got {len(names)}."
        raise DataFileError(path, f"{problem} Put commas between them in .csv, tabs in .tsv.")
    told = {"source": columns.source, "target": columns.target, "weight": columns.weight}
    keys = {name.strip().lower() for name in names}
    pair = next((pair for pair in END_NAMES if keys.issuperset(pair)), None)
    may_lack_header = not (pair or any(told.values()) or is_parquet(path))
    if may_lack_header and (index_in(pa.chunked_array([names[:2]]), ids) >= 0).any():
        note = f"{path.name} has no header: took its first two columns, and no other."
        return {"source": "f0", "target": "f1"}, False, [note]
    source, target = pair or names[:2]
    usual = {"source": (source, *names), "target": (target, *names), "weight": WEIGHT_NAMES}
    roles, notes = choose_columns(path, names, told, usual)
    return roles, True, notes

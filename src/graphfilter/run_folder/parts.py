"""What the vertices of a graph were in a run, by their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.run_folder.layout import PREDICTIONS_FILE
from graphfilter.run_folder.tables import excel_text, id_blocks

# The part of a vertex whose id is not in the run, and of all if its predictions are gone.
NEW, UNKNOWN = "new", "unknown"


def parts_in_run(folder: str | Path, graph: Graph) -> NDArray[np.str_]:
    """Return what each vertex was in a run: train, val, test, unlabelled, unused, or new.

    Vertices are recognised by their ids; those of a graph without names are their numbers. Where
    the ``predictions.csv`` of the run was removed or edited since, all are unknown.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    found = read_parts(folder)
    if found is None:
        return np.full(graph.n_vertices, UNKNOWN, dtype="<U10")
    known, parts = found
    words = np.array([*parts.dictionary.to_pylist(), NEW], dtype="<U10")
    codes = np.append(parts.indices.to_numpy(), len(words) - 1)
    # The ids of the run are hashed once, for all blocks.
    ids = pa.chunked_array([pa.array(block, pa.string()) for _, block in id_blocks(graph)])
    place = pc.index_in(ids, value_set=known).combine_chunks()
    if place.null_count:
        # As they are written for a spreadsheet.
        missing = pc.is_null(place)
        safe = pa.array(map(excel_text, ids.filter(missing).to_pylist()), pa.string())
        place = pc.replace_with_mask(place, missing, pc.index_in(safe, value_set=known))
    return words[codes[place.fill_null(-1).to_numpy(zero_copy_only=False)]]


def read_parts(folder: str | Path) -> tuple[Any, Any] | None:
    """Return the ids of a run and their parts, as Arrow arrays; None where they cannot be read."""
    import pyarrow as pa
    from pyarrow import csv

    only = csv.ConvertOptions(
        include_columns=["id", "part"], column_types={"id": pa.string(), "part": pa.string()}
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    try:
        path = Path(folder) / PREDICTIONS_FILE
        with csv.open_csv(path, convert_options=only, parse_options=parsing) as reader:
            table = reader.read_all()
    except (pa.ArrowException, OSError):
        return None
    parts = table["part"].combine_chunks().fill_null(UNKNOWN).dictionary_encode()
    return table["id"].combine_chunks(), parts

"""Vertex types in one table: accounts and devices, say, each with columns of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.tables.cells import as_text, distinct
from graphfilter.tables.words import find_blanks
from graphfilter.wording import count

# More than this is a column of other content.
MOST_KINDS = 16


@dataclass(frozen=True, eq=False)
class VertexKinds:
    """The type of each vertex of a table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kinds = VertexKinds.of(pa.chunked_array([["account", "device", "account"]]))
    >>> cells, owners = kinds.own(pa.chunked_array([["17.50", "", "3.00"]]))
    >>> cells.to_pylist(), owners
    (['17.50', '3.00'], ('account',))
    """

    names: list[str]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, column: Any) -> VertexKinds:
        names, codes = distinct(as_text(column, trim=True))
        if len(names) > MOST_KINDS:
            raise GraphError(
                f"vertices must have at most {MOST_KINDS} types; got {count(len(names), 'type')}, "
                f"such as {names[0]!r}. Name another column with `vertex_kind`."
            )
        return cls(names, codes)

    def own(self, column: Any) -> tuple[Any, tuple[str, ...]]:
        """Return the cells of the kinds that have a column, and these; () where all or none do."""
        import pyarrow as pa

        known = self.codes[~find_blanks(column)]
        has = np.bincount(known, minlength=len(self.names)) > 0
        if has.all() or not has.any():
            return column, ()
        owners = tuple(name for name, own in zip(self.names, has.tolist(), strict=True) if own)
        return column.filter(pa.array(has[self.codes])), tuple(sorted(owners))

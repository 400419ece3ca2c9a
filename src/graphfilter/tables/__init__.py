"""Tables of edges and vertices: files and frames read, their columns understood and encoded.

A table is a :class:`~.source.TableSource`: a file (:mod:`.formats` lists the formats by suffix) or
a frame in memory (:mod:`.frames`). Everything else is the same for both, and knows no Graph:
:mod:`.build` gives the parts that ``graph`` makes one of.
"""

from graphfilter.tables.build import GraphParts, read_parts, telling
from graphfilter.tables.cells import only_in
from graphfilter.tables.columns import (
    ID_NAMES,
    LABEL_NAMES,
    SPLIT_NAMES,
    Columns,
    choose_merge,
)
from graphfilter.tables.edges import (
    EdgeRoles,
    Elsewhere as Elsewhere,
    check_ends,
    note_rows,
    read_edge_blocks,
)
from graphfilter.tables.encoded import KINDS, EncodedColumn, Features, with_gaps
from graphfilter.tables.encoding import TableEncoder
from graphfilter.tables.entries import encode_column
from graphfilter.tables.formats import TABLES, check_not_same, open_pair, open_table
from graphfilter.tables.frames import FrameTable, read_frames
from graphfilter.tables.hashes import hash_text
from graphfilter.tables.labels import UNLABELLED, encode_labels, match_labels
from graphfilter.tables.mismatch import note_near_ids
from graphfilter.tables.named_columns import (
    LARGEST_TARGET,
    read_groups,
    read_label_columns,
    read_number_column,
    read_times,
)
from graphfilter.tables.parquet_table import ParquetTable
from graphfilter.tables.roles import choose_edge_roles
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.tables.text_format import TextOptions
from graphfilter.tables.times import Times, parse_moment
from graphfilter.tables.unused import say_unused
from graphfilter.tables.vertices import (
    VertexColumns,
    check_named,
    check_rows,
    read_attributes,
    repeated_id,
)

__all__ = [
    "ID_NAMES",
    "KINDS",
    "LABEL_NAMES",
    "LARGEST_TARGET",
    "SPLIT_NAMES",
    "TABLES",
    "UNLABELLED",
    "Columns",
    "EdgeRoles",
    "EncodedColumn",
    "Features",
    "FrameTable",
    "GraphParts",
    "ParquetTable",
    "TableEncoder",
    "TableSource",
    "TextOptions",
    "Times",
    "VertexColumns",
    "at_row",
    "check_ends",
    "check_named",
    "check_not_same",
    "check_rows",
    "choose_edge_roles",
    "choose_merge",
    "encode_column",
    "encode_labels",
    "hash_text",
    "match_labels",
    "note_near_ids",
    "note_rows",
    "only_in",
    "open_pair",
    "open_table",
    "parse_moment",
    "read_attributes",
    "read_edge_blocks",
    "read_frames",
    "read_groups",
    "read_label_columns",
    "read_number_column",
    "read_parts",
    "read_times",
    "reading_table",
    "repeated_id",
    "say_unused",
    "telling",
    "with_gaps",
]

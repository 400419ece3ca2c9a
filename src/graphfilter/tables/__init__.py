"""Tables of edges and vertices: files and frames read, their columns understood and encoded.

A table is a :class:`~.source.TableSource`: a file (:mod:`.formats` lists the formats by suffix) or
a frame in memory (:mod:`.frames`). Everything else is the same for both, and knows no Graph:
:mod:`.build` gives the parts that ``graph`` makes one of.
"""

from graphfilter.tables.build import (
    GraphParts,
    asked_features,
    read_attributes,
    read_parts,
    telling,
)
from graphfilter.tables.cells import only_in
from graphfilter.tables.columns import (
    ID_NAMES,
    LABEL_NAMES,
    SPLIT_NAMES,
    Columns,
    choose_merge,
    is_index,
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
from graphfilter.tables.roles import choose_edge_roles, guess_vertex_roles, settle_vertex_roles
from graphfilter.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.tables.suggestions import suggest
from graphfilter.tables.text_format import TextOptions
from graphfilter.tables.times import Times, parse_moment
from graphfilter.tables.unused import say_unused

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
    "asked_features",
    "at_row",
    "check_ends",
    "check_not_same",
    "choose_edge_roles",
    "choose_merge",
    "encode_column",
    "encode_labels",
    "guess_vertex_roles",
    "hash_text",
    "is_index",
    "match_labels",
    "note_near_ids",
    "note_rows",
    "only_in",
    "open_pair",
    "open_table",
    "parse_moment",
    "place_of_row",
    "read_attributes",
    "read_edge_blocks",
    "read_frames",
    "read_groups",
    "read_label_columns",
    "read_number_column",
    "read_parts",
    "read_times",
    "reading_table",
    "say_unused",
    "settle_vertex_roles",
    "suggest",
    "telling",
    "with_gaps",
]

"""Tables of edges and vertices: files and frames read, their columns understood and encoded.

A table is a :class:`~.source.TableSource`: a file (:mod:`.formats` lists the formats by suffix) or
a frame in memory (:mod:`.frames`). Everything else is the same for both, and knows no Graph:
:mod:`.build` gives the parts that ``graph`` makes one of.
"""

from graphfilter.tables.build import (
    GraphParts as GraphParts,
    read_parts as read_parts,
    telling as telling,
)
from graphfilter.tables.cells import only_in as only_in
from graphfilter.tables.columns import (
    ID_NAMES as ID_NAMES,
    LABEL_NAMES as LABEL_NAMES,
    SPLIT_NAMES as SPLIT_NAMES,
    Columns as Columns,
    choose_merge as choose_merge,
)
from graphfilter.tables.edges import (
    EdgeRoles as EdgeRoles,
    Elsewhere as Elsewhere,
    check_ends as check_ends,
    note_rows as note_rows,
    read_edge_blocks as read_edge_blocks,
)
from graphfilter.tables.encoded import (
    KINDS as KINDS,
    EncodedColumn as EncodedColumn,
    Features as Features,
    with_gaps as with_gaps,
)
from graphfilter.tables.encoding import TableEncoder as TableEncoder
from graphfilter.tables.entries import encode_column as encode_column
from graphfilter.tables.formats import (
    TABLES as TABLES,
    check_not_same as check_not_same,
    open_pair as open_pair,
    open_table as open_table,
)
from graphfilter.tables.frames import FrameTable as FrameTable, read_frames as read_frames
from graphfilter.tables.hashes import hash_text as hash_text
from graphfilter.tables.labels import (
    UNLABELLED as UNLABELLED,
    encode_labels as encode_labels,
    match_labels as match_labels,
)
from graphfilter.tables.mismatch import note_near_ids as note_near_ids
from graphfilter.tables.named_columns import (
    LARGEST_TARGET as LARGEST_TARGET,
    read_groups as read_groups,
    read_label_columns as read_label_columns,
    read_number_column as read_number_column,
    read_times as read_times,
)
from graphfilter.tables.parquet_table import ParquetTable as ParquetTable
from graphfilter.tables.roles import choose_edge_roles as choose_edge_roles
from graphfilter.tables.source import (
    TableSource as TableSource,
    reading_table as reading_table,
)
from graphfilter.tables.text_format import TextOptions as TextOptions
from graphfilter.tables.times import parse_moment as parse_moment
from graphfilter.tables.unused import say_unused as say_unused
from graphfilter.tables.vertices import (
    VertexColumns as VertexColumns,
    check_named as check_named,
    check_rows as check_rows,
    read_attributes as read_attributes,
    repeated_id as repeated_id,
)

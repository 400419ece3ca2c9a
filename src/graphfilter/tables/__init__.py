"""Tables of edges and vertices: files and frames read, their columns understood and encoded.

A table is a :class:`~.source.TableSource`: a file (:mod:`.formats` lists the formats by suffix) or
a frame in memory (:mod:`.frames`). Everything else is the same for both, and knows no Graph:
:mod:`.build` gives the parts that ``graph`` makes one of.
"""

from graphfilter.tables.build import (
    GraphParts as GraphParts,
    VertexColumns as VertexColumns,
    check_named as check_named,
    check_rows as check_rows,
    read_attributes as read_attributes,
    read_frames as read_frames,
    read_parts as read_parts,
    repeated_id as repeated_id,
    telling as telling,
)
from graphfilter.tables.cells import hash_text as hash_text, only_in as only_in
from graphfilter.tables.columns import (
    KINDS as KINDS,
    EncodedColumn as EncodedColumn,
    Features as Features,
    with_gaps as with_gaps,
)
from graphfilter.tables.dates import parse_moment as parse_moment
from graphfilter.tables.edges import (
    Elsewhere as Elsewhere,
    check_ends as check_ends,
    note_near_ids as note_near_ids,
    note_rows as note_rows,
    read_edge_blocks as read_edge_blocks,
)
from graphfilter.tables.encoder import TableEncoder as TableEncoder
from graphfilter.tables.entries import encode_column as encode_column
from graphfilter.tables.formats import (
    TABLES as TABLES,
    FrameTable as FrameTable,
    check_not_same as check_not_same,
    open_pair as open_pair,
    open_table as open_table,
)
from graphfilter.tables.labels import (
    LARGEST_TARGET as LARGEST_TARGET,
    UNLABELLED as UNLABELLED,
    encode_labels as encode_labels,
    match_labels as match_labels,
    read_groups as read_groups,
    read_label_columns as read_label_columns,
    read_number_column as read_number_column,
    read_times as read_times,
)
from graphfilter.tables.parquet_files import ParquetTable as ParquetTable
from graphfilter.tables.roles import (
    ID_NAMES as ID_NAMES,
    LABEL_NAMES as LABEL_NAMES,
    SPLIT_NAMES as SPLIT_NAMES,
    Columns as Columns,
    EdgeRoles as EdgeRoles,
    choose_edge_roles as choose_edge_roles,
    choose_merge as choose_merge,
)
from graphfilter.tables.source import (
    TableSource as TableSource,
    reading_table as reading_table,
)
from graphfilter.tables.suggestions import say_unused as say_unused
from graphfilter.tables.text_files import TextOptions as TextOptions

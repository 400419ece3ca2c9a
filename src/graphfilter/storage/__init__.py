"""Files on disk: written atomically, read without ever running code. Knows no graph and no model.

What belongs here is whatever reads or writes bytes and could serve another project as it is:

- :mod:`.atomic`: the one writer, which every other file of the package goes through;
- :mod:`.places`: whether a file or folder may be written to;
- :mod:`.locks`: locks that end with their process; :mod:`.scratch`: folders that do;
- :mod:`.convert`: dataclasses from JSON and back, types checked;
- :mod:`.json_files`, :mod:`.lines`, :mod:`.tensors`: the formats.
"""

from graphfilter.storage.arrays import (
    PARSE_ERRORS,
    AnyPath,
    check_text,
    load_arrays,
    open_archive,
    open_member,
    reading,
)
from graphfilter.storage.atomic import atomic_file, check_target, make_folder
from graphfilter.storage.convert import convert, matches, to_plain
from graphfilter.storage.json_files import (
    CHECKSUM,
    changed_file,
    checksum_of,
    read_checked_json,
    read_json,
    sha256_of,
    write_checked_json,
    write_json,
)
from graphfilter.storage.limits import EDGE_BYTES, VERTEX_BYTES, Budget
from graphfilter.storage.lines import (
    LinesFile,
    append_lines,
    find_lines,
    one_writer,
    pack_lines,
    read_lines,
    unpack_lines,
)
from graphfilter.storage.locks import in_use, locked
from graphfilter.storage.places import LOCK_FILE, OWN, check_file, files_in
from graphfilter.storage.rows import RowsFile
from graphfilter.storage.scratch import scratch_folder
from graphfilter.storage.tensors import read_tensors, tensors_under, write_tensors

__all__ = [
    "CHECKSUM",
    "EDGE_BYTES",
    "LOCK_FILE",
    "OWN",
    "PARSE_ERRORS",
    "VERTEX_BYTES",
    "AnyPath",
    "Budget",
    "LinesFile",
    "RowsFile",
    "append_lines",
    "atomic_file",
    "changed_file",
    "check_file",
    "check_target",
    "check_text",
    "checksum_of",
    "convert",
    "files_in",
    "find_lines",
    "in_use",
    "load_arrays",
    "locked",
    "make_folder",
    "matches",
    "one_writer",
    "open_archive",
    "open_member",
    "pack_lines",
    "read_checked_json",
    "read_json",
    "read_lines",
    "read_tensors",
    "reading",
    "scratch_folder",
    "sha256_of",
    "tensors_under",
    "to_plain",
    "unpack_lines",
    "write_checked_json",
    "write_json",
    "write_tensors",
]

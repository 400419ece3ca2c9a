"""Files on disk: written atomically, read without ever running code. Knows no graph and no model.

What belongs here is whatever reads or writes bytes and could serve another project as it is:

- :mod:`.atomic`: the one writer, which every other file of the package goes through;
- :mod:`.places`: whether a file or folder may be written to;
- :mod:`.locks`: locks that end with their process; :mod:`.scratch`: folders that do;
- :mod:`.convert`: dataclasses from JSON and back, types checked;
- :mod:`.json_files`, :mod:`.lines`, :mod:`.tensors`: the formats.
"""

from graphfilter.storage.arrays import (
    PARSE_ERRORS as PARSE_ERRORS,
    AnyPath as AnyPath,
    check_text as check_text,
    load_arrays as load_arrays,
    open_archive as open_archive,
    open_member as open_member,
    read_array_header as read_array_header,
    reading as reading,
)
from graphfilter.storage.atomic import (
    atomic_file as atomic_file,
    check_target as check_target,
    make_folder as make_folder,
)
from graphfilter.storage.convert import convert as convert, matches as matches, to_plain as to_plain
from graphfilter.storage.json_files import (
    CHECKSUM as CHECKSUM,
    changed_file as changed_file,
    checksum_of as checksum_of,
    read_checked_json as read_checked_json,
    read_json as read_json,
    sha256_of as sha256_of,
    write_checked_json as write_checked_json,
    write_json as write_json,
)
from graphfilter.storage.limits import (
    EDGE_BYTES as EDGE_BYTES,
    VERTEX_BYTES as VERTEX_BYTES,
    Budget as Budget,
)
from graphfilter.storage.lines import (
    LinesFile as LinesFile,
    append_lines as append_lines,
    find_lines as find_lines,
    one_writer as one_writer,
    pack_lines as pack_lines,
    read_lines as read_lines,
    unpack_lines as unpack_lines,
)
from graphfilter.storage.locks import in_use as in_use, locked as locked
from graphfilter.storage.places import (
    LOCK_FILE as LOCK_FILE,
    OWN as OWN,
    check_file as check_file,
    files_in as files_in,
)
from graphfilter.storage.rows import RowsFile as RowsFile
from graphfilter.storage.scratch import scratch_folder as scratch_folder
from graphfilter.storage.tensors import (
    read_tensors as read_tensors,
    tensors_under as tensors_under,
    write_tensors as write_tensors,
)

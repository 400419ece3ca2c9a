"""Files on disk: written atomically, read without ever running code. Knows no graph and no model.

:mod:`.files` has the atomic writer, JSON and JSON lines; :mod:`.tensors` has safetensors.
"""

from graphfilter.storage.files import (
    append_lines,
    read_json,
    read_lines,
    whole_file,
    whole_lines,
    write_json,
)
from graphfilter.storage.tensors import read_tensors, write_tensors

__all__ = [
    "append_lines",
    "read_json",
    "read_lines",
    "read_tensors",
    "whole_file",
    "whole_lines",
    "write_json",
    "write_tensors",
]

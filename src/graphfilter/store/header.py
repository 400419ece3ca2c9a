"""The header of a store: what its arrays are, and everything that is not an array."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from graphfilter.errors import DataFileError, ModelFileError
from graphfilter.storage import convert, read_checked_json, write_checked_json
from graphfilter.store.arrays import StoredArray
from graphfilter.version import __version__

HEADER_FILE = "store.json"
BUILD_FOLDER = "building"
# Version of the folder's layout: a change counts up, and earlier ones are still read.
FORMAT = 1
REBUILD = "Build it again with graphfilter store."


@dataclass(frozen=True)
class Header:
    """What a store holds.

    Attributes
    ----------
    format : int
        Of the layout; see ``FORMAT``.
    made_by : str
        The version of graphfilter that wrote it.
    name : str
    n_vertices, n_entries : int
        Each edge is two entries.
    arrays : dict of StoredArray
        By their role: indptr, indices, weights, arcs, kinds, features (or features_indptr,
        features_indices, features_values of n_features columns), labels, names_offsets,
        names_bytes, split_train, split_val, split_test.
    names_are_json : bool
        Whether ids are other than text, and each is kept as JSON.
    classes, classes_type : list, str
        The names of the classes, and numpy's type of them.
    split_rules, split_sizes : list
        Of each fixed split, the rule and the sizes of its parts.
    encoder, columns : dict or None
        How the table of vertices became features, and which columns were named.
    """

    format: int = 0
    made_by: str = ""
    name: str = "graph"
    n_vertices: int = 0
    n_entries: int = 0
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    n_features: int = 0
    feature_names: list[str] | None = None
    names_are_json: bool = False
    classes: list[bool | int | float | str] = field(default_factory=list)
    classes_type: str = "int64"
    kinds: list[str] = field(default_factory=list)
    split_rules: list[str] = field(default_factory=list)
    split_sizes: list[list[int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    encoder: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    @property
    def n_bytes(self) -> int:
        return sum(array.n_bytes for array in self.arrays.values())


def is_store(path: str | PathLike[str]) -> bool:
    """Return whether a path is a store, finished or not."""
    return any((Path(path) / name).exists() for name in (HEADER_FILE, BUILD_FOLDER))


def write_header(folder: Path, header: Header) -> None:
    """Write the header, which makes a folder of arrays a store."""
    write_checked_json(folder / HEADER_FILE, asdict(header))


def read_header(path: str | PathLike[str]) -> Header:
    """Read and check the header of a store; its arrays are not looked at."""
    folder = Path(path)
    file = folder / HEADER_FILE
    if not file.is_file():
        if (folder / BUILD_FOLDER).is_dir():
            raise DataFileError(
                folder,
                "is an unfinished store; run the same graphfilter store command again to finish "
                "it.",
            )
        what = "there is no such folder" if not folder.exists() else f"it has no {HEADER_FILE}"
        raise DataFileError(folder, f"must be a graph store; {what}. {REBUILD}")
    try:
        content = read_checked_json(file)
        found = content.get("format")
        # Before anything else: another layout may have other fields.
        if found != FORMAT:
            raise DataFileError(folder, _other_format(found, content.get("made_by")))
        return convert(Header, content)
    except ModelFileError as error:
        problem = str(error).removeprefix(f"{file}: ").partition(" Restore")[0]
        raise DataFileError(file, f"{problem.rstrip('.')}. {REBUILD}") from None
    except TypeError as error:
        raise DataFileError(file, f"must describe a graph store ({error}). {REBUILD}") from None


def _other_format(found: Any, made_by: Any) -> str:
    known = f"graphfilter {__version__} reads stores of format {FORMAT}"
    if isinstance(found, int) and found > FORMAT:
        return f"{known}; this one is of format {found}, of {made_by}. Install that version."
    return f"{known}; this one says {found!r}. {REBUILD}"

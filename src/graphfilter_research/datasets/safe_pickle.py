"""A pickle looked through, opcode by opcode, before anything in it is built.

Refused are opcodes that no genuine file has, lengths that the file does not hold, and whatever
would let a small file take much memory or time: memo numbers far beyond the file, whole numbers
of more than 64 bits, and tuples that are used twice, nested deeply or used as keys. A tuple's hash
is computed by recursion (a million nested ones end the process) and follows from its content, so
that a file could choose thousands of tuples of equal hash; those of strings cannot be foreseen.

Pickles of numpy, scipy and networkx objects, read without running anything they ask for.

Old datasets come as pickles, and a pickle is a program: loading one calls whatever it names. Here
it can call nothing. The few names that genuine files need become *stand-ins* that only keep what
they are given; no class of numpy, scipy or networkx is ever called by the file. The arrays are
built from the stand-ins afterwards, by code of ours that checks every length first. Before that,
a scan of the opcodes (:mod:`.pickle_scan`) refuses those that no genuine file has and lengths that
the file does not hold, so a small file cannot ask for much memory or time.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import re
import warnings
from pathlib import Path
from pickletools import opcodes
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.files import make_csr
from graphfilter.util.errors import DataFileError, GraphError
from graphfilter.util.files import PARSE_ERRORS, AnyPath, read_array_header, reading

MAX_OPCODES = 5_000_000
MAX_TUPLE_DEPTH = 16
REMEDY = "Download the file again, from its original source."

_OPCODES = {opcode.code: opcode for opcode in opcodes}
_SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_TUPLES = frozenset(("TUPLE", *_SHORT_TUPLES))
_VALUES = frozenset(
    ("NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT")
)
_STRINGS = frozenset(
    ("BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES")
)
_EMPTY = frozenset(("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"))
_CALLS = frozenset(("STACK_GLOBAL", "REDUCE", "NEWOBJ"))
_PUSHES = _TUPLES | _VALUES | _STRINGS | _EMPTY | _CALLS | {"GLOBAL"}
_PUTS = frozenset(("BINPUT", "LONG_BINPUT", "MEMOIZE"))
_GETS = frozenset(("BINGET", "LONG_BINGET"))
_OTHERS = frozenset(
    ("PROTO", "FRAME", "MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "BUILD", "STOP")
)
_ALLOWED = _PUSHES | _PUTS | _GETS | _OTHERS
# What these take off the stack without leaving anything.
_POPS = {"APPEND": 1, "SETITEM": 2, "BUILD": 1}


def check_opcodes(data: bytes, path: AnyPath, most: int = MAX_OPCODES) -> None:
    """Raise unless every opcode is one that genuine files have, with sensible arguments."""
    stream = io.BytesIO(data)
    is_tuple: dict[int, bool] = {}
    stack = _Depths(path)
    name = last = ""
    n_opcodes = 0
    while name != "STOP":
        n_opcodes += 1
        if n_opcodes > most:
            raise DataFileError(path, f"must have at most {most} opcodes. {REMEDY}")
        code = stream.read(1)
        if not code:
            raise DataFileError(path, f"is cut off. {REMEDY}")
        opcode = _OPCODES.get(code.decode("latin-1"))
        name = "" if opcode is None else opcode.name
        if opcode is None or name not in _ALLOWED:
            problem = f"is not a pickle, or has an opcode ({name or code!r}) that is refused"
            raise DataFileError(path, f"{problem} at byte {stream.tell() - 1}. {REMEDY}")
        # Reading every argument finds lengths beyond the end of the file.
        argument: Any = None if opcode.arg is None else opcode.arg.reader(stream)
        if name == "LONG1" and not -(1 << 63) <= argument < 1 << 64:
            raise DataFileError(path, f"must hold whole numbers of 64 bits at most. {REMEDY}")
        if name in _PUTS:
            # The unpickler makes room for all lower memo numbers.
            key = len(is_tuple) if argument is None else argument
            if last not in _PUSHES or key > len(data):
                raise DataFileError(path, f"has a memo that no genuine pickle has. {REMEDY}")
            is_tuple[key] = last in _TUPLES
        elif name in _GETS and is_tuple.get(argument, True):
            raise DataFileError(path, f"uses a tuple, or what it never made, twice. {REMEDY}")
        stack.follow(name)
        last = name


class _Depths:
    """The unpickler's stack, with nothing on it but how deeply each value nests tuples."""

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._stack: list[int] = []
        self._marked: list[list[int]] = []

    def follow(self, name: str) -> None:
        """Do to the stack what this opcode does."""
        if name in _VALUES or name in _STRINGS or name in _GETS or name == "GLOBAL":
            self._stack.append(0)
        elif name in _EMPTY:
            self._stack.append(int(name == "EMPTY_TUPLE"))
        elif name == "MARK":
            self._marked.append(self._stack)
            self._stack = []
        elif name in _TUPLES:
            parts = self._to_mark() if name == "TUPLE" else self._pop(_SHORT_TUPLES[name])
            self._stack.append(1 + max(parts, default=0))
            if self._stack[-1] > MAX_TUPLE_DEPTH:
                raise DataFileError(self._path, f"must not nest tuples so deeply. {REMEDY}")
        elif name in _CALLS:
            self._pop(2)
            self._stack.append(0)
        elif name in ("APPENDS", "SETITEMS"):
            self._check_keys(self._to_mark() if name == "SETITEMS" else [])
        elif name in _POPS:
            parts = self._pop(_POPS[name])
            self._check_keys(parts if name == "SETITEM" else [])

    def _pop(self, n: int) -> list[int]:
        if len(self._stack) < n:
            raise DataFileError(self._path, f"is not a pickle: it has too few values. {REMEDY}")
        parts = self._stack[len(self._stack) - n :]
        del self._stack[len(self._stack) - n :]
        return parts

    def _to_mark(self) -> list[int]:
        if not self._marked:
            raise DataFileError(self._path, f"is not a pickle: it misses a mark. {REMEDY}")
        parts, self._stack = self._stack, self._marked.pop()
        return parts

    def _check_keys(self, items: list[int]) -> None:
        """Refuse tuples as keys; ``items`` are keys and values in turn."""
        if any(items[::2]):
            raise DataFileError(self._path, f"must not have a tuple for a key; it has. {REMEDY}")


MAX_BYTES = 1 << 30
MAX_DIMENSIONS = 8

_DTYPES = re.compile(r"b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,5}|O8?")


class _StandIn:
    """What an allowed name becomes: it keeps arguments and state, and calls nothing.

    Without a ``__dict__``, and with a ``__setstate__`` of its own, neither an instance nor the
    class can be given attributes by the file.
    """

    __slots__ = ("args", "state")
    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> _StandIn:
        self = super().__new__(cls)
        self.args, self.state = args, None
        return self

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def build(self) -> Any:
        raise GraphError(f"a {type(self).__name__.strip('_')} is not what this file should hold.")


class _DefaultDict(dict[Any, Any]):
    """A defaultdict that forgets its factory."""

    __slots__ = ()

    def __init__(self, *factory: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> NoReturn:
        raise TypeError("a defaultdict has no state")


class _DType(_StandIn):
    def build(self) -> np.dtype[Any]:
        name = self.args[0] if self.args else None
        order = self.state[1] if isinstance(self.state, tuple) and len(self.state) > 1 else "|"
        if not (isinstance(name, str) and _DTYPES.fullmatch(name)) or order not in ("<", ">", "|"):
            raise GraphError("the arrays must hold plain numbers or strings; they do not.")
        return np.dtype(object) if name[0] == "O" else np.dtype(order + name)


class _Array(_StandIn):
    def build(self) -> Any:
        """Build the array; an object array of one element gives that element."""
        state = self.state
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], _DType)):
            raise GraphError("an array must have a shape, a type and data; it does not.")
        _, shape, dtype_, fortran, raw = state
        dtype = dtype_.build()
        if not isinstance(shape, tuple) or not all(type(k) is int and k >= 0 for k in shape):
            raise GraphError("an array's shape must be whole numbers; it is not.")
        if len(shape) > MAX_DIMENSIONS:
            raise GraphError(f"an array must have at most {MAX_DIMENSIONS} dimensions.")
        if dtype.hasobject:
            if math.prod(shape) != 1 or not isinstance(raw, list) or len(raw) != 1:
                raise GraphError("an array of objects must hold exactly one; it does not.")
            return _finish(raw[0])
        if isinstance(raw, str):  # bytes, as Python 2 had them
            raw = raw.encode("latin-1")
        if not isinstance(raw, bytes) or len(raw) != math.prod(shape) * dtype.itemsize:
            raise GraphError("an array's data must be as long as its shape says; it is not.")
        return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran is True else "C")


class _CsrMatrix(_StandIn):
    def build(self) -> sp.csr_array:
        state = self.state if isinstance(self.state, dict) else {}
        parts = [state.get(key) for key in ("data", "indices", "indptr")]
        shape = state.get("_shape")
        if not all(isinstance(part, _Array) for part in parts) or not isinstance(shape, tuple):
            raise GraphError("a sparse matrix must have data, indices and a shape; it does not.")
        if not all(type(k) is int for k in shape):
            raise GraphError("a sparse matrix's shape must be whole numbers; it is not.")
        data, indices, indptr = (part.build() for part in parts if isinstance(part, _Array))
        if not all(isinstance(array, np.ndarray) for array in (data, indices, indptr)):
            raise GraphError("a sparse matrix must be made of arrays of numbers; it is not.")
        return make_csr(data, indices, indptr, shape)


class _NetworkxGraph(_StandIn):
    def build(self) -> NDArray[np.int64]:
        """Return the edges (m, 2), each listed from both ends; vertices must be numbers."""
        state = self.state if isinstance(self.state, dict) else {}
        adjacency = state.get("_adj", state.get("adj"))
        return edges_of_lists(adjacency)


class _Name(_StandIn):
    """A type that is named in the file and not needed: a factory, a view, a set."""


# Python 2, older and newer releases name the same things differently.
_NAMES: dict[tuple[str, str], type] = {
    ("numpy", "ndarray"): _Name,
    ("numpy", "dtype"): _DType,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _CsrMatrix,
    ("scipy.sparse._csr", "csr_matrix"): _CsrMatrix,
    ("collections", "defaultdict"): _DefaultDict,
    ("__builtin__", "list"): _Name,
    ("builtins", "list"): _Name,
    ("builtins", "dict"): _Name,
    ("builtins", "set"): _Name,
    ("networkx.classes.graph", "Graph"): _NetworkxGraph,
    ("networkx.classes.reportviews", "NodeView"): _Name,
    ("networkx.classes.coreviews", "AdjacencyView"): _Name,
}


def edges_of_lists(neighbours: Any) -> NDArray[np.int64]:
    """Turn ``{vertex: neighbours}`` from a pickle into edges (m, 2), checking every number."""
    if not isinstance(neighbours, dict):
        raise GraphError("the graph must be a table of neighbours; it is not.")
    if len({id(others) for others in neighbours.values()}) < len(neighbours):
        # One long list under many vertices would make a small file describe a huge graph.
        raise GraphError("two vertices must not share one list of neighbours; they do.")
    pairs: list[tuple[int, int]] = []
    for vertex, others in neighbours.items():
        if not isinstance(others, list | dict):
            raise GraphError("the graph must list the neighbours of every vertex; it does not.")
        pairs += [(vertex, other) for other in others]
    if not all(type(end) is int and 0 <= end < 1 << 62 for pair in pairs for end in pair):
        raise GraphError("vertices must be whole numbers from 0; they are not.")
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def read_pickle(path: AnyPath) -> Any:
    """Read a pickle of an array, a sparse matrix, a networkx graph or plain Python values.

    Returns
    -------
    array, csr_array, edges (m, 2) of a networkx graph, or dicts, lists, tuples and scalars.

    Raises
    ------
    DataFileError
        The file is damaged, or asks for anything else. Nothing it names has been run.
    """
    with reading(path, REMEDY), Path(path).open("rb") as stream:
        # Python takes as much memory as it is asked to read, whatever the file holds.
        data = stream.read(min(os.fstat(stream.fileno()).st_size, MAX_BYTES) + 1)
    return loads(data, path)


def loads(data: bytes, path: AnyPath, most_bytes: int = MAX_BYTES) -> Any:
    """Like :func:`read_pickle`, from bytes that came from ``path``."""
    if len(data) > most_bytes:
        raise DataFileError(path, f"must be smaller than {most_bytes} bytes to be unpickled.")
    with reading(path, REMEDY, (*PARSE_ERRORS, pickle.UnpicklingError, ImportError)):
        with warnings.catch_warnings():
            # pickletools warns on odd escapes in names; those names are refused anyway.
            warnings.simplefilter("ignore")
            check_opcodes(data, path)
        return _finish(_Unpickler(data, path).load())


def read_pickled_array(data: bytes, path: AnyPath) -> Any:
    """Read the bytes of an ``.npy`` file: an array of numbers, or the one object of an array."""
    stream = io.BytesIO(data)
    with reading(path, REMEDY, PARSE_ERRORS):
        dtype = read_array_header(stream)[2]
        if not dtype.hasobject:
            stream.seek(0)
            return np.lib.format.read_array(stream, allow_pickle=False)
    return loads(data[stream.tell() :], path)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, path: AnyPath) -> None:
        super().__init__(io.BytesIO(data), encoding="latin-1")
        self._path = path

    def find_class(self, module: str, name: str, /) -> Any:
        stand_in = _NAMES.get((module, name))
        if stand_in is None:
            asked = f"{module}.{name}"[:100]
            problem = f"this pickle asks for {asked!r}, which is not data, and was refused"
            raise DataFileError(self._path, f"{problem}. Do not trust it. {REMEDY}")
        return stand_in


def _finish(value: Any) -> Any:
    return value.build() if isinstance(value, _StandIn) else value

"""A pickle looked through, opcode by opcode, before anything in it is built.

Refused are opcodes that no genuine file has, lengths that the file does not hold, and whatever
would let a small file take much memory or time: memo numbers far beyond the file, whole numbers
of more than 64 bits, and tuples that are used twice, nested deeply or used as keys. A tuple's hash
is computed by recursion (a million nested ones end the process) and follows from its content, so
that a file could choose thousands of tuples of equal hash; those of strings cannot be foreseen.
"""

from __future__ import annotations

import io
from pickletools import opcodes
from typing import Any

from graphfilter.errors import DataFileError
from graphfilter.storage import AnyPath

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

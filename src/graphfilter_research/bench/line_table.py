"""The table of any file of JSON lines: a row per line, a column per field that is one value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphfilter.report.tables import Block, Cell, Numbers, Row, Table
from graphfilter.util.errors import DataFileError
from graphfilter_research.lines import read_lines

Line = dict[str, Any]


# What only records of a benchmark have.
BENCHMARK = {"split_rule", "config"}


def holds_benchmarks(path: Path) -> bool:
    """Return whether a file is to be read as records of ``bench``, and not line by line."""
    try:
        found, _ = read_lines(path, _object, "a JSON object")
    except DataFileError:
        return True  # What is wrong with it is said when it is read.
    return not found or any(line.keys() >= BENCHMARK for line in found)


def read_line_table(path: Path) -> Table:
    """Read a file that holds other records than those of ``bench``.

    Fields of fields are columns named ``outer.inner``; lists, such as curves, are left out and
    named below the table.
    """
    found, _ = read_lines(path, _object, "a JSON object")
    if not found:
        raise DataFileError(path, "must hold at least one record; it holds none.")
    lines = [_flat(line) for line in found]
    fields = list(dict.fromkeys(name for line in lines for name in line))
    kept = [name for name in fields if not any(isinstance(line.get(name), list) for line in lines)]
    if not kept:
        raise DataFileError(path, "must hold records with single values; it holds lists only.")
    rows = [
        Row(_text(line.get(kept[0])), tuple(Cell(_text(line.get(name))) for name in kept[1:]))
        for line in lines
    ]
    left = [name for name in fields if name not in kept]
    return Table(
        path.name,
        (Block("", tuple(kept[1:]), tuple(rows), first_column=kept[0]),),
        notes=(f"Left out, as they are lists: {', '.join(left)}.",) if left else (),
        numbers=Numbers(tuple(kept), tuple(tuple(line.get(n, "") for n in kept) for line in lines)),
    )


def _object(line: bytes) -> Line:
    content = json.loads(line)
    if not isinstance(content, dict):
        raise TypeError("not an object")
    return content


def _flat(content: Mapping[str, Any], prefix: str = "") -> Line:
    """Return nested fields under one name each: ``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    flat: Line = {}
    for name, value in content.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _text(value: Any) -> str:
    """Write a value as people read it: four digits of a number that is not whole."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)

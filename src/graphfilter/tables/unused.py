"""Columns of the table of edges that nothing uses, and the options that would."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from graphfilter.tables import dates
from graphfilter.tables.cells import as_text, is_usable, value_type
from graphfilter.tables.columns import is_index
from graphfilter.tables.edges import EdgeRoles
from graphfilter.tables.numbers import NUMBERS_PER_WORD, guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource
from graphfilter.tables.vertex_kinds import MOST_KINDS
from graphfilter.wording import listed_names

_MOST_NAMED = 5


def say_unused(table: TableSource, roles: EdgeRoles, *, without: Collection[str] = ()) -> list[str]:
    """Name the columns that are not used, each with the argument that would use it.

    ``without`` are arguments that are not offered.
    """
    if not roles.header:
        return []
    names = table.usable_names
    left = [name for name in names if name not in roles.names and not is_index(name)]
    if not left:
        return []
    sample = table.peek()
    columns_left = []
    for name in left[:_MOST_NAMED]:
        option = _option_for(sample[name], table, roles)
        offered = option and option not in without
        columns_left.append(f"{name!r} (`{option}={name!r}`)" if offered else repr(name))
    rest = left[_MOST_NAMED:]
    more = f", {listed_names(rest)}" if rest else ""
    return [f"{table.name}: not used: {', '.join(columns_left)}{more}."]


def _option_for(column: Any, table: TableSource, roles: EdgeRoles) -> str:
    """Return the argument that would use a column, '' where none would."""
    kind = value_type(column)
    if dates.is_date_type(kind):
        return "" if roles.time else "edge_time"
    if not is_usable(kind) or not len(column):
        return ""
    read = parse_numbers(column, guess_decimal(column, table.decimal, table.decimal_hint))
    known = read.values[~np.isnan(read.values)]
    if len(known) > NUMBERS_PER_WORD * read.is_word.sum():
        return "" if roles.weight or (known < 0).any() else "weight"
    words = dates.known_words(column)
    if dates.find_spelling(words, day_first=table.decimal_hint == ",") is not None:
        return "" if roles.time else "edge_time"
    n_words = len(as_text(column, trim=True).unique())
    return "edge_kind" if n_words <= MOST_KINDS and not roles.kind else ""

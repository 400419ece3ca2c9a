"""A card: what a notebook shows of an object."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_STYLE = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;border:1px solid #8886;"
    "border-radius:6px;padding:8px 12px;display:inline-block;max-width:40em"
)
_TABLE = "border-collapse:collapse;margin:4px 0;font-size:13px;color:inherit"
_CELL = "padding:1px 14px 1px 0;text-align:left;vertical-align:top;background:none;border:none"


def card(title: str, rows: Iterable[tuple[str, str]], *pictures: str, note: str = "") -> str:
    """Return HTML: a title, names with their values, pictures below.

    Parameters
    ----------
    title, note : str
        Plain text; they are escaped.
    rows : pairs of str
        A name and a value, plain text; a value that is a picture (``<svg``) is left as it is.
    *pictures : str
        SVG, as :func:`line_chart` makes it.

    Examples
    --------
    >>> "&lt;b&gt;" in card("Graph <b>", [("vertices", "3")])
    True
    """
    lines = "".join(
        f"<tr><td style='{_CELL};opacity:.7;white-space:nowrap'>{escape(name)}</td>"
        f"<td style='{_CELL}'>{value if value.startswith('<svg') else escape(value)}</td></tr>"
        for name, value in rows
    )
    table = f"<table style='{_TABLE}'>{lines}</table>" if lines else ""
    last = f"<div style='opacity:.7'>{escape(note)}</div>" if note else ""
    return f"<div style='{_STYLE}'><b>{escape(title)}</b>{table}{''.join(pictures)}{last}</div>"

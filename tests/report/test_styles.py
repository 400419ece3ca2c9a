"""The style sheets of pages."""

from __future__ import annotations

import re
from pathlib import Path

import graphfilter

PAGES = Path(graphfilter.__file__).parent


def test_every_variable_of_the_pages_is_defined() -> None:
    """A colour that nothing defines is transparent: what it should draw is not seen."""
    used: set[str] = set()
    defined: set[str] = set()
    for suffix in ("css", "j2", "js", "html"):
        for path in PAGES.rglob(f"*.{suffix}"):
            text = path.read_text(encoding="utf-8")
            used |= set(re.findall(r"var\((--[\w-]+)", text))
            defined |= set(re.findall(r"(--[\w-]+)\s*:", text))
            defined |= set(re.findall(r"""setProperty\(["'](--[\w-]+)""", text))
    assert len(used) > 10
    assert used <= defined

"""Under every block of a page what it prints and draws, run when the site is built.

A page is run in a process and an empty folder of its own (:mod:`run_page`). ``-D show_outputs=0``
leaves the outputs out, for a quick look at the words.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from run_page import BLOCK
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

HERE = Path(__file__).resolve().parent
# Columns that a page has for what is printed.
WIDTH = 88
FIRST_LINES = HERE.parent / "first_lines.py"
GUIDES = re.compile(
    r"docs/(get-started|tutorial[\w-]*|howto/(?!index)[\w-]+|concepts/(?!index)[\w-]+)"
)


def run_page(name: str, page: str) -> list[dict[str, Any]]:
    """Return what each block of a page shows."""
    found = [str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, found))}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.md"
        source.write_text(page, encoding="utf-8")
        (Path(folder) / "work").mkdir()
        done = subprocess.run(
            [sys.executable, str(HERE / "run_page.py"), str(source)],
            capture_output=True, text=True, cwd=Path(folder) / "work", env=environment,
        )  # fmt: skip
    if done.returncode:
        raise ExtensionError(f"{name}: a block does not run\n{done.stderr}")
    return json.loads(done.stdout)


def with_outputs(page: str, shown: list[dict[str, Any]]) -> str:
    """Return the page with what its blocks show under them."""
    outputs = iter(shown)
    return BLOCK.sub(lambda match: match[0] + _output(next(outputs)), page)


def _output(shown: dict[str, Any]) -> str:
    parts = []
    if text := wrapped(shown["text"].rstrip()):
        parts.append(f"````{{code-block}} text\n:class: gf-output\n\n{text}\n````\n")
    parts += [
        f'<img class="gf-drawn" alt="what the code above draws" '
        f'src="data:image/png;base64,{picture}">\n'
        for picture in shown["pictures"]
    ]
    return "".join(f"\n{part}" for part in parts)


def wrapped(text: str) -> str:
    """Return the text with long sentences wrapped; rows of tables are kept as they are."""
    return "\n".join(
        line if "   " in line or "─" in line else textwrap.fill(line, WIDTH, break_on_hyphens=False)
        for line in text.splitlines()
    )


def show_outputs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run a guide when it is read."""
    if app.config.show_outputs and GUIDES.fullmatch(docname) and BLOCK.search(source[0]):
        source[0] = with_outputs(source[0], run_page(docname, source[0]))


def show_first_lines(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Give the first page its lines of code, and what they print."""
    if pagename != "index":
        return
    code = FIRST_LINES.read_text(encoding="utf-8")
    context["first_lines"] = app.builder.highlighter.highlight_block(code, "python")  # pyright: ignore
    context["first_output"] = ""
    if app.config.show_outputs:
        (shown,) = run_page(FIRST_LINES.name, f"```python\n{code}```\n")
        context["first_output"] = html.escape(wrapped(shown["text"].rstrip()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("show_outputs", True, "env", types=(bool, str))
    app.connect("source-read", show_outputs)
    app.connect("html-page-context", show_first_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

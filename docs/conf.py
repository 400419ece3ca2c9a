"""The documentation site; ``make docs`` builds it, warnings as errors, without a network.

Its source folder is the repository itself, so that a link between two pages is the same on a forge
and on the site.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]
# What the gallery computes should not depend on how many cores the machine has.
os.environ.setdefault("GRAPHFILTER_THREADS", "1")

from graphfilter.version import __version__  # noqa: E402

project = "graphfilter"
version = release = __version__
language = "en"
smartquotes = False  # --edges is an option, not a dash
root_doc = "docs/index"
include_patterns = ["docs/**", "results/*.md", "*.md"]
# README.md is for the forge; the first page of the site is landing.html.
exclude_patterns = [
    "README.md",
    "docs/_*",
    "docs/gallery",
    "docs/gallery_pages/*.ipynb",
    ".*",
    "build",
]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "commands",
    "mathml",
    "outputs",
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style"), ("Attributes", "params_style")]
napoleon_use_rtype = False
napoleon_use_param = False
# A type in words may hold a word that is also a name.
suppress_warnings = ["ref.python"]
python_maximum_signature_line_length = 88

copybutton_selector = "div:not(.gf-output) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/gallery_pages",
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = "graphfilter"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("search.js", {"priority": 900})]
PLOTS = ("plots.js", "dynamics.js", "player.js", "frequency.js", "response.js")
html_additional_pages = {"index": "landing.html"}
html_sidebars = {
    "**": [
        "brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
templates_path = ["_templates"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ff", "color-brand-content": "#7cc0ff"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def complete_a_record(app: object, docname: str, source: list[str]) -> None:
    """Give a table that a command wrote the title it lacks, and no place in the navigation."""
    if docname.startswith("results/"):
        title = "" if source[0].startswith("# ") else f"# {Path(docname).name}\n\n"
        source[0] = f"---\norphan: true\n---\n\n{title}{source[0]}"
    if docname == "results/README":
        names = sorted(page.name for page in (HERE.parent / "results").glob("*.md"))
        source[0] += "\n\n## Tables\n\n" + "\n".join(f"- [{name}]({name})" for name in names)


def load_plots(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the scripts of the live plots where there is one."""
    if pagename == "index" or "data-plot=" in context.get("body", ""):
        for name in PLOTS:
            app.add_js_file(name, defer="defer")


def setup(app: Sphinx) -> None:
    """Connect what the configuration adds to Sphinx."""
    app.connect("html-page-context", load_plots)
    app.connect("source-read", complete_a_record)

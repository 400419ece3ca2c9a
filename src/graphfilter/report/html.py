"""What all HTML pages share: templates that escape everything, plotly.js, atomic writing."""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.report.numbers import percent
from graphfilter.util.files import atomic_file
from graphfilter.util.words import signed

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


@cache
def make_environment(*folders: Path) -> Environment:
    """Return the jinja2 environment of the pages: everything is escaped, nothing undefined.

    Kept, and with it the templates it has compiled.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "signed": signed}
    # NaN is no JSON: an error here is better than a page that does not open.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def render_page(template: str, *, folder: Path = TEMPLATES, **content: Any) -> str:
    """Return a page that holds all it needs and asks the network for nothing.

    ``folder`` holds the template; it may extend those of this room.

    Everything that came from the user is escaped: in the HTML by jinja2, in the embedded JSON by
    its ``tojson``, which leaves no ``<`` that could end the script.
    """
    return make_environment(folder).get_template(template).render(**content)


def write_page(path: str | PathLike[str], page: str) -> None:
    """Write a page atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


@cache
def plotly_source() -> str:
    """Return plotly.js, from the Python package that carries it."""
    from importlib.resources import files

    return files("plotly").joinpath("package_data", "plotly.min.js").read_text("utf-8")

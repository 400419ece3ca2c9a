"""What all pages share: templates that escape everything, short numbers, plotly.js, writing."""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfilter.util.files import atomic_file
from graphfilter.util.words import signed

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
    environment.filters |= {"percent": percent, "signed": signed, "asset": _asset}
    # NaN is no JSON: an error here is better than a page that does not open.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _asset(name: str) -> Markup:
    """Return a style sheet or script of the pages, as it is."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text("utf-8").rstrip("\n"))


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


def plain(values: Any, digits: int = 4) -> Any:
    """Return nested lists of numbers with so many significant digits; None where not finite.

    >>> plain(np.array([[1 / 3, np.nan], [2.0, 1e6]]))
    [[0.3333, None], [2.0, 1000000.0]]
    """
    array = np.asarray(values)
    if array.ndim:
        return [plain(row, digits) for row in array]
    if array.dtype.kind in "biu":
        return array.item()
    return float(f"{float(array):.{digits}g}") if np.isfinite(array) else None


def spread_out(n: int, most: int) -> list[int]:
    """Choose about ``most`` of 0..n-1, evenly, both ends among them.

    >>> spread_out(100, 5)
    [0, 25, 50, 74, 99]
    """
    return sorted(set(np.round(np.linspace(0, n - 1, min(most, n))).astype(int).tolist()))


def percent(share: float, digits: int = 1) -> str:
    r"""Write a share in percent, on one line; a dash where it is not known.

    >>> percent(0.8868).replace("\xa0", " ")
    '88.7 %'
    """
    return f"{100 * share:.{digits}f}\xa0%" if np.isfinite(share) else "–"

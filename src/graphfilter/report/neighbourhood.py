"""A picture of what is around a vertex: two steps, coloured by what is predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.report.html import render_page, write_page
from graphfilter.runs.cases import Neighbourhood
from graphfilter.util.errors import ConfigError
from graphfilter.util.pictures import shorten

# Radius of a dot by its steps, and half the width of a letter and the height of a name.
RADII, _LETTER, _LINE = (9, 6, 4), 1.65, 3.4


def places_of(found: Neighbourhood) -> NDArray[np.float64]:
    """Return where each vertex stands: neighbours on a circle, theirs behind them on a wider one.

    Coordinates (k, 2) lie in the unit circle.
    """
    places = np.zeros((len(found.ids), 2))
    near, second = (np.flatnonzero(found.steps == step) for step in (1, 2))
    angle = np.zeros(len(found.ids))
    angle[near] = np.pi / 2 - 2 * np.pi * np.arange(len(near)) / max(len(near), 1)
    for v in second.tolist():  # Between the neighbours that it is joined to.
        joined = found.edges[(found.edges == v).any(axis=1)].sum(axis=1) - v
        ends = angle[joined[found.steps[joined] == 1]]
        angle[v] = np.angle(np.exp(1j * ends).sum()) if len(ends) else 0.0
    # In that order, evenly: none lies on another.
    order = second[np.argsort(angle[second], kind="stable")]
    even = 2 * np.pi * np.arange(len(order)) / max(len(order), 1)
    if len(order):
        turn = np.angle(np.exp(1j * (angle[order] - even)).mean())
        angle[order] = even + turn
    for step, radius in ((1, 0.55), (2, 1.0)):
        at = np.flatnonzero(found.steps == step)
        places[at] = radius * np.column_stack([np.cos(angle[at]), np.sin(angle[at])])
    return places


def place_names(found: Neighbourhood) -> dict[int, tuple[float, float, str]]:
    """Return where names stand in a square of 200 whose y goes down, the likeliest placed first.

    Those that would lie on a dot or on another name are left out.
    """
    centres = 100 + 84 * places_of(found) * (1, -1)
    radii = np.array(RADII)[found.steps]
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(centres, radii, strict=True)]
    placed = dict[int, tuple[float, float, str]]()
    for i in sorted(range(len(radii)), key=lambda i: (found.steps[i] > 0, -found.answers[i])):
        text = shorten(found.ids[i], 14)
        text += f": {shorten(found.known[i], 14)}" if found.known[i] else ""
        (x, middle), half = centres[i].tolist(), _LETTER * len(text)
        for y in (middle + radii[i] + 4, middle - radii[i] - 4):
            box = (x - half, y - _LINE, x + half, y + _LINE)
            if not any(
                box[0] < right and left < box[2] and box[1] < low and high < box[3]
                for left, high, right, low in taken
            ):
                taken.append(box)
                placed[i] = (round(x, 1), round(y, 1), text)
                break
    return placed


def view_around(found: Neighbourhood) -> dict[str, Any]:
    """Return what is around a vertex as dots, lines and names in a square of 200."""
    places = (100 + 84 * places_of(found) * (1, -1)).round(1).tolist()
    low, high = (0.0, 1.0) if found.is_share else (found.answers.min(), found.answers.max())
    shades = (100 * (found.answers - low) / ((high - low) or 1)).round().astype(int).tolist()
    rows = zip(places, found.ids, found.known, shades, found.steps.tolist(), strict=True)
    dots = [
        {"x": x, "y": y, "id": id, "known": known, "shade": shade, "size": RADII[step]}
        for (x, y), id, known, shade, step in rows
    ]
    lines = [(*places[u], *places[v], 0 in (u, v)) for u, v in found.edges.tolist()]
    return {"found": found, "dots": dots, "lines": lines, "names": place_names(found).values()}


def check_picture(path: Path) -> None:
    """Raise where a picture cannot be of the format that its name asks for."""
    if path.suffix.lower() != ".svg":
        raise ConfigError(f"{path}: a picture must end in .svg.")


def write_neighbourhood(path: Path, found: Neighbourhood) -> None:
    """Draw what is around a vertex to a file: colours are answers, thick rims say what is known."""
    of = f"probability of “{found.of}”" if found.is_share else f"predicted {found.of}"
    near, second = (int((found.steps == step).sum()) for step in (1, 2))
    title = (
        f"{shorten(found.ids[0])}: {near} of {found.n_near:,} neighbours, {second} of "
        f"{found.n_second:,} two steps away; the darker, the higher the {of}; thick rims: known"
    )
    write_page(path, render_page("around.svg.j2", title=title, **view_around(found)))

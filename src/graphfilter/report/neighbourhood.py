"""A picture of what is around a vertex: two steps, coloured by what is predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphfilter.runs.cases import Neighbourhood
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import atomic_file
from graphfilter.util.pictures import FAINT, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
# Light to dark, also in grey.
_COLOURS = "YlOrRd"
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


def draw_neighbourhood(found: Neighbourhood) -> Figure:
    """Draw what is around a vertex: colours are answers, thick rims are vertices that are known."""
    from matplotlib.figure import Figure

    places, known = places_of(found), np.array([bool(word) for word in found.known])
    figure = Figure(figsize=(7, 6.2), layout="constrained")
    axes = figure.subplots()
    for u, v in found.edges.tolist():
        own = 0 in (u, v)
        axes.plot(
            *places[[u, v]].T, color="#555555" if own else FAINT, linewidth=1.2 if own else 0.6,
            alpha=0.9 if own else 0.5, zorder=1 + own,
        )  # fmt: skip
    limits = (0.0, 1.0) if found.is_share else (found.answers.min(), found.answers.max())
    dots = axes.scatter(
        *places.T, c=found.answers, cmap=_COLOURS, vmin=limits[0], vmax=limits[1],
        s=np.array([520, 240, 110])[found.steps], linewidths=np.where(known, 2.6, 0.8).tolist(),
        edgecolors=np.where(known, "#000000", "#777777").tolist(), zorder=3,
    )  # fmt: skip
    for i, (x, y, text) in place_names(found).items():
        axes.text(
            (x - 100) / 84, (100 - y) / 84, text, ha="center", va="center", zorder=4,
            fontsize=7.5 if i else 9, fontweight="normal" if i else "bold",
        )  # fmt: skip
    of = f"probability of “{found.of}”" if found.is_share else f"predicted {found.of}"
    figure.colorbar(dots, ax=axes, label=of, shrink=0.6)
    near, second = (int((found.steps == step).sum()) for step in (1, 2))
    axes.set_title(
        f"{shorten(found.ids[0])}: {near} of {found.n_near:,} neighbours, {second} of "
        f"{found.n_second:,} two steps away; thick rims: known",
        fontsize=9.5,
    )
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.12)
    return figure


def write_neighbourhood(path: Path, found: Neighbourhood) -> None:
    """Draw what is around a vertex to a file, atomically."""
    check_picture(path)
    with atomic_file(path) as temporary:
        kind = path.suffix.lower().removeprefix(".")
        # The same bits every time.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        draw_neighbourhood(found).savefig(temporary, format=kind, dpi=150, metadata=metadata)


def check_picture(path: Path) -> None:
    """Raise where a picture cannot be of the format that its name asks for."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: a picture must end in {' or '.join(SUFFIXES)}.")

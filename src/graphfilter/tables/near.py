"""Vertices that lie near each other by coordinates are joined: the nearer, the more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from graphfilter.tables.columns import MISSING_MARK, Features
from graphfilter.util.words import count, listed_names

Array = NDArray[np.float64]

# How columns of coordinates are called, as parts of names: degrees, then those of a plane.
DEGREES = (("lat", "lon"), ("lat", "long"), ("lat", "lng"), ("latitude", "longitude"))
COORDINATES = (*DEGREES, ("x", "y"), ("easting", "northing"))
# How many each vertex is joined with; types of edges: these, and those of a table beside them.
N_NEAREST, NEAR, TOLD = 10, "near", "edges"
LATITUDE, _MOST = re.compile(r"(?i)(?<![^\W_])lat(itude)?(?![^\W_])"), (90.0, 360.0)
# Between a column's name and what was subtracted from it.
_ORIGIN = " (above "


def find_coordinates(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of columns that are coordinates of one place, latitude or x first.

    A word of a text, and a value of a category, is no coordinate.

    >>> list(find_coordinates(["size", "Start Long", "Start Lat", "y", "gloss: x", "gloss: y"]))
    [(2, 1)]
    """
    numbers = ((i, name) for i, name in enumerate(names) if "=" not in name and ": " not in name)
    at = {name.partition(_ORIGIN)[0].lower(): i for i, name in numbers}
    for first, second in COORDINATES:
        for name, i in at.items():
            if first in name and not name.endswith(MISSING_MARK):
                other = re.sub(rf"(?<![^\W_]){first}(?![^\W_])", second, name)
                if other != name and other in at:
                    yield i, at[other]


def nearest(points: Array, k: int) -> tuple[Array, NDArray[np.intp]]:
    """Return the distances (n, k) to the points nearest to each, itself among them, and which.

    Where most share a place with another, they lie in a row there: else all would be compared.
    """
    if len(np.unique(points, axis=0)) >= len(points) / 2:
        return cKDTree(points).query(points, range(1, k + 1))
    row = np.linspace(0, 1e-9 * np.ptp(points, axis=0).max(initial=1e-9), len(points))
    apart = np.column_stack([points, row])
    who = cKDTree(apart).query(apart, range(1, k + 1))[1]
    return np.linalg.norm(points[who] - points[:, None], axis=2), who


def read_places(features: Features, feature_names: Sequence[str], columns: Sequence[str]) -> Array:
    """Return coordinates (n, d) from the features of vertices; NaN where one is missing."""
    names = [name.partition(_ORIGIN) for name in feature_names]
    at = [next(i for i, name in enumerate(names) if name[0] == column) for column in columns]
    marks = {name[0]: i for i, name in enumerate(names)}
    marked = [marks.get(f"{column}{MISSING_MARK}", -1) for column in columns]
    some: Any = features[:, [*at, *marked]]
    values = np.asarray(some.toarray() if hasattr(some, "toarray") else some, dtype=np.float64)
    places = values[:, : len(at)] + [float(names[i][2].rstrip(")") or 0) for i in at]
    places[(values[:, len(at) :] > 0) & (np.array(marked) >= 0)] = np.nan
    return places


@dataclass(frozen=True)
class Near:
    """By which columns vertices are near each other.

    Attributes
    ----------
    columns : tuple of str
        Those of the coordinates, where they are degrees that of the latitude first.
    degrees : bool
        Whether they are degrees on the sphere; otherwise they are those of a plane or space.
    reach : float
        The distance from which an edge weighs a half: the median of the fit.
    """

    columns: tuple[str, ...]
    degrees: bool = False
    reach: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.reach < np.inf:
            raise ValueError("reach")

    def measured(self, places: Array) -> Near:
        """Return the rule with what most places say: whether they are degrees on the sphere."""
        named = next(find_coordinates(self.columns), None) and LATITUDE.search(self.columns[0])
        known = places[~np.isnan(places).any(axis=1)]
        fits = named and len(known) and (np.median(np.abs(known), axis=0) <= _MOST).all()
        return replace(self, degrees=bool(fits))

    def outside(self, places: Array) -> NDArray[np.bool_]:
        """Return which latitudes are beyond the poles, and longitudes beyond a full turn."""
        return np.abs(places) > (_MOST if self.degrees else np.inf)

    def join(self, places: Array, first: int = 0) -> tuple[NDArray[np.int32], Array]:
        """Return pairs (m, 2) of vertices of which one is among the nearest of the other.

        Each once, and only those with a vertex from ``first`` on. Also how far apart they are, on
        the sphere of radius 1 by the straight line.
        """
        there = np.flatnonzero(~(np.isnan(places) | self.outside(places)).any(axis=1))
        points = places[there]
        if self.degrees:
            lat, lon = np.radians(points.T)
            points = np.column_stack(
                [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]
            )
        if (k := min(N_NEAREST, len(there) - 1)) < 1:
            return np.empty((0, 2), np.int32), np.empty(0)
        distance, who = nearest(points, k + 1)
        own = who == np.arange(len(there))[:, None]
        # Where so many are at one place that a vertex is not among its own nearest.
        own[~own.any(axis=1), -1] = True
        ends = np.repeat(there, k), there[who[~own]]
        keys, index = np.unique(
            np.minimum(*ends) * len(places) + np.maximum(*ends), return_index=True
        )
        pairs = np.column_stack(np.divmod(keys, len(places)))
        is_new = pairs[:, 1] >= first
        return pairs[is_new].astype(np.int32), distance[~own][index][is_new]

    def weigh(self, distance: Array) -> NDArray[np.float32]:
        """Return what edges weigh: 1 at one place, a half at the usual distance."""
        return (1 / (1 + distance / self.reach)).astype(np.float32)

    def join_new(
        self, known: Features, new: Features, feature_names: Sequence[str]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the edges of new vertices, numbered after known ones, and their weights."""
        places = [read_places(x, feature_names, self.columns) for x in (known, new)]
        pairs, distance = self.join(np.concatenate(places), len(places[0]))
        return pairs, self.weigh(distance)

    def say(self, n_edges: int, n_without: int) -> str:
        """Say what is joined, and how many have no place."""
        by = listed_names(self.columns) + ("" if self.degrees else ", as on a plane")
        without = f" {count(n_without, 'vertex has', 'vertices have')} no place." * bool(n_without)
        return (
            f"vertices are joined with the {N_NEAREST} nearest by {by}: {count(n_edges, 'edge')} "
            f"(to change this: `near`, `no_link`).{without}"
        )

"""Vertices are joined with the nearest by coordinates: in tables, beside known ones, served."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.data.from_tables import join_tables
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.near import N_NEAREST, Near, find_coordinates, nearest, read_places
from graphfilter.util.errors import GraphFilterError, ModelFileError

N = 60
RANDOM = np.random.default_rng(0)
LAT, LONG = RANDOM.uniform(40, 41, N), RANDOM.uniform(-84, -83, N)
HOUSES: dict[str, Any] = {
    "id": [f"h{i}" for i in range(N)],
    "lat": LAT.tolist(),
    "long": LONG.tolist(),
    "size": RANDOM.uniform(50, 200, N).tolist(),
}


def great_circle(lat: np.ndarray, long: np.ndarray) -> np.ndarray:
    """Return the angles between places, by the haversine formula."""
    lat, long = np.radians(lat), np.radians(long)
    half = np.sin((lat[:, None] - lat) / 2) ** 2
    half += np.cos(lat[:, None]) * np.cos(lat) * np.sin((long[:, None] - long) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(half))


def by_distance(distance: np.ndarray, k: int = N_NEAREST) -> set[tuple[int, int]]:
    np.fill_diagonal(distance, np.inf)
    return {
        (min(u, v), max(u, v))
        for u, row in enumerate(distance)
        for v in np.argsort(row)[:k].tolist()
    }


def edges_of(graph: gf.Graph) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edges.tolist()}


def test_degrees_are_those_of_a_sphere() -> None:
    graph, encoder = gf.read_tables(None, HOUSES)
    assert encoder.near is not None
    assert encoder.near.degrees
    distance = great_circle(LAT, LONG)
    assert edges_of(graph) == by_distance(distance)
    # On a plane of degrees others are nearest.
    assert edges_of(graph) != by_distance(np.hypot(LAT[:, None] - LAT, LONG[:, None] - LONG))
    assert any("the 10 nearest by 'lat', 'long'" in note for note in graph.notes)


def test_weights_fall_with_the_distance_and_have_no_unit() -> None:
    feet = {**HOUSES, "x": (LAT * 3000).tolist(), "y": (LONG * 3000).tolist()}
    metres = {**feet, "x": (LAT * 1000).tolist(), "y": (LONG * 1000).tolist()}
    graph, encoder = gf.read_tables(None, feet, near=("x", "y"))
    other, _ = gf.read_tables(None, metres, near=("x", "y"))
    assert encoder.near is not None
    assert not encoder.near.degrees
    assert edges_of(graph) == edges_of(other)
    assert graph.weights is not None
    assert other.weights is not None
    np.testing.assert_allclose(graph.weights, other.weights, rtol=1e-3)
    u, v = graph.edges.T
    distance = 3000 * np.hypot(LAT[u] - LAT[v], LONG[u] - LONG[v])
    weight = graph.adjacency[u, v]
    assert (np.diff(weight[np.argsort(distance)]) <= 1e-6).all()
    assert np.median(weight) == pytest.approx(0.5, abs=0.01)


def test_coordinates_join_vertices_where_no_table_does() -> None:
    edges = {"source": ["h0"], "target": ["h1"]}
    assert gf.read_tables(None, HOUSES, no_link=True)[0].n_edges == 0
    offered, encoder = gf.read_tables(edges, HOUSES)
    assert offered.n_edges == 1
    assert encoder.near is None
    assert any("`near=('lat', 'long')` also joins" in note for note in offered.notes)
    both, _ = gf.read_tables(edges, HOUSES, near=("long", "lat"))
    assert both.kinds is not None
    assert both.kinds.names == ("edges", "near")
    assert edges_of(both) == by_distance(great_circle(LAT, LONG)) | {(0, 1)}
    plain, encoder = gf.read_tables(None, {"id": HOUSES["id"], "size": HOUSES["size"]})
    assert plain.n_edges == 0
    assert encoder.near is None


def test_a_fitted_table_is_read_by_the_same_rule() -> None:
    graph, encoder = gf.read_tables(None, HOUSES)
    loaded = TableEncoder.from_dict(encoder.to_dict())
    assert loaded == encoder
    again, _ = gf.read_tables(None, HOUSES, encoder=loaded)
    assert again.checksum() == graph.checksum()


@pytest.mark.parametrize("near", [("lat", "long"), ("size",)])
def test_new_rows_are_joined_with_the_nearest(near: tuple[str, ...]) -> None:
    known = {name: values[:50] for name, values in HOUSES.items()}
    new = {name: values[50:] for name, values in HOUSES.items()}
    base, encoder = gf.read_tables(None, known, near=near)
    joined = join_tables(base, None, new, title="known", encoder=encoder)
    assert joined.graph.n_vertices == N
    whole, _ = gf.read_tables(None, HOUSES, encoder=encoder)
    added = {pair for pair in edges_of(joined.graph) if pair[1] >= 50}
    # As in a table of all, where the ten nearest of known ones may be new.
    assert added == {pair for pair in edges_of(whole) if pair[1] >= 50}
    assert edges_of(joined.graph) - added == edges_of(base)
    u, v = np.array(sorted(added)).T
    np.testing.assert_allclose(joined.graph.adjacency[u, v], whole.adjacency[u, v])


def test_new_rows_beside_edges_of_their_own() -> None:
    known = {name: values[:50] for name, values in HOUSES.items()}
    new = {name: values[50:] for name, values in HOUSES.items()}
    edges = {"source": ["h0"], "target": ["h1"]}
    base, encoder = gf.read_tables(edges, known, near=("lat", "long"))
    for told in (None, {"source": ["h50"], "target": ["h1"]}):
        joined = join_tables(base, told, new, title="known", encoder=encoder)
        assert joined.graph.kinds is not None
        assert joined.graph.kinds.names == ("edges", "near")
        assert np.diff(joined.graph.indptr)[50:].min() >= N_NEAREST
        assert ((1, 50) in edges_of(joined.graph)) or told is None


def test_vertices_of_no_place_have_no_neighbours() -> None:
    houses = {**HOUSES, "lat": ["", "far", *map(str, LAT[2:].tolist())]}
    graph, encoder = gf.read_tables(None, houses, near=("lat", "long"))
    assert np.diff(graph.indptr)[:2].tolist() == [0, 0]
    assert any("2 vertices have no place" in note for note in graph.notes)
    # Also where there were no gaps in the fit.
    base, encoder = gf.read_tables(None, HOUSES)
    new = {"id": ["a", "b"], "lat": [None, 40.5], "long": [-83.5, -83.5], "size": [1, 1]}
    joined = join_tables(base, None, new, title="known", encoder=encoder)
    none, some = np.diff(joined.graph.indptr)[N:].tolist()
    assert none == 0
    assert some >= N_NEAREST


def test_many_at_one_place_are_joined_with_ten() -> None:
    houses = {"id": range(30), "lat": [40.0] * 30, "long": [-83.0] * 30}
    graph, encoder = gf.read_tables(None, houses)
    assert np.diff(graph.indptr).min() >= N_NEAREST
    assert graph.weights is not None
    assert (graph.weights == 1).all()
    new = {"id": ["a"], "lat": [41.0], "long": [-83.0]}
    joined = join_tables(graph, None, new, title="known", encoder=encoder)
    assert np.diff(joined.graph.indptr)[30] == N_NEAREST


def test_few_vertices_are_all_joined() -> None:
    graph, _ = gf.read_tables(
        None, {"id": range(3), "x": [0.0, 1, 2], "y": [0.0, 0, 0]}, near=("x", "y")
    )
    assert edges_of(graph) == {(0, 1), (0, 2), (1, 2)}
    one, _ = gf.read_tables(None, {"id": [0], "x": [0.0], "y": [1.0]}, near=("x", "y"))
    assert one.n_edges == 0


def test_what_is_no_place_is_refused() -> None:
    odd = {**HOUSES, "lat": [*HOUSES["lat"][:-1], 412.0]}
    with pytest.raises(GraphFilterError, match=r"row 60.*'lat' must hold degrees; got 412"):
        gf.read_tables(None, odd, near=("lat", "long"))
    found, _ = gf.read_tables(None, odd)
    assert np.diff(found.indptr)[-1] == 0
    with pytest.raises(GraphFilterError, match="no column 'latt'"):
        gf.read_tables(None, HOUSES, near=("latt", "long"))
    words = {**HOUSES, "lat": ["north"] * N}
    with pytest.raises(GraphFilterError, match=r"'lat'.*no cell of it is a number"):
        gf.read_tables(None, words, near=("lat", "long"))
    with pytest.raises(GraphFilterError, match="`near` must name columns of numbers"):
        gf.read_tables(None, HOUSES, near=("lat", "long"), drop="lat")


def test_half_a_place_is_refused() -> None:
    for near in (["lat"], ["long", "long"]):
        with pytest.raises(GraphFilterError, match=r"both coordinates of a place; got .* alone"):
            gf.read_tables(None, HOUSES, near=near)


def test_coordinates_of_a_plane_may_be_called_degrees() -> None:
    graph, encoder = gf.read_tables(None, {**HOUSES, "lat": (LAT * 1e4).tolist()})
    assert encoder.near is not None
    assert not encoder.near.degrees
    assert any("as on a plane" in note for note in graph.notes)


def test_places_are_read_through_an_origin() -> None:
    far = {**HOUSES, "easting": (1e6 + LAT).tolist(), "northing": (5e6 + LONG).tolist()}
    del far["lat"]
    graph, encoder = gf.read_tables(None, far)
    assert any(name.startswith("easting (above ") for name in graph.feature_names or ())
    names = graph.feature_names or ()
    (pair,) = find_coordinates(names)
    assert [names[i].split()[0] for i in pair] == ["easting", "northing"]
    places = read_places(graph.features, graph.feature_names or (), ("northing", "easting"))
    np.testing.assert_allclose(places, np.column_stack([5e6 + LONG, 1e6 + LAT]), atol=1e-3)
    assert encoder.near is not None
    assert encoder.near.columns == ("easting", "northing")


def test_pairs_are_those_of_the_nearest_by_brute_force() -> None:
    places = np.random.default_rng(1).normal(size=(200, 3))
    pairs, distance = Near(("a", "b", "c")).join(places)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.testing.assert_allclose(distance, apart[pairs[:, 0], pairs[:, 1]])
    assert {(u, v) for u, v in pairs.tolist()} == by_distance(apart)


@pytest.mark.parametrize(
    "damage", [{"reach": 0.0}, {"reach": float("inf")}, {"columns": ["nowhere"]}, {"columns": 3}]
)
def test_a_damaged_rule_is_refused(damage: dict[str, Any]) -> None:
    saved = gf.read_tables(None, HOUSES)[1].to_dict()
    with pytest.raises(ModelFileError, match="encoder is damaged"):
        TableEncoder.from_dict({**saved, "near": {**saved["near"], **damage}})


def test_vertices_at_one_place_are_compared_with_some_only() -> None:
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.normal(size=(500, 2)), np.zeros((60_000, 2))])
    distance, who = nearest(places, 11)  # Each with each would be 60,000 times 60,000 pairs.
    assert (distance[500:] == 0).all()
    assert (who[500:] >= 500).all()
    exact = np.linalg.norm(places[:500, None] - places[None, :500], axis=2)
    np.testing.assert_allclose(distance[:500, 0], 0, atol=1e-12)
    assert (distance[:500, 1] <= np.sort(exact, axis=1)[:, 1] + 1e-9).all()


def test_words_and_values_are_no_coordinates() -> None:
    names = [
        "gloss: lat",
        "gloss: long",
        "words (letters):  x ",
        "words (letters):  y ",
        "a=x",
        "a=y",
    ]
    assert not list(find_coordinates(names))

"""New rows joined to a known graph: the same as all rows read at once."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import graphfilter as gf
from graphfilter.data import Columns
from graphfilter.data.from_tables import join_tables
from graphfilter.util.errors import DataFileError, GraphError

N, KNOWN = 30, 20
VERTICES = pd.DataFrame(
    {
        "id": [f"v{i}" for i in range(N)],
        "x": np.random.default_rng(0).normal(size=N).round(3),
        "colour": np.random.default_rng(1).choice(["red", "blue", "green"], N),
    }
)


def edges(n: int, seed: int = 2) -> pd.DataFrame:
    """Return edges in one direction, repeats of some among them."""
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, n, size=(4 * n, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    frame = pd.DataFrame({"source": [f"v{i}" for i in pairs[:, 0]]})
    frame["target"] = [f"v{i}" for i in pairs[:, 1]]
    frame["amount"] = rng.integers(1, 9, len(frame)).astype(float)
    frame["kind"] = rng.choice(["call", "mail"], len(frame))
    return frame


def read(rows: pd.DataFrame, links: pd.DataFrame, columns: Columns, encoder=None) -> gf.Graph:
    return gf.read_tables(links, rows, columns=columns, encoder=encoder)[0]


def equal(first: gf.Graph, second: gf.Graph) -> None:
    assert first.vertex_names == second.vertex_names
    assert np.array_equal(first.indptr, second.indptr)
    assert np.array_equal(first.indices, second.indices)
    for name in ("weights", "arcs"):
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert (first.kinds is None) == (second.kinds is None)
    if first.kinds is not None and second.kinds is not None:
        assert first.kinds.names == second.kinds.names
        np.testing.assert_allclose(first.kinds.values, second.kinds.values, rtol=1e-6)
    np.testing.assert_array_equal(first.features, second.features)


@pytest.mark.parametrize(
    "columns",
    [
        Columns(id="id"),
        Columns(id="id", weight="amount", merge="sum"),
        Columns(id="id", weight="amount", merge="max"),
        Columns(id="id", weight="amount", merge="last"),
        Columns(id="id", weight="amount", merge="sum", directed=True),
        Columns(id="id", weight="amount", merge="sum", edge_kind="kind"),
        Columns(id="id", edge_kind="kind", directed=True),
    ],
    ids=["plain", "sum", "max", "last", "directed", "kinds", "directed kinds"],
)
def test_joined_rows_are_those_of_one_table(columns: Columns) -> None:
    links = edges(N)
    numbers = links[["source", "target"]].map(lambda name: int(name[1:]))
    old = (numbers < KNOWN).all(axis=1).to_numpy(copy=True)
    # Some edges between known vertices come again with the new rows.
    old[::7] = False
    whole, encoder = gf.read_tables(links, VERTICES, columns=columns)
    ordered = pd.concat([links[old], links[~old]])
    whole = read(VERTICES, ordered, columns, encoder)
    known = read(VERTICES[:KNOWN], links[old], columns, encoder)
    new = VERTICES[KNOWN:].sample(frac=1, random_state=0)
    joined = join_tables(
        known, links[~old], new, title="what is known", columns=columns, encoder=encoder
    )
    names = joined.graph.vertex_names or ()
    order = [names.index(name) for name in whole.vertex_names or ()]
    equal(joined.graph.subgraph(order), whole)
    assert [names[row] for row in joined.rows] == new["id"].tolist()
    assert joined.n_updated == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_known_row_replaces_its_features(sparse: bool) -> None:
    columns = Columns(id="id")
    known, encoder = gf.read_tables(edges(KNOWN), VERTICES[:KNOWN], columns=columns)
    if sparse:
        import scipy.sparse as sp

        known = known.replace(features=sp.csr_array(known.features))
    rows = VERTICES.iloc[[3, 25, 7]].copy()
    rows["x"] = [10.0, 20.0, 0.0]
    links = pd.DataFrame({"source": ["v25"], "target": ["v3"]})
    joined = join_tables(
        known, links, rows, title="what is known", columns=columns, encoder=encoder
    )
    assert joined.rows.tolist() == [3, KNOWN, 7]
    assert joined.n_updated == 2
    expected = read(rows, links, columns, encoder).features
    found, before = cast(Any, joined.graph.features), cast(Any, known.features)
    if sparse:
        found, before = found.toarray(), before.toarray()
    np.testing.assert_array_equal(found[joined.rows], expected)
    others = np.setdiff1d(np.arange(KNOWN), [3, 7])
    np.testing.assert_array_equal(found[others], before[others])
    assert joined.graph.n_edges == known.n_edges + 1
    said = joined.describe(known, "what is known")
    assert said.endswith("with 1 new vertex, 2 known with the features given, 1 new edge")


def test_rows_without_edges_are_joined_alone() -> None:
    known, encoder = gf.read_tables(edges(KNOWN), VERTICES[:KNOWN], columns=Columns(id="id"))
    joined = join_tables(known, None, VERTICES[KNOWN:], title="it", encoder=encoder)
    (said,) = [note for note in joined.notes if "edges" in note]
    assert said == "no table of edges: new vertices have no neighbours."
    assert joined.graph.n_edges == known.n_edges
    assert joined.graph.n_vertices == N


def test_what_cannot_be_joined_is_refused() -> None:
    columns = Columns(id="id", weight="amount", merge="mean", edge_kind="kind")
    known, encoder = gf.read_tables(edges(KNOWN), VERTICES[:KNOWN], columns=columns)

    def join(links: pd.DataFrame, rows: pd.DataFrame, columns: Columns = columns) -> None:
        join_tables(known, links, rows, title="what is known", columns=columns, encoder=encoder)

    one = pd.DataFrame({"source": ["v25"], "target": ["v99"], "amount": [1.0], "kind": ["call"]})
    with pytest.raises(DataFileError, match="'v99' is not in vertices, nor in what is known"):
        join(one, VERTICES[KNOWN:])
    with pytest.raises(DataFileError, match="also on row"):
        join(one, VERTICES.iloc[[25, 25]])
    again = edges(KNOWN)[:1]
    with pytest.raises(GraphError, match="the mean weight of rows"):
        join(again, VERTICES[KNOWN:])
    with pytest.raises(GraphError, match="must be one of the graph's"):
        join(one.assign(target="v3", kind="fax"), VERTICES[KNOWN:])
    with pytest.raises(GraphError, match="edges must have one of the types"):
        join(one.assign(target="v3"), VERTICES[KNOWN:], Columns(id="id", weight="amount"))

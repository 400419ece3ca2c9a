"""Tables of vertices before they are understood: one per kind, repeated rows, infinite numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphfilter as gf
from graphfilter.data import read_tables
from graphfilter.util.errors import DataFileError

USERS = "user_id,age,churn\n" + "".join(f"u{i},{20 + i},{i % 2}\n" for i in range(30))
GOODS = "good_id,price\n" + "".join(f"g{i},{i * 1.5}\n" for i in range(20))
BUYS = "from,to\n" + "".join(f"u{i},g{i % 20}\n" for i in range(30))


def write(folder: Path, **tables: str) -> list[Path]:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return [folder / f"{name}.csv" for name in tables]


def test_one_table_per_kind_is_one_table_with_the_kind(tmp_path: Path) -> None:
    users, goods, buys = write(tmp_path, users=USERS, goods=GOODS, buys=BUYS)
    graph, encoder = read_tables(buys, [users, goods], label="churn")
    assert encoder.vertex_kind == "kind"
    assert graph.vertex_names == (*(f"u{i}" for i in range(30)), *(f"g{i}" for i in range(20)))
    assert graph.labels is not None
    assert (graph.labels[30:] == -1).all()
    rows = [f"{i},{20 + i},,{i % 2},users\n" for i in range(30)]
    one = "id,age,price,churn,kind\n" + "".join(f"u{row}" for row in rows)
    one += "".join(f"g{i},,{i * 1.5},,goods\n" for i in range(20))
    by_hand, _ = read_tables(buys, write(tmp_path, one=one)[0], label="churn", vertex_kind="kind")
    assert graph.feature_names is not None
    assert by_hand.feature_names is not None
    order = [by_hand.feature_names.index(name) for name in graph.feature_names]
    np.testing.assert_array_equal(graph.features, np.asarray(by_hand.features)[:, order])
    np.testing.assert_array_equal(graph.edges, by_hand.edges)
    with pytest.raises(DataFileError, match="each kind must have one table"):
        read_tables(buys, [users, users])


def test_ids_that_repeat_between_kinds_are_told_apart_by_the_edges(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frames = {
        "users": pandas.DataFrame({"id": range(30), "age": range(30)}),
        "goods": pandas.DataFrame({"id": range(20), "price": range(20)}),
    }
    edges = pandas.DataFrame({"from": range(20), "to": range(20)}).astype(str)
    with pytest.raises(DataFileError, match="'users:0' and 'goods:0' are: ids repeat"):
        read_tables(edges, frames)
    edges["from"], edges["to"] = "users:" + edges["from"], "goods:" + edges["to"]
    graph, _ = read_tables(edges, frames)
    np.testing.assert_array_equal(graph.edges, [[i, 30 + i] for i in range(20)])


def test_repeated_rows_and_infinite_numbers_are_counted_and_may_be_left_out(tmp_path: Path) -> None:
    rows = [
        f"{name},{x},a" for name, x in zip("pqrstv", (1, "inf", 3, 4, "-Infinity", 6), strict=True)
    ]
    table, edges = write(
        tmp_path, v="\n".join(["id,x,c", *rows, rows[1], rows[2], *rows[:1]]), e="from,to\np,q\nr,s"
    )
    with pytest.raises(
        DataFileError, match=r"'q' is also on line 3; 3 rows repeat an id.*drop_dup"
    ):
        read_tables(edges, table)
    with pytest.raises(DataFileError, match=r"line 3: .*inf is infinite.*allow_missing=True"):
        read_tables(edges, table, drop_duplicates=True)
    graph, _ = read_tables(edges, table, drop_duplicates=True, allow_missing=True)
    assert graph.vertex_names == tuple("pqrstv")
    said = "\n".join(graph.notes)
    assert "infinite numbers of 'x' missing (lines 3, 6, 8)" in said
    assert "3 rows that repeat another left out (lines 8, 9, 10)" in said
    assert graph.feature_names is not None
    known = np.asarray(graph.features)[:, graph.feature_names.index("x is missing")]
    np.testing.assert_array_equal(known, [0, 1, 0, 0, 1, 0])
    changed = table.read_text().replace("p,1,a", "p,2,a", 1)
    write(tmp_path, v=changed)
    with pytest.raises(DataFileError, match="'p' is also on line 2"):
        read_tables(edges, table, drop_duplicates=True, allow_missing=True)


def test_repeated_rows_do_not_make_another_column_the_id(tmp_path: Path) -> None:
    rows = [f"A{i},name {i % 9},{i}" for i in range(40)]
    edges = "\n".join(["from,to", *(f"A{i},A{i + 1}" for i in range(39))])
    table = "\n".join(["account_id,name,x", *rows, *rows[:2]])
    made = write(tmp_path, v=table, e=edges)
    with pytest.raises(DataFileError, match="vertex id 'A0' is also on line 2; 2 rows repeat"):
        read_tables(made[1], made[0])
    graph, _ = read_tables(made[1], made[0], drop_duplicates=True)
    assert graph.vertex_names == tuple(f"A{i}" for i in range(40))


def test_unknown_ends_are_counted_and_named(tmp_path: Path) -> None:
    table, edges = write(tmp_path, v="id,x\na,1\nb,2", e="from,to\na,b\na,y\nz,b\nz,y")
    with pytest.raises(DataFileError, match="3 edges name 2 such vertices: 'z', 'y'") as caught:
        read_tables(edges, table)
    assert caught.value.line == 3
    assert gf.read_tables(edges, table, allow_missing=True)[0].n_edges == 1


def test_infinite_numbers_are_looked_for_where_cells_are_words(tmp_path: Path) -> None:
    """A column of lists or maps stays what it is."""
    table = {"id": ["p", "q"], "x": [1.0, np.inf], "l": [[], []], "m": [{"k": 1}, None]}
    pq.write_table(pa.table(table), tmp_path / "v.parquet")
    graph, _ = read_tables(None, tmp_path / "v.parquet", allow_missing=True)
    said = "\n".join(graph.notes)
    assert "1 infinite number of 'x' missing" in said
    assert "column 'm' left out" in said

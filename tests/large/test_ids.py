"""Numbers of ids: those of a dictionary, whatever the ids and however their hashes collide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

import graphfilter as gf
from graphfilter import build_store
from graphfilter.data.store import map_names, write_text
from graphfilter.large import vertices
from graphfilter.large.vertices import IdIndex, hash_text
from graphfilter.util.errors import DataFileError

ODD_ONES = ["a", "a\0", "\0", "", "b" * 8, "b" * 9, "Zoë", "7", "007", " 7", "c" * 512]
LONG_ONES = ["c" * 600, "c" * 599 + "d", "c" * 512 + "d", "c" * 513]
# Hashes of which many, or all, are equal; the last is that of the key where searches end.
COLLIDING = {
    "few": lambda text: hash_text(text) % np.uint64(3) << np.uint64(62),
    "none": lambda text: np.zeros(len(text), np.uint64),
    "all ones": lambda text: ~np.zeros(len(text), np.uint64),
}


def index_of(words: list[str], folder: Path, **options: int) -> IdIndex:
    names = map_names(folder, write_text(folder, [pa.array(words, pa.string())]))
    return IdIndex(names, **options)


def check_found(index: IdIndex, words: list[str], asked: list[str]) -> None:
    numbers = {word: number for number, word in enumerate(words)}
    expected = [numbers.get(word, -1) for word in asked]
    assert index.find(pa.array(asked, pa.string())).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, len(ODD_ONES)])
@pytest.mark.parametrize("hashing", [None, *COLLIDING])
def test_index_finds_the_numbers_of_a_dictionary(tmp_path, monkeypatch, n, hashing):
    if hashing is not None:
        monkeypatch.setattr(vertices, "hash_text", COLLIDING[hashing])
    words = [*LONG_ONES, *ODD_ONES][:n]
    check_found(index_of(words, tmp_path), words, [*ODD_ONES, *LONG_ONES, "unknown"])


@settings(max_examples=25, deadline=None)
@given(words=st.lists(st.text(max_size=20), min_size=1, max_size=30, unique=True), data=st.data())
def test_index_finds_the_numbers_of_any_text(words, data, tmp_path_factory):
    asked = data.draw(st.lists(st.sampled_from(words) | st.text(max_size=20), max_size=30))
    check_found(index_of(words, tmp_path_factory.mktemp("ids")), words, asked)


def test_index_of_many_ids_is_made_and_asked_in_pieces(tmp_path):
    words = [f"user-{i:09d}" for i in range(5000)]
    index = index_of(words, tmp_path, at_once=64)
    check_found(index, words, words[::-1] + [f"user-{i:08d}" for i in range(5000)])
    assert index.first_repeated() is None


@pytest.mark.parametrize("hashing", [None, *COLLIDING])
@settings(max_examples=10, deadline=None)
@given(words=st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=12))
def test_first_repeated_id_is_the_first_that_stands_further_up(words, hashing, tmp_path_factory):
    seen = [words.index(word) for word in words]
    expected = next(((i, first) for i, first in enumerate(seen) if i != first), None)
    with pytest.MonkeyPatch.context() as patch:
        if hashing is not None:
            patch.setattr(vertices, "hash_text", COLLIDING[hashing])
        assert index_of(words, tmp_path_factory.mktemp("ids")).first_repeated() == expected


def write_tables(folder: Path, **more: Any) -> tuple[Path, Path]:
    names = np.array([f"v{i}" for i in range(50)])
    pairs = np.random.default_rng(0).integers(0, 50, (2, 400))
    columns = {"source": [*names[pairs[0]]], "target": [*names[pairs[1]]]}
    columns = {name: column + more.get(name, []) for name, column in columns.items()}
    parquet.write_table(pa.table(columns), folder / "e.parquet")
    parquet.write_table(pa.table({"id": names}), folder / "v.parquet")
    return folder / "e.parquet", folder / "v.parquet"


@pytest.mark.parametrize("hashing", COLLIDING)
def test_store_is_the_graph_in_memory_where_hashes_collide(tmp_path, monkeypatch, hashing):
    pytest.importorskip("duckdb", reason="stores are built by duckdb")
    monkeypatch.setattr(vertices, "hash_text", COLLIDING[hashing])
    tables = write_tables(tmp_path)
    build_store(*tables, tmp_path / "store", memory=1 << 30)
    opened = gf.open_store(tmp_path / "store")
    assert opened.checksum() == gf.read_tables(*tables)[0].checksum()
    build_store(tables[0], None, tmp_path / "listed", memory=1 << 30)
    listed = gf.open_store(tmp_path / "listed")
    assert list(listed.vertex_names or ()) == sorted(opened.vertex_names or ())
    assert listed.n_edges == opened.n_edges
    wrong = write_tables(tmp_path, source=["v1"], target=["v50"])
    with pytest.raises(DataFileError, match=r"row 401: .*'v50'"):
        build_store(*wrong, tmp_path / "wrong", memory=1 << 30)


def test_end_of_an_edge_without_a_name_is_refused(tmp_path):
    pytest.importorskip("duckdb", reason="stores are built by duckdb")
    edges, _ = write_tables(tmp_path, source=["v1"], target=[""])
    with pytest.raises(DataFileError, match="an end of an edge is empty"):
        build_store(edges, None, tmp_path / "store", memory=1 << 30)


def test_hash_of_a_text_does_not_depend_on_its_place() -> None:
    words = [*ODD_ONES, *LONG_ONES]
    whole = hash_text(pa.array(words))
    alone = [int(hash_text(pa.array([word]))[0]) for word in words]
    assert whole.tolist() == alone
    assert hash_text(pa.array(words).slice(3, 5)).tolist() == alone[3:8]
    assert hash_text(pa.array(words, pa.large_string())).tolist() == alone
    assert len(set(alone)) == len(words)


def test_hashes_of_ids_that_count_up_fill_all_places_evenly() -> None:
    hashes = hash_text(pa.array([f"user-{i:09d}" for i in range(1 << 14)]))
    for shift in (0, 32, 52):
        counts = np.bincount(hashes.astype(np.int64) >> shift & 4095, minlength=4096)
        # Independent throws of 4 on average: a variance of 4, give or take 3 %.
        assert counts.var() == pytest.approx(4, rel=0.15)

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import DataFileError, ModelFileError

PATH = "v.csv"


def fit(**columns: Any) -> TableEncoder:
    return TableEncoder.fit(pa.table(columns), PATH)


def encode(encoder: TableEncoder, **columns: Any) -> np.ndarray:
    features = encoder.transform(pa.table(columns), PATH)
    return features if isinstance(features, np.ndarray) else features.toarray()


def test_numbers_of_every_kind_are_taken_as_they_are() -> None:
    columns = {
        "text": ["1", " -2.5e1 ", "+3"],
        "whole": pa.array([1, 2, 3], pa.int64()),
        "decimal": pa.array([Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(5, 1)),
        "truth": [True, False, True],
        "words": ["TRUE", "false", "true"],
        "packed": pa.array(["7", "8", "7"]).dictionary_encode(),
    }
    encoder = fit(**columns)
    assert encoder.feature_names == tuple(columns)
    assert encoder.notes == (
        "2 columns read as numbers ('text', 'packed'); "
        "to change this: `kinds=(('NAME', 'category'),)`.",
    )
    expected = [[1, 1, 1, 1, 1, 7], [-25, 2, 2, 0, 0, 8], [3, 3, 3, 1, 1, 7]]
    np.testing.assert_array_equal(encode(encoder, **columns), expected)


@given(st.lists(st.sampled_from(["red", "green", "blue", "", " red", "é,="]), min_size=1))
def test_one_hot_rows_sum_to_one_where_the_cell_is_not_empty(words: list[str]) -> None:
    table = pa.table({"colour": words})
    encoder = TableEncoder.fit(table, PATH, categorical=["colour"])
    matrix = encode(encoder, colour=words)
    assert set(np.unique(matrix)) <= {0, 1}
    np.testing.assert_array_equal(matrix.sum(axis=1), [word.strip() != "" for word in words])
    for row, word in zip(matrix, words, strict=True):
        if word:
            assert encoder.feature_names[row.argmax()] == f"colour={word.strip()}"


def test_notes_say_what_was_encoded_and_what_was_left_out() -> None:
    n = 100
    encoder = fit(
        colour=["red", "blue", "", "green"] * 25,
        comment=[f"text {i}" for i in range(n)],
        nothing=[""] * n,
        bytes=pa.array([b"x"] * n),
    )
    assert encoder.feature_names == ("colour=blue", "colour=green", "colour=red")
    assert encoder.notes == (
        "column 'colour' has 3 values: one feature per value, empty cells as zeros (to change "
        "this: `kinds=(('colour', 'drop'),)`).",
        "column 'comment' left out: 100 different values in 100 rows look like text or "
        "identifiers (to change this: `kinds=(('comment', 'category'),)`).",
        "column 'nothing' left out: it is empty.",
        "column 'bytes' left out: binary is neither a number nor a word.",
    )


@pytest.mark.parametrize(
    ("n_rows", "n_distinct", "n_used"),
    [(20, 20, 20), (21, 11, 10), (22, 11, 11), (2000, 1000, 1000), (2002, 1001, 1001), (25, 24, 1)],
)
def test_of_many_values_those_that_rows_share_are_used(
    n_rows: int, n_distinct: int, n_used: int
) -> None:
    words = [f"w{i % n_distinct}" for i in range(n_rows)]
    encoder = fit(x=words)
    assert len(encoder.feature_names) == n_used
    features, said = encoder.encode(pa.table({"x": [*words, "new"]}), PATH)
    assert features.sum() == n_rows - n_distinct + n_used
    assert bool(said) == (n_used == n_distinct)
    table = pa.table({"x": words})
    assert len(TableEncoder.fit(table, PATH, categorical=["x"]).feature_names) == n_distinct


def test_values_that_no_rows_share_are_left_out() -> None:
    table = pa.table({"x": [f"w{i}" for i in range(21)]})
    assert not TableEncoder.fit(table, PATH).columns
    with pytest.raises(DataFileError, match="look like text"):
        TableEncoder.fit(table, PATH, required=["x"])


TITLES = ["red house by the sea", "blue house", "old red boat", "the boat of 1962", "x86_64 boat"]


def test_words_are_sublinear_tfidf_of_length_one() -> None:
    """Against scikit-learn's own; words are split at punctuation, digits are part of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    cells = [f"{TITLES[i % 5]} {TITLES[i % 3]} n{i}" for i in range(40)]
    encoder = TableEncoder.fit(pa.table({"x": cells}), PATH, kinds={"x": "text"})
    names = [n.removeprefix("x: ") for n in encoder.feature_names if n.startswith("x: ")]
    assert {"red", "x86", "64", "1962"} <= set(names)
    assert not any(name.startswith("n") for name in names)
    counter = TfidfVectorizer(
        sublinear_tf=True, token_pattern=r"[^\W_]+", min_df=2, vocabulary=names
    )
    expected = counter.fit_transform(cells).toarray()
    np.testing.assert_allclose(encode(encoder, x=cells)[:, : len(names)], expected, atol=1e-4)


def test_names_have_features_for_parts_of_their_words() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    cells = [f"{a}-{b}@{c}.org" for a in ("ann", "bob", "eve") for b in ("python", "pyramid")
             for c in ("debian", "ubuntu", "fedora")]  # fmt: skip
    encoder = fit(x=[f"{cell}{i}" for i, cell in enumerate(cells * 2)])
    grams = [n.removeprefix("x (letters): ") for n in encoder.feature_names if "letters" in n]
    assert " py" in grams
    counter = TfidfVectorizer(
        sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 4), vocabulary=grams
    )
    words = [f"{cell}{i}".replace("-", " ").replace("@", " ").replace(".", " ")
             for i, cell in enumerate(cells * 2)]  # fmt: skip
    expected = counter.fit_transform(words).toarray()
    got = encode(encoder, x=[f"{cell}{i}" for i, cell in enumerate(cells * 2)])
    np.testing.assert_allclose(got[:, -len(grams) :], expected, atol=1e-4)


def test_codes_and_hashes_are_no_names() -> None:
    import uuid

    random = np.random.default_rng(0)
    hashes = [str(uuid.UUID(bytes=random.bytes(16))) for _ in range(3000)]
    encoder = fit(a=hashes, b=[f"customer-{i:05}" for i in range(3000)])
    assert not encoder.columns


def test_all_words_of_a_table_have_a_bounded_number_of_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graphfilter.tables.words.MOST_WIDE", 30)
    values = [f"v{i % 40}" for i in range(1000)]
    encoder = fit(few=["a", "b"] * 500, many=values, more=[f"{v} x" for v in values])
    assert len(encoder.feature_names) == 30
    loaded = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert loaded == encoder


def test_a_mostly_numeric_column_is_never_silently_categorical() -> None:
    with pytest.raises(DataFileError, match=r"'abc' is not a number.*`categorical=") as caught:
        fit(age=["1", "2", "abc"])
    assert caught.value.line == 4
    table = pa.table({"age": ["1", "2", "abc"]})
    forced = TableEncoder.fit(table, PATH, categorical=["age"])
    assert forced.feature_names == ("age=1", "age=2", "age=abc")


GAPS = [["1", "", "2"], ["1", "NA", "2"], [1, None, 2], [1.0, np.nan, 2]]


@pytest.mark.parametrize("values", GAPS)
def test_missing_numbers_are_the_median_and_marked(values: list[Any]) -> None:
    encoder = fit(age=["1", "7", "", "3"])
    assert encoder.feature_names == ("age", "age is missing")
    assert "1 column has missing values ('age')" in encoder.notes[-1]
    np.testing.assert_array_equal(encode(encoder, age=values), [[1, 0], [3, 1], [2, 0]])


def test_missing_numbers_where_none_was_are_the_median_and_said() -> None:
    encoder = fit(age=["1", "7", "3"])
    features, notes = encoder.encode(pa.table({"age": ["1", "", "2"]}), PATH)
    np.testing.assert_array_equal(features, [[1], [3], [2]])
    assert "1 value is missing" in notes[0]


def test_unseen_categories_are_zeros_and_said() -> None:
    encoder = fit(colour=["red", "blue"])
    np.testing.assert_array_equal(encode(encoder, colour=["mauve", "red", ""])[:, 1], [0, 1, 0])
    _, (note,) = encoder.encode(pa.table({"colour": ["mauve", "red", ""]}), PATH)
    assert "1 value not seen in training ('mauve')" in note
    assert encoder.encode(pa.table({"colour": ["red"]}), PATH)[1] == ()


def test_a_new_table_must_have_the_columns_and_kinds_of_the_old() -> None:
    encoder = fit(age=["1", "2"])
    with pytest.raises(DataFileError, match="no column 'age'; did you mean 'Age'"):
        encode(encoder, Age=["1"])
    with pytest.raises(DataFileError, match="'old' is not a number"):
        encode(encoder, age=["old"])
    with pytest.raises(DataFileError, match="must hold one number per row; got list"):
        encode(encoder, age=[[1], [2]])


def test_features_are_sparse_below_a_quarter_and_dense_from_there() -> None:
    for n_categories, is_sparse in ((4, False), (5, True)):
        table = pa.table({"x": [f"w{i % n_categories}" for i in range(60)]})
        features = TableEncoder.fit(table, PATH).transform(table, PATH)
        assert sp.issparse(features) is is_sparse
        assert features.dtype == np.float32
        assert features.shape == (60, n_categories)


def test_a_wide_one_hot_is_never_dense() -> None:
    # Dense, these would be 30,000 x 30,000 float32: 3.6 GB.
    table = pa.table({"x": [f"w{i}" for i in range(30_000)]})
    features = TableEncoder.fit(table, PATH, categorical=["x"]).transform(table, PATH)
    assert isinstance(features, sp.csr_array)
    assert (features.nnz, features.shape) == (30_000, (30_000, 30_000))


def test_encoder_survives_json() -> None:
    encoder = fit(age=["1", "2", "3"], colour=["red", "é", ""])
    assert TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict()))) == encoder


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        {},
        {"columns": [{"name": "x"}], "notes": []},
        {"columns": [{"name": "x", "kind": "nubmer", "categories": []}], "notes": []},
        {"columns": [{"name": "x", "kind": "number", "categories": None}], "notes": []},
        *(
            {"columns": [{"name": "x", "categories": [], **fields}], "notes": []}
            for fields in (
                {"kind": "date", "fill": [1.0], "parts": ["days"], "spelling": "%"},
                {"kind": "date", "fill": [1.0], "parts": ["days"], "spelling": "%Y%Q"},
                {"kind": "date", "fill": [1.0], "parts": ["days"], "origin": -800_000},
                {"kind": "date", "fill": [], "parts": []},
                {"kind": "number", "fill": [1.0], "spelling": "%Y-%m-%d"},
                {"kind": "number"},
                {"kind": "number", "fill": [1.0, 2.0]},
                {"kind": "number", "fill": [float("nan")]},
                {"kind": "list"},
                {"kind": "category", "categories": ["a", "a"]},
                {"kind": "text", "categories": ["a"], "weights": [float("inf")]},
            )
        ),
    ],
)
def test_a_damaged_encoder_is_our_error(values: Any) -> None:
    with pytest.raises(ModelFileError, match="damaged"):
        TableEncoder.from_dict(values)


def test_dates_of_a_typed_column_are_read_from_text_too() -> None:
    """A Parquet knows dates as such and has no spelling; an empty one once ended in a crash."""
    encoder = fit(day=[date(2024, 3, 1), date(2024, 3, 11)])
    np.testing.assert_array_equal(encode(encoder, day=["2024-03-02", "2024-03-05"]), [[1], [4]])
    with pytest.raises(DataFileError, match="'yes' is not a date"):
        encode(encoder, day=["yes", "no"])


def test_dates_beyond_the_calendar_are_left_out() -> None:
    far = pa.array([2**61, 2**62], pa.timestamp("us"))
    encoder = fit(x=[1, 2], day=far)
    assert encoder.feature_names == ("x",)
    assert "'day' left out: its dates must be of the years 1 to 9999" in " ".join(encoder.notes)
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder


def test_a_missing_column_without_a_name_is_said() -> None:
    encoder = TableEncoder.fit(pa.table({"": [1, 2]}), "t")
    assert encoder.transform(pa.table({"": [1, 2]}), "t").shape == (2, 1)
    with pytest.raises(DataFileError, match="there is no column ''"):
        encoder.transform(pa.table({"age": [1, 2]}), "t")


def test_columns_that_version_0_2_saved_encode_as_before() -> None:
    """Words of letters alone, weighed by how often they occur; per cent beside plain numbers."""
    saved = {
        "columns": [
            {"name": "t", "kind": "text", "categories": ["late", "parcel"], "weights": [2.0, 1.0]},
            {"name": "n", "kind": "number", "categories": [], "fill": [1.0]},
            {"name": "d", "kind": "date", "categories": [], "fill": [0.0], "spelling": "%d.%m.%y",
             "parts": ["days"], "origin": 0},
        ],
        "notes": [],
    }  # fmt: skip
    encoder = TableEncoder.from_dict(saved)
    cells = {"t": ["late late2 Parcel parcel"], "n": ["50 %"], "d": ["02.01.70"]}
    expected = np.array([4, 2]) / np.sqrt(20)  # two of each word, weighed
    np.testing.assert_allclose(encode(encoder, **cells), [[*expected, 0.5, 1]], rtol=1e-6)
    np.testing.assert_allclose(encode(encoder, **{**cells, "n": ["50"]})[0, 2], 50)

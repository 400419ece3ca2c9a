"""What is guessed about tables, what is said of it, and what is refused instead."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from graphfilter.data import Columns, TextOptions, read_tables
from graphfilter.data.graph import Graph
from graphfilter.tables.cells import Cells
from graphfilter.tables.dates import find_spelling, read_seconds, read_word
from graphfilter.tables.numbers import find_decimal_signs, parse_numbers
from graphfilter.tables.text_files import find_delimiter, find_encoding
from graphfilter.util.errors import ConfigError, DataFileError

VERTICES = "id,label,age\na,x,1\nb,y,2\nc,,3\n"
EDGES = "source,target\na,b\nb,c\n"

in_one_folder = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(folder: Path, edges: str, vertices: str, **options: Any) -> Graph:
    paths = folder / "edges.csv", folder / "vertices.csv"
    for path, text in zip(paths, (edges, vertices), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return read_tables(*paths, **options)[0]


def dense(graph: Graph) -> Any:
    features: Any = graph.features
    return features.toarray() if hasattr(features, "toarray") else features


@pytest.mark.parametrize(
    ("edges", "vertices", "words"),
    [
        (
            "u,v\n123,7\n",
            "id\n000123\n000007\n",
            "'000123' is: blanks, invisible characters, upper case, zeros in front",
        ),
        (
            "u,v\n100.0,200.0\n",
            "id\n100\n200\n",
            "'100' is: blanks, invisible characters, upper case, zeros in front and decimals",
        ),
        ("u,v\na,b\n", "a,1\nb,2\n", "a column has that name: its first line may be"),
        ("u,v\na ,b\n", "id\na\nb\n", "'a' is: blanks, invisible"),
        ("u,v\nA,B\n", "id\na\nb\n", "'a' is: blanks, invisible characters, upper case"),
        ("u,v\nann,bob\n", ",age\n0,5\n1,6\n", "column 'age' may not be the id. Name the column"),
        ("u,v\nann,bob\n", "id,age\n0,5\n1,6\n", "column 'id' may not be the id. Name the"),
    ],
)
def test_ids_that_do_not_match_are_explained(
    tmp_path: Path, edges: str, vertices: str, words: str
) -> None:
    with pytest.raises(DataFileError) as caught:
        read(tmp_path, edges, vertices)
    assert words in str(caught.value)
    assert "`allow_missing=True`" in str(caught.value)


def test_guesses_go_with_the_error_that_follows(tmp_path: Path) -> None:
    vertices = VERTICES.replace(",", ";").replace("id;", "key;")
    with pytest.raises(DataFileError, match="'zz' is not in") as caught:
        read(tmp_path, EDGES + "a,zz\n", vertices)
    notes = " ".join(caught.value.__notes__)
    for said in (
        "vertices.csv: found columns separated by semicolon",
        "'key' as the id (its values are in edges.csv)",
        "'label' as the label (by its name)",
        "'source' as the source (by its name)",
    ):
        assert said in notes


def test_a_copy_of_the_vertices_is_not_taken_for_edges(tmp_path: Path) -> None:
    numbers = "id,label,age\n0,1,5\n1,0,6\n2,1,7\n"
    with pytest.raises(DataFileError, match=r"it has the columns of vertices\.csv"):
        read(tmp_path, numbers, numbers)
    with pytest.raises(DataFileError, match=r"it has the columns of vertices\.csv"):
        read(tmp_path, "id,label\n0,1\n1,0\n", numbers)
    graph = read(tmp_path, numbers, numbers, columns=Columns(source="id", target="label"))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"{i / 7:.3f}" for i in range(60)], "60 different numbers on 60 labelled vertices"),
        ([f"{i},5" for i in range(60)], "60 different numbers"),
        ([str(i) for i in range(60)], "60 different numbers"),
        ([f"w{i}" for i in range(60)], "60 different words"),
    ],
)
def test_a_label_that_measures_is_refused(tmp_path: Path, cells: list[str], words: str) -> None:
    rows = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells))
    with pytest.raises(DataFileError, match=r"must be a few classes.*`(label|number)`") as caught:
        read(tmp_path, "u,v\n0,1\n", "id,label\n" + rows)
    assert words in str(caught.value)


def test_lone_points_of_weights_are_decimal_and_lone_commas_what_the_file_shows(
    tmp_path: Path,
) -> None:
    for cells, weights in (
        (("1.234", "2.345"), (1.234, 2.345)),
        (("1,234", "2,345"), (1.234, 2.345)),
        (("1.234,5", "2.000"), (1234.5, 2000)),
    ):
        edges = f"u;v;weight\na;b;{cells[0]}\nb;c;{cells[1]}\n"
        graph = read(tmp_path, edges, VERTICES)
        np.testing.assert_allclose(np.asarray(graph.edge_weights), weights, rtol=1e-6)


def test_many_classes_with_many_vertices_are_classes(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 100}\n" for i in range(1000))
    assert read(tmp_path, "u,v\n0,1\n", "id,label\n" + rows).n_classes == 100


def test_text_is_weighed_by_its_words(tmp_path: Path) -> None:
    texts = ["the parcel was late again", "pays every invoice in time", "asks w17 w5 w301 w17"]
    rows = "".join(f"{i},{texts[i % 3]} number {i}\n" for i in range(60))
    graph = read(tmp_path, "u,v\n0,1\n", "id,comment\n" + rows)
    assert graph.feature_names is not None
    assert {"comment: invoice", "comment: w17"} <= set(graph.feature_names)
    assert "comment: 7" not in graph.feature_names  # in one row
    np.testing.assert_allclose(np.linalg.norm(dense(graph), axis=1), 1, rtol=1e-5)
    assert any("read as text: TF-IDF" in note for note in graph.notes)


@pytest.mark.parametrize("tokens", [["w{}"] * 4, ["{}", "x86", "b{}c", "h{}"]])
def test_words_that_end_in_digits_are_words(tmp_path: Path, tokens: list[str]) -> None:
    texts = [" ".join(t.format((i + 7 * j) % 23) for j, t in enumerate(tokens)) for i in range(60)]
    rows = "".join(f"{i},{text} {i}{i}\n" for i, text in enumerate(texts))
    graph = read(tmp_path, "u,v\n0,1\n", "id,notes\n" + rows)
    assert any("read as text: TF-IDF" in note for note in graph.notes)


def test_columns_of_numbers_for_each_row_are_left_out_by_their_names(tmp_path: Path) -> None:
    rows = "".join(f"v{i},{1000 + i},{i}\n" for i in range(30))
    vertices = "id,customer_no,age\n" + rows
    graph = read(tmp_path, "u,v\nv0,v1\n", vertices)
    assert graph.feature_names == ("age",)
    assert any("'customer_no' left out" in note for note in graph.notes)
    told = read(
        tmp_path, "u,v\nv0,v1\n", vertices, columns=Columns(kinds=(("customer_no", "number"),))
    )
    assert told.feature_names == ("customer_no", "age")


def test_a_currency_that_changed_is_refused(tmp_path: Path) -> None:
    paths = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    read(tmp_path, EDGES, "id,price\na,1 €\nb,2 €\nc,3 €\n")
    _, encoder = read_tables(*paths)
    assert read(tmp_path, EDGES, "id,price\na,1\nb,2\nc,EUR 3\n", encoder=encoder).n_features == 1
    with pytest.raises(DataFileError, match=r"'price' must be in EUR, as when .* got USD"):
        read(tmp_path, EDGES, "id,price\na,$1\nb,$2\nc,$3\n", encoder=encoder)


def test_a_new_file_may_write_numbers_and_dates_otherwise(tmp_path: Path) -> None:
    german = "id;price;day\na;1.234,5;01.02.2024\nb;2,25;02.02.2024\nc;3;03.02.2024\n"
    graph = read(tmp_path, EDGES, german)
    _, encoder = read_tables(tmp_path / "edges.csv", tmp_path / "vertices.csv")
    english = 'id,price,day\na,"1,234.5",2024-02-01\nb,2.25,2024-02-02\nc,3,2024-02-03\n'
    again = read(tmp_path, EDGES, english, encoder=encoder)
    np.testing.assert_allclose(dense(again), dense(graph))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "ab"}, "one character or comma"),
        ({"encoding": "utf-9"}, "unknown encoding 'utf-9'"),
        ({"decimal": ";"}, "must be '.' or ','"),
    ],
)
def test_text_options_are_checked(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace(".", r"\.")):
        TextOptions(**options)


words = st.text(st.characters(categories=["L", "N"], max_codepoint=0x17F), min_size=1, max_size=6)
records = st.lists(st.tuples(words, words, words), min_size=1, max_size=6)


@given(records=records, sign=st.sampled_from(",;\t|"), quoted=st.booleans())
def test_the_delimiter_that_wrote_a_table_is_found(
    records: list[tuple[str, str, str]], sign: str, quoted: bool
) -> None:
    mark = '"' if quoted else ""
    head = "\n".join(sign.join(f"{mark}{word}{mark}" for word in record) for record in records)
    assert find_delimiter(head, ",", whole=True) == (sign, 0)


@given(text=words, encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_text_survives_every_unicode_encoding(text: str, encoding: str) -> None:
    content = f"id,label\n1,{text}\n".encode(encoding)
    found = find_encoding([content])
    assert content.decode(found).lstrip("\ufeff").endswith(f",{text}\n")


@given(text=st.text(st.sampled_from("abc äöüßéèñ"), min_size=1, max_size=20))
def test_western_text_survives_windows(text: str) -> None:
    content = f"id,label,a long enough header of plain words\n1,{text}\n".encode("cp1252")
    assert content.decode(find_encoding([content])).endswith(f",{text}\n")


@given(
    number=st.decimals(-(10**9), 10**9, places=2),
    decimal=st.sampled_from(".,"),
    unit=st.sampled_from(["", " €", " %", " USD"]),
    gap=st.sampled_from(["", "other", " ", "\u00a0", "\u202f"]),
)
def test_numbers_survive_every_spelling(number: Any, decimal: str, unit: str, gap: str) -> None:
    import pyarrow as pa

    other = "," if decimal == "." else "."
    gap = other if gap == "other" else gap
    plain = f"{number:,.2f}".replace(",", "~").replace(".", decimal).replace("~", gap)
    cells = Cells(pa.array([plain + unit, ""]))
    assert find_decimal_signs(cells).choose(None) == decimal
    read = parse_numbers(cells, decimal)
    expected = float(number) / (100 if "%" in unit else 1)
    np.testing.assert_allclose(read.values[0], expected, rtol=1e-12)
    assert np.isnan(read.values[1])
    assert not read.is_word.any()


@given(
    days=st.lists(st.dates(min_value=datetime.date(1950, 1, 1)), min_size=1),
    spelling=st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"]),
)
def test_dates_survive_their_spelling(days: list[Any], spelling: str) -> None:
    import pyarrow as pa

    days = [day for day in days if day.year < 2200] or [type(days[0])(2000, 1, 1)]
    cells = Cells(pa.array([day.strftime(spelling) for day in days]))
    assert find_spelling(cells.words, day_first=True) == spelling
    ours = read_seconds(cells, spelling)
    theirs = [(day - type(day)(1970, 1, 1)).total_seconds() for day in days]
    np.testing.assert_array_equal(ours, theirs)


NOON = 1_704_110_400


@pytest.mark.parametrize(
    ("word", "spelling", "seconds"),
    [
        ("2024-01-01T12:00", "%Y-%m-%d", NOON),
        ("2024-01-01  12:00:00,25", "%Y-%m-%d", NOON),
        ("2024-01-01T12:00:00.123Z", "%Y-%m-%d", NOON),
        ("2024-01-01 14:00+02:00", "%Y-%m-%d", NOON),
        ("2024-01-01 07:00 -05", "%Y-%m-%d", NOON),
        ("1/1/2024 12:00 pm", "%m/%d/%Y", NOON),
        ("1.1.24 12:00:01", "%d.%m.%y", NOON + 1),
        ("1.1.69", "%d.%m.%y", -365 * 86400),
        ("1 january 2024 12:00", "%d %B %Y", NOON),
        ("01-Jan-2024 12:00 UTC", "%d-%b-%Y", NOON),
        ("Jan 1, 2024", "%b %d, %Y", NOON - 12 * 3600),
        ("2023-02-30", "%Y-%m-%d", 1_677_715_200),
        ("12:30 AM", "time", 1800),
        ("23:59:59", "time", 86399),
        ("24:00", "time", np.nan),
        ("13:00 PM", "time", np.nan),
        ("12:00Z", "time", np.nan),
        ("2024-13-01", "%Y-%m-%d", np.nan),
        ("0000-01-01", "%Y-%m-%d", np.nan),
        ("2024-01-01 10:60", "%Y-%m-%d", np.nan),
        ("1 Foo 2024", "%d %b %Y", np.nan),
        ("٣-01-2024", "%d-%m-%Y", np.nan),
    ],
)
def test_dates_are_read_as_people_write_them(word: str, spelling: str, seconds: float) -> None:
    np.testing.assert_equal(read_word(word, spelling), float(seconds))


@in_one_folder
@given(
    values=st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=2, max_size=6),
    sign=st.sampled_from(";\t|"),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]),
    decimal=st.sampled_from(".,"),
)
def test_numbers_survive_files_of_every_kind(
    tmp_path: Path, values: list[float], sign: str, encoding: str, decimal: str
) -> None:
    rows = [f"v{i}{sign}{x:.3f}".replace(".", decimal) for i, x in enumerate(values)]
    (tmp_path / "v.csv").write_bytes("\r\n".join([f"id{sign}größe", *rows, ""]).encode(encoding))
    (tmp_path / "e.csv").write_text("u,v\nv0,v1\n")
    text = TextOptions(decimal=decimal)
    graph, _ = read_tables(tmp_path / "e.csv", tmp_path / "v.csv", text=text)
    assert graph.feature_names == ("größe",)
    np.testing.assert_allclose(dense(graph)[:, 0], np.array(values, np.float32), rtol=1e-6)

"""Ordinary tables as people have them, each with the graph that must come out.

Every case is the same four vertices and three edges, written with one quirk or several.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.data import Columns, TextOptions, read_tables
from graphfilter.data.graph import Graph
from graphfilter.util.errors import DataFileError

EDGES = "source,target\na,b\nb,c\nc,d\n"
VERTICES = "id,label,age\na,x,1\nb,y,2\nc,,3\nd,x,4\n"
IDS = ("a", "b", "c", "d")
AGES = [[1], [2], [3], [4]]


@dataclass(frozen=True)
class Messy:
    """Two files, and what must come out of them."""

    vertices: str | bytes = VERTICES
    edges: str | bytes = EDGES
    features: Any = field(default_factory=lambda: AGES)
    ids: tuple[str, ...] = IDS
    labels: tuple[str | None, ...] = ("x", "y", None, "x")
    suffix: str = ".csv"
    said: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def table(column: str, *cells: str, sep: str = ",") -> str:
    """Write the vertices with this column in place of the age."""
    head = sep.join(["id", "label", column])
    labels = ("x", "y", "", "x")
    rows = [sep.join(row) for row in zip(IDS, labels, cells, strict=True)]
    return "\n".join([head, *rows]) + "\n"


def other(text: str, sep: str) -> str:
    return text.replace(",", sep)


GERMAN = (
    "sep=;\r\nKundennr;Eintritt;Umsatz;Rabatt;Aktiv;Ort;Klasse\r\n"
    "a;01.02.2024;1.234,50 €;12,5 %;ja; Köln;x\r\nb;03.02.2024;;5 %;nein;Köln;y\r\n"
    "c;k.A.;999,00 €;0 %;ja;München;?\r\nd;05.02.2024;-1,00 €;100 %;ja;München ;x\r\n"
)
GERMAN_FEATURES = [
    [0, 0, 1234.5, 0, 0.125, 1, 1, 0],
    [2, 0, 999, 1, 0.05, 0, 1, 0],
    [2, 1, 999, 0, 0, 1, 0, 1],
    [4, 0, -1, 0, 1, 1, 0, 1],
]

CASES = {
    # What separates the columns.
    "comma": Messy(),
    "semicolon": Messy(other(VERTICES, ";"), other(EDGES, ";"), said="separated by semicolon"),
    "tab in csv": Messy(other(VERTICES, "\t"), other(EDGES, "\t"), said="separated by tab"),
    "pipe": Messy(other(VERTICES, "|"), other(EDGES, "|"), said="separated by pipe"),
    "tsv": Messy(other(VERTICES, "\t"), other(EDGES, "\t"), suffix=".tsv"),
    "comma in tsv": Messy(suffix=".tsv", said="separated by comma"),
    "tab in txt": Messy(other(VERTICES, "\t"), other(EDGES, "\t"), suffix=".txt"),
    "blank in txt": Messy(
        other(VERTICES.replace(",,", ",NA,"), " "), other(EDGES, " "), suffix=".txt"
    ),
    "semicolon, gzipped": Messy(
        gzip.compress(other(VERTICES, ";").encode()),
        gzip.compress(other(EDGES, ";").encode()),
        suffix=".csv.gz",
    ),
    "sep line": Messy("sep=;\n" + other(VERTICES, ";"), "sep=|\r\n" + other(EDGES, "|")),
    "quoted sep line": Messy('"sep=;"\n' + other(VERTICES, ";")),
    "two separators in two files": Messy(other(VERTICES, ";"), EDGES),
    "comma in a quoted cell": Messy(
        table("town", '"A, B"', '"A, B"', "C", "C"), features=[[1, 0], [1, 0], [0, 1], [0, 1]]
    ),
    "semicolons in quoted cells": Messy(
        table("town", '"A;B"', '"A;B"', "C", "C"), features=[[1, 0], [1, 0], [0, 1], [0, 1]]
    ),
    "told delimiter": Messy(
        other(VERTICES, "~"), other(EDGES, "~"), options={"text": TextOptions(delimiter="~")}
    ),
    "a title above the header": Messy(
        "Customers of 2024\n\n" + other(VERTICES, ";"), said="2 lines above the header"
    ),
    "a title with empty cells": Messy("Customers;;\nBerlin;;\n" + other(VERTICES, ";")),
    # How characters are written.
    "utf-8 mark": Messy(VERTICES.encode("utf-8-sig"), EDGES.encode("utf-8-sig")),
    "utf-16": Messy(VERTICES.encode("utf-16"), EDGES.encode("utf-16"), said="encoding utf-16"),
    "utf-16 without mark": Messy(VERTICES.encode("utf-16-le"), EDGES.encode("utf-16-be")),
    "utf-16 with tabs, as Excel's Unicode text": Messy(
        other(VERTICES, "\t").encode("utf-16"), other(EDGES, "\t").encode("utf-16"), suffix=".txt"
    ),
    "utf-8 mark and sep line": Messy(("sep=;\n" + other(VERTICES, ";")).encode("utf-8-sig")),
    "latin-1": Messy(
        VERTICES.replace("x", "é").encode("latin-1"),
        labels=("é", "y", None, "é"),
        said="encoding cp1252",
    ),
    "cp1252": Messy(table("price", "1 €", "2 €", "3 €", "4 €").encode("cp1252")),
    "told encoding": Messy(
        VERTICES.replace("x", "ł").encode("cp1250"),
        labels=("ł", "y", None, "ł"),
        options={"text": TextOptions(encoding="cp1250")},
    ),
    "cyrillic": Messy(
        VERTICES.replace("x", "привет как дела").replace("y", "хорошо спасибо").encode("cp1251"),
        labels=("привет как дела", "хорошо спасибо", None, "привет как дела"),
    ),
    "old Mac line ends": Messy(VERTICES.replace("\n", "\r"), EDGES.replace("\n", "\r")),
    # Numbers.
    "decimal commas": Messy(
        table("price", "1,5", "2,25", "3", "4,0", sep=";"), features=[[1.5], [2.25], [3], [4]]
    ),
    "decimal commas, quoted": Messy(
        table("price", '"1,5"', '"2,25"', "3", "4"), features=[[1.5], [2.25], [3], [4]]
    ),
    "English thousands": Messy(
        table("price", '"1,234"', '"12,345"', "3", "4"), features=[[1234], [12345], [3], [4]]
    ),
    "lone commas in a semicolon file": Messy(
        table("price", "1,234", "2,345", "3", "4", sep=";"), features=[[1.234], [2.345], [3], [4]]
    ),
    "German thousands": Messy(
        table("price", "1.234,5", "12.345", "3", "4", sep=";"),
        features=[[1234.5], [12345], [3], [4]],
    ),
    "thousands known by another column": Messy(
        "id;label;a;b\na;x;1.234;1,5\nb;y;2.345;2,5\nc;;3;3,5\nd;x;4;4,5\n",
        features=[[1234, 1.5], [2345, 2.5], [3, 3.5], [4, 4.5]],
    ),
    "lone points are decimal": Messy(
        table("price", "1.234", "2.345", "3", "4", sep=";"), features=[[1.234], [2.345], [3], [4]]
    ),
    "told decimal": Messy(
        table("price", "1.234", "2.345", "3", "4", sep=";"),
        features=[[1234], [2345], [3], [4]],
        options={"text": TextOptions(decimal=",")},
    ),
    "Swiss and French thousands": Messy(
        table("price", "1'234.5", "12\u00a0345.5", "3", "4"),
        features=[[1234.5], [12345.5], [3], [4]],
    ),
    "currencies": Messy(
        table("price", "$1.50", "-$2", "USD 3", "4 $"),
        features=[[1.5], [-2], [3], [4]],
        said="currency USD",
    ),
    "per cent": Messy(
        table("share", "10%", "25 %", "100%", "0"),
        features=[[0.1], [0.25], [1], [0]],
        said="per cent",
    ),
    "negative in brackets": Messy(
        table("price", "(1.50)", "2", "3", "4"), features=[[-1.5], [2], [3], [4]]
    ),
    # What is missing.
    "gaps in numbers": Messy(
        table("age", "1", "", "NA", "4"),
        features=[[1, 0], [2.5, 1], [2.5, 1], [4, 0]],
        said="1 column has missing values ('age')",
    ),
    "Excel errors": Messy(
        table("age", "1", "#N/A", "#DIV/0!", "4"), features=[[1, 0], [2.5, 1], [2.5, 1], [4, 0]]
    ),
    "an empty column": Messy(
        "id,label,age,none\na,x,1,\nb,y,2,\nc,,3,\nd,x,4,\n", said="'none' left out: it is empty"
    ),
    "empty columns without names": Messy("id,label,age,,\na,x,1,,\nb,y,2,,\nc,,3,,\nd,x,4,,\n"),
    # Truth values, words and dates.
    "yes and no": Messy(
        table("member", "yes", "No", "YES", ""), features=[[1, 0], [0, 0], [1, 0], [1, 1]]
    ),
    "ja und nein": Messy(table("aktiv", "ja", "nein", "Ja", "nein"), features=[[1], [0], [1], [0]]),
    "blanks around words": Messy(
        table("town", " A", "A ", "B", "B"), features=[[1, 0], [1, 0], [0, 1], [0, 1]]
    ),
    "ISO dates": Messy(
        table("day", "2024-02-01", "2024-02-03", "2024-03-01", "2024-02-01"),
        features=[[0], [2], [29], [0]],
        said="read as a date: days",
    ),
    "German dates": Messy(
        table("day", "1.2.2024", "03.02.2024", "01.03.2024", "1.2.2024"),
        features=[[0], [2], [29], [0]],
    ),
    "American dates": Messy(
        table("day", "2/1/2024", "2/13/2024", "3/1/2024", "2/1/2024"),
        features=[[0], [12], [29], [0]],
    ),
    "British dates": Messy(
        table("day", "1/2/2024", "13/2/2024", "1/3/2024", "1/2/2024"),
        features=[[0], [12], [29], [0]],
    ),
    "dates that could be either": Messy(
        table("day", "1/2/2024", "1/3/2024", "1/4/2024", "1/2/2024"),
        features=[[0], [1], [2], [0]],
        said="day and month could be swapped",
    ),
    "dates and times": Messy(
        table("when", "2024-02-01 12:00", "2024-02-02T00:00:00Z", "", "2024-02-01 18:00:00"),
        features=[[0.5, 12, 0], [1, 0, 0], [0.75, 12, 1], [0.75, 18, 0]],
    ),
    "times": Messy(
        table("when", "12:00", "18:30", "0:00", "6:00"), features=[[12], [18.5], [0], [6]]
    ),
    "a kind that was named": Messy(
        table("zip", "10", "10", "20", "20"),
        features=[[1, 0], [1, 0], [0, 1], [0, 1]],
        options={"columns": Columns(kinds=(("zip", "category"),))},
    ),
    "a column that was dropped by its kind": Messy(
        "id,label,age,plan\na,x,1,p\nb,y,2,q\nc,,3,p\nd,x,4,q\n",
        options={"columns": Columns(kinds=(("plan", "drop"),))},
    ),
    "words in a number that was named": Messy(
        table("age", "1", "two", "3", "x"),
        features=[[1, 0], [2, 1], [3, 0], [2, 1]],
        said="2 cells are not a number ('two', 'x')",
        options={"columns": Columns(kinds=(("age", "number"),))},
    ),
    # Which column is what.
    "an index that pandas wrote": Messy(
        ",id,label,age\n0,a,x,1\n1,b,y,2\n2,c,,3\n3,d,x,4\n",
        ",source,target\n0,a,b\n1,b,c\n2,c,d\n",
    ),
    "an index that pandas read and wrote": Messy(
        "Unnamed: 0,id,label,age\n0,a,x,1\n1,b,y,2\n2,c,,3\n3,d,x,4\n"
    ),
    "pandas' index is the id": Messy(
        ",label,age\n0,x,1\n1,y,2\n2,,3\n3,x,4\n",
        "u,v\n0,1\n1,2\n2,3\n",
        ids=("0", "1", "2", "3"),
        said="the unnamed column as the id (its values are in",
    ),
    "an id of another name": Messy(
        VERTICES.replace("id,", "kundennr,"), said="'kundennr' as the id (its values are in"
    ),
    "a name that is not the id": Messy(
        "name,key,label,age\nZoe,a,x,1\nZoe,b,y,2\nAnn,c,,3\nAnn,d,x,4\n",
        features=[[0, 1, 1], [0, 1, 2], [1, 0, 3], [1, 0, 4]],
        said="'key' as the id",
    ),
    "ends of other names": Messy(
        edges="day,buyer,seller\nMo,a,b\nTu,b,c\nWe,c,d\n",
        said="'buyer' as the source (its values are ids)",
        options={"columns": Columns(drop=("day",))},
    ),
    "names in capitals": Messy(
        VERTICES.replace("id,label", "Node ID,LABEL"), EDGES.replace("source,target", "FROM,To")
    ),
    "no header over the edges": Messy(edges="a;b\nb;c\nc;d\n", said="has no header"),
    "a loop for a header over the edges": Messy(edges="a,a\na,b\nb,c\nc,d\n", said="no header"),
    "unlabelled as it was named": Messy(
        VERTICES.replace("c,,", "c,unknown,"), options={"unlabelled": ("", "unknown")}
    ),
    "question marks are unlabelled": Messy(VERTICES.replace("c,,", "c,?,"), said="1 '?' read"),
    # Several at once.
    "an export from a German Excel": Messy(
        GERMAN.encode("cp1252"),
        "von;nach\r\na;b\r\nb;c\r\nc;d\r\n".encode("utf-16"),
        features=GERMAN_FEATURES,
        said="encoding cp1252",
    ),
    "a gzipped export from a German Excel": Messy(
        gzip.compress(GERMAN.encode("utf-8-sig")),
        gzip.compress(b"von|nach\na|b\nb|c\nc|d\n"),
        features=GERMAN_FEATURES,
        suffix=".csv.gz",
    ),
    "an American export": Messy(
        'Node,Label,Signed up,Revenue,Churned\na,x,1/31/2024,"$1,234.00",Y\n'
        'b,y,2/1/2024,"$999.50",N\nc,N/A,,$5,N\nd,x,2/1/2024,,Y\n',
        features=[
            [0, 0, 1234, 0, 1], [1, 0, 999.5, 0, 0], [1, 1, 5, 0, 0], [1, 0, 999.5, 1, 1],
        ],
    ),
}  # fmt: skip


def dense(graph: Graph) -> Any:
    features: Any = graph.features
    return features.toarray() if hasattr(features, "toarray") else features


@pytest.mark.parametrize("name", CASES)
def test_messy_tables_give_the_graph_that_is_meant(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    paths = [tmp_path / f"{table}{case.suffix}" for table in ("edges", "vertices")]
    for path, content in zip(paths, (case.edges, case.vertices), strict=True):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    graph, encoder = read_tables(*paths, **case.options)
    assert graph.vertex_names == case.ids
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert graph.labels is not None
    labels = tuple(None if c < 0 else graph.classes[c] for c in graph.labels)
    assert labels == case.labels
    np.testing.assert_allclose(dense(graph), case.features, atol=1e-6)
    assert graph.feature_names == encoder.feature_names
    assert case.said in " ".join(graph.notes)
    # What was understood once is understood again, with the encoder that was fitted.
    again, _ = read_tables(
        *paths, encoder=type(encoder).from_dict(encoder.to_dict()), **case.options
    )
    np.testing.assert_array_equal(dense(again), dense(graph))


def test_there_are_forty_messy_tables() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", ["long" * 500, "it's " * 400, "ö'\t\"x" * 400])
def test_error_has_the_beginning_of_a_long_name(name, tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    quoted = '"' + name.replace('"', '""') + '"'
    (tmp_path / "vertices.csv").write_text(table(quoted, "1", "2", "oops", "4"))
    with pytest.raises(DataFileError, match="must hold a number: 'oops'") as caught:
        read_tables(tmp_path / "edges.csv", tmp_path / "vertices.csv")
    said = str(caught.value)
    assert repr(name)[:150] in said
    assert len(said) < 1500 + len(str(tmp_path))

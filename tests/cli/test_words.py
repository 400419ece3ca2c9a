"""Messages of other rooms name Python's arguments; the command line says its options."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer.main
from hypothesis import given, strategies as st

import graphfilter
from graphfilter.cli.app import app
from graphfilter.cli.screen import ARGUMENTS, in_options, word_of
from graphfilter.util.errors import DataFileError

ROOT = Path(graphfilter.__file__).parent


def test_every_option_of_the_list_is_one_of_a_command() -> None:
    known: set[str] = set()
    groups = [typer.main.get_command(app)]
    while groups:
        command = groups.pop()
        groups += getattr(command, "commands", {}).values()
        known |= {word for each in command.params for word in each.opts}
    assert {*map(word_of, ARGUMENTS)} <= known


@pytest.mark.parametrize("room", ["tables", "data", "estimators", "runs", "report", "large"])
def test_every_argument_that_a_message_names_has_its_option(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in said:
                named = re.findall(r"`([a-z_]+)[`=]", str(node.value))
                assert {*named} <= {*ARGUMENTS}, f"{path.name}, line {node.lineno}"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("pass `allow_missing=True`", "pass --allow-missing"),
        ("`keep_graph=False` leaves it out", "--no-keep-graph leaves it out"),
        ("`drop=('my age',)`", "--drop 'my age'"),
        ("`kinds=(('a b', 'text'),)`", "--column 'a b=text'"),
        ("`model='sgf'`", "--model sgf"),
        ("a smaller `hidden_size`", "a smaller --hidden"),
        ("`y` and `drop=(' and ``", "`y` and `drop=(' and ``"),
    ],
)
def test_arguments_become_options(message: str, expected: str) -> None:
    assert in_options(message) == expected


@given(st.text())
def test_any_column_is_named_without_an_error(name: str) -> None:
    said = in_options(f"leave it out: `drop={(name,)}`.")
    assert said.startswith("leave it out: ")


def test_user_of_frames_is_told_arguments_of_python() -> None:
    import pandas as pd

    edges = pd.DataFrame({"source": ["a", "a"], "target": ["b", "nobody"]})
    vertices = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "label": ["p", "q"]})
    with pytest.raises(DataFileError, match=r"`allow_missing=True`") as caught:
        graphfilter.Graph.from_frames(vertices, edges)
    assert "--" not in str(caught.value)
    assert "--allow-missing" in in_options(str(caught.value))

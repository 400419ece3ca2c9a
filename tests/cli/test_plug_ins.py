"""Commands of installed packages: entry points of the group graphfilter.commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest
import typer
import typer.main
from tests.conftest import Outcome

from graphfilter.cli.app import OURS, Commands
from graphfilter.util.plugins import COMMANDS

Run = Callable[..., Outcome]


def greet(name: str = "you") -> None:
    """Greet someone."""
    typer.echo(f"hello {name}")


several = typer.Typer(help="Greet in several ways.")
several.command("loudly")(lambda: typer.echo("HELLO"))
several.command("softly")(lambda: typer.echo("hello"))


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "greet": "tests.cli.test_plug_ins:greet",
        "several": "tests.cli.test_plug_ins:several",
        "broken": "no_such_package:command",
        "fit": "tests.cli.test_plug_ins:greet",
    }
    points = {name: EntryPoint(name, value, COMMANDS) for name, value in values.items()}
    monkeypatch.setattr("graphfilter.cli.app.plug_ins", lambda group: points)
    # The parser is made anew, not the one that other tests share.
    monkeypatch.setattr(typer.main, "get_command", inspect.unwrap(typer.main.get_command))


def test_function_of_another_package_is_a_command(graphfilter: Run) -> None:
    assert graphfilter("greet", "--name", "Ada").out == "hello Ada\n"
    assert graphfilter("several", "loudly").out == "HELLO\n"
    assert "Greet someone." in graphfilter("--help").out


def test_command_of_this_package_is_not_replaced(graphfilter: Run) -> None:
    assert "--vertices" in graphfilter("fit", "--help").out


def test_broken_plug_in_is_one_line_and_leaves_the_others(graphfilter: Run) -> None:
    result = graphfilter("broken", "--any", "word", code=2)
    assert result.err.count("\n") == 1
    assert "broken of no_such_package:command cannot be imported" in result.err
    assert "No module named 'no_such_package'" in result.err
    assert "Cannot be loaded" in graphfilter("--help").out
    assert graphfilter("greet").out == "hello you\n"


def test_unknown_command_is_told_the_nearest(graphfilter: Run) -> None:
    assert "Did you mean 'greet'" in graphfilter("gret", code=2).err


@pytest.mark.parametrize("name", OURS)
def test_our_commands_are_where_the_table_says(name: str) -> None:
    assert Commands()[name].name == name

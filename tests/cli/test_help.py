"""Help: few options first, flags without a value, an example for every command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from graphfilter.cli.app import app, laid_out
from graphfilter.cli.options import PANELS, RUN


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Return every command that does something, by its words."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if not getattr(command, "commands", None) or command.params:
            yield " ".join((*path, name)), command
        if getattr(command, "commands", None):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())
# Those that name the options that come first.
FIRST = {words: c.first for words, c in COMMANDS.items() if getattr(c, "first", ())}


@pytest.mark.parametrize("words", COMMANDS)
def test_command_has_an_example_and_flags_take_no_value(words: str) -> None:
    command = COMMANDS[words]
    # bench table is another name of table.
    own = words.removeprefix("bench ") if words == "bench table" else words
    assert re.search(rf"Example:  graphfilter {own}\b", command.help), words
    for param in command.params:
        if getattr(param, "is_flag", False):
            assert param.metavar == "", param.name
        elif param.param_type_name == "option":
            assert param.metavar, f"{words}: --{param.name} needs a word for its value"


@pytest.mark.parametrize("words", FIRST)
def test_at_most_eight_options_come_first_and_the_others_are_more(words: str) -> None:
    assert len(FIRST[words]) <= 8
    options = [p for p in COMMANDS[words].params if p.param_type_name == "option"]
    first = [p.name for p in options if not p.rich_help_panel]
    assert tuple(first) == FIRST[words]
    others = [p.rich_help_panel for p in options[len(first) :]]
    assert all(panel.startswith("More: ") for panel in others)
    places = [PANELS.index(panel) for panel in others if panel in PANELS]
    assert places == sorted(places)


@pytest.mark.parametrize("words", [(), ("data",), ("fit",)])
def test_help_itself_takes_no_value(graphfilter, words: tuple[str, ...]) -> None:
    assert "<bool>" not in graphfilter(*words, "--help").out


def test_help_begins_with_a_short_line_per_option() -> None:
    for words, command in COMMANDS.items():
        for param in command.params:
            text = getattr(param, "help", "") or ""
            sentence = re.split(r"(?<=[.:;]) ", text)[0]
            assert text, f"{words}: --{param.name} has no help"
            assert len(sentence) <= 100, f"{words}: --{param.name}: {sentence}"


class Option:
    param_type_name = "option"

    def __init__(self, name: str, panel: str | None = None, *, is_flag: bool = False) -> None:
        self.name, self.rich_help_panel, self.is_flag = name, panel, is_flag
        self.metavar: str | None = None
        self.default: object = None


def test_layout_puts_the_named_first_and_the_rest_in_the_order_of_panels() -> None:
    given = [Option("a", PANELS[2]), Option("b"), Option("c", PANELS[0]), Option("d", PANELS[1])]
    found = laid_out(given, ("d", "b"))
    assert [option.name for option in found] == ["d", "b", "c", "a"]
    assert [option.rich_help_panel for option in found] == [None, None, PANELS[0], PANELS[2]]
    (left,) = laid_out([Option("e", is_flag=True)], ("b",))
    assert (left.rich_help_panel, left.metavar) == (RUN, "")
    # A command that names none keeps its options as they are declared.
    assert [option.name for option in laid_out([Option("z"), Option("y")], ())] == ["z", "y"]

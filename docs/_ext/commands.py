"""The commands and their options, written into docs/commands.md from the command line itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

PAGE = "docs/commands"
EXAMPLE = re.compile(r"^Example:\s+(graphfilter .*)$", re.M)


def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Return every command under a group with its full name, in the order of ``--help``."""
    for own, command in group.commands.items():
        full = f"{name} {own}"
        if getattr(command, "commands", None):
            if command.params:
                yield full, command
            yield from commands(command, full)
        else:
            yield full, command


def option_row(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.param_type_name == "argument":
        names = f"`{option.name.upper()}`"
    words = " ".join((getattr(option, "help", "") or "").split()).replace("|", r"\|")
    if option.required:
        words = f"{words} *Required.*"
    elif option.default not in (None, "", False, (), []) and not callable(option.default):
        words = f"{words} Default: `{option.default}`."
    return f"| {names} | {words} |"


def describe(name: str, command: Any) -> str:
    text = inspect.cleandoc(command.help or "")
    text = EXAMPLE.sub(r"```console\n$ \1\n```", text)
    panels: dict[str, list[str]] = {}
    for option in command.params:
        if option.name != "help":
            panel = getattr(option, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append(option_row(option))
    tables = [f"| | {panel} |\n|---|---|\n" + "\n".join(rows) for panel, rows in panels.items()]
    return "\n\n".join([f"## {name}", text, *tables])


def write_commands(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname != PAGE:
        return
    import typer.main

    from graphfilter.cli.app import app as command_line

    top = typer.main.get_command(command_line)
    parts = [describe(name, command) for name, command in commands(top, "graphfilter")]
    source[0] += "\n\n" + "\n\n".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", write_commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The commands: ours, and those of installed packages, each loaded when it is asked for.

A package adds a command by an entry point of the group ``graphfilter.commands``, which names a
function with typer's options, a dataclass as in :mod:`.options`, or a ``typer.Typer`` with several:

    [project.entry-points."graphfilter.commands"]
    audit = "my_package.commands:audit"
"""

from __future__ import annotations

import inspect
import os
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Any

import typer
import typer.core

from graphfilter.cli.options import MEANT, PANELS, RARE, RUN, renewed
from graphfilter.cli.screen import complain, tell
from graphfilter.util.errors import ConfigError, did_you_mean
from graphfilter.util.plugins import COMMANDS, plug_ins, why_broken
from graphfilter.version import __version__

# The commands of this package, in the order of --help. Their modules import what they need when
# they run.
OURS = {
    "inspect": "graphfilter.cli.inspect:Inspect",
    "fit": "graphfilter.cli.fit:Fit",
    "explain": "graphfilter.cli.explain:Explain",
    "predict": "graphfilter.cli.predict:Predict",
    "suggest": "graphfilter.cli.explain:Suggest",
    "serve": "graphfilter.cli.services:Serve",
    "store": "graphfilter.cli.store:Store",
    "studio": "graphfilter.cli.services:Studio",
    "data": "graphfilter.cli.data:app",
}

# The exit code of a command that cannot be run as it was given.
BAD_INPUT = 2
# In the docstring of a command: the section, and an entry of it.
_ATTRIBUTES = r"\n*Attributes\n-+\n"
_ATTRIBUTE = re.compile(r"^(\w+)(?: : (\S+))?\n((?: +.+\n?)+)", re.M)


class _LaidOut:
    """A command whose options are laid out, and which runs the dataclass that they make."""

    params: list[Any]

    def __init__(self, *args: Any, callback: Any = None, **options: Any) -> None:
        def run(**values: Any) -> Any:
            result = callback(**values)
            return result() if is_dataclass(result) and callable(result) else result

        text, *_ = re.split(_ATTRIBUTES, options.pop("help", None) or "")
        above: Any = super()
        above.__init__(*args, callback=callback and run, help=text.rstrip() or None, **options)
        self.first = tuple(getattr(callback, "first", "").split())
        kind: Any = getattr(callback, "__wrapped__", None)
        for base in reversed(getattr(kind, "__mro__", ())):
            documented = re.split(_ATTRIBUTES, inspect.cleandoc(base.__doc__ or ""))[1:]
            for name, metavar, words in _ATTRIBUTE.findall("".join(documented)):
                for param in self.params:
                    if param.name == name:
                        param.metavar, param.help = metavar or None, " ".join(words.split())
        self.params = laid_out(self.params, self.first)
        for param in self.params:
            param.hidden |= getattr(param, "rich_help_panel", None) in RARE

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
        args, notes = renewed(args, names)
        tell(notes, quiet="--quiet" in args)
        above: Any = super()
        return above.parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        above: Any = super()
        option = above.get_help_option(ctx)
        if option is not None:
            option.metavar = ""
        return option


class Command(_LaidOut, typer.core.TyperCommand):
    """A command whose help is laid out."""


class Group(_LaidOut, typer.core.TyperGroup):
    """A group of commands whose own options are laid out."""


def make_command(name: str, code: Any) -> Any:
    """Return the command of a dataclass or a function, or the group of a ``typer.Typer``."""
    if isinstance(code, typer.Typer):
        group = typer.main.get_group(code)
        group.name = name
        return group
    holder = typer.Typer(
        add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
    )
    holder.command(name, cls=Command)(code)
    return typer.main.get_command(holder)


def laid_out(params: list[Any], first: tuple[str, ...]) -> list[Any]:
    """Return the parameters in the order of help: arguments, the first options, the panels."""
    places: dict[str, tuple[int, int]] = {}
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
            if param.default is False:
                param.secondary_opts = []
        if param.param_type_name == "argument":
            places[param.name] = 0, 0
        elif param.name in first:
            param.rich_help_panel = None
            places[param.name] = 1, first.index(param.name)
        else:
            if first and not param.rich_help_panel:
                param.rich_help_panel = RUN
            panel = getattr(param, "rich_help_panel", None)
            places[param.name] = 2, PANELS.index(panel) if panel in PANELS else -1
    return sorted(params, key=lambda param: places[param.name])


class Commands(Mapping[str, Any]):
    """Commands by name, made when they are first used."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._made:
            return self._made[name]
        if name in OURS:
            command = make_command(name, pkgutil.resolve_name(OURS[name]))
            if isinstance(command, Group):
                # Those of packages, such as "data.NAME", are commands of a group of ours.
                for full, point in plug_ins(COMMANDS).items():
                    if full.startswith(f"{name}."):
                        command.add_command(load_plug_in(point), full.partition(".")[2])
        elif name[:1] != "-" and name in self._plug_ins:
            command = load_plug_in(self._plug_ins[name])
        else:
            raise KeyError(name)
        return self._made.setdefault(name, command)

    def __iter__(self) -> Iterator[str]:
        yield from OURS
        yield from (name for name in self._plug_ins if name not in OURS)

    def __len__(self) -> int:
        return len(list(iter(self)))

    @cached_property
    def _plug_ins(self) -> dict[str, EntryPoint]:
        return {name: point for name, point in plug_ins(COMMANDS).items() if "." not in name}


def load_plug_in(point: EntryPoint) -> Any:
    """Return the command that an installed package adds; where it cannot be loaded, one says so."""
    try:
        return make_command(point.name.rpartition(".")[2], point.load())
    except MemoryError:
        raise
    except Exception as error:  # Whatever another package's code does when it is imported.
        line = why_broken(point, error)

    def broken() -> None:
        raise ConfigError(line)

    broken.__doc__ = f"(Cannot be loaded: see graphfilter {point.name}.)"
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    holder = typer.Typer(add_completion=False)
    holder.command(point.name, context_settings=settings)(broken)
    return typer.main.get_command(holder)


class _Top(Group):
    """The group of all commands."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        commands: Any = Commands()
        self.commands = commands

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = typer.Typer(
    name="graphfilter",
    help="Label the vertices of a graph with a filter that is learned, not assumed.",
    epilog="Start with: graphfilter fit --dataset karate --out run",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    cls=_Top,
)


def _show_version(show: bool) -> None:
    if show:
        typer.echo(f"graphfilter {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Label the vertices of a graph with a filter that is learned, not assumed."""


def run_command(words: list[str]) -> int:
    """Run the command that these words name; return its exit code."""
    # The parser's errors are all of this kind.
    usage_error: type[BaseException] = typer.BadParameter.__mro__[1]
    command = typer.main.get_command(app)
    names = [*words, os.environ.get("PWD", "")]
    if not all(map(str.isascii, names)):
        from graphfilter.util.files import check_text

        # Arrow opens no file whose name is not, and finds that out after training.
        check_text(names, "the names of files and folders")
    try:
        with command.make_context("graphfilter", words) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except usage_error as error:
        raised: Any = error
        path = raised.ctx.command_path if raised.ctx else "graphfilter"
        if name := getattr(raised, "option_name", "") * hasattr(raised, "possibilities"):
            known = [word for param in raised.ctx.command.params for word in param.opts]
            hint = f"; did you mean {MEANT[name]!r}?" if MEANT.get(name) in known else ""
            raised.message = f"there is no option {name!r}{hint or did_you_mean(name, known)}"
            raised.possibilities = []
        message = " ".join(raised.format_message().split())
        # Empty where a command without words has shown its help.
        if message:
            end = "" if message.endswith((".", "?")) else "."
            complain(f"{message}{end} See {path} --help.")
        return BAD_INPUT
    return 0

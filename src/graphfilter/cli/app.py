"""The commands: ours, and those of installed packages, each loaded when it is asked for.

A package adds a command by an entry point of the group ``graphfilter.commands``, which names a
function with typer's options, a dataclass as described below, or a ``typer.Typer`` with several:

    [project.entry-points."graphfilter.commands"]
    audit = "my_package.commands:audit"

A command is a dataclass: its fields are its options, those of the classes it derives from
included, and calling an instance runs it. Its docstring is its help, and what stands there under
Attributes is the help of each option, after the word for its value. ``--help`` shows the options
used most first, in the order in which ``first`` names them; the others follow in the panels that
they declare (:data:`RUN` if none), in the order of :data:`PANELS`; those that are needed rarely
(:data:`RARE`) are shown by ``--help-all``.

>>> from dataclasses import dataclass
>>> from graphfilter.cli.app import make_command
>>> @dataclass(frozen=True, kw_only=True)
... class Greet:
...     '''Greet someone.
...
...     Attributes
...     ----------
...     name : NAME
...         Whom to greet.
...     loud
...         In capital letters.
...     '''
...
...     first = "name"
...     name: str = "you"
...     loud: bool = False
...
...     def __call__(self) -> None:
...         print(f"Hello {self.name.upper() if self.loud else self.name}.")
...
>>> command = make_command("greet", Greet)
>>> command.main(["--name", "Ada", "--loud"], standalone_mode=False)
Hello ADA.
>>> [(option.metavar, option.help) for option in command.params]
[('NAME', 'Whom to greet.'), ('', 'In capital letters.')]
"""

from __future__ import annotations

import inspect
import os
import pkgutil
import re

# Annotations are evaluated here and where options are declared: typer reads them.
from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import typer
import typer.core

from graphfilter.cli.screen import complain, tell
from graphfilter.util.errors import ConfigError, did_you_mean
from graphfilter.util.plugins import COMMANDS, plug_ins, why_broken
from graphfilter.version import __version__

TARGET = "What to predict"
TABLES = "Tables and graphs"
COLUMNS = "What the columns are (detected and reported if omitted)"
SPLIT = "Which vertices train, validate and test (60/20/20 at random if omitted)"
TRAINING = "Training"
ANSWER = "The answer"
RUN = "The run"
# Shown by --help-all only.
FEW_TABLES = "Rarely: how tables are written (detected and reported if omitted)"
FEW_TRAINING = "Rarely: training"
FEW_RUNS = "Rarely: the run"
RARE = (FEW_TABLES, FEW_TRAINING, FEW_RUNS)

PANELS = (TARGET, TABLES, COLUMNS, SPLIT, TRAINING, ANSWER, RUN, *RARE)
# What other tools call an option, or a newcomer would: a typo's nearest by meaning.
MEANT = {f"--{word}": f"--{option}" for option, words in {
    "vertices": "nodes table data", "edges": "links", "label": "y class predict outcome",
    "number": "regression value amount", "out": "output folder save", "overwrite": "force",
    "column": "ignore exclude numeric type category date", "split": "test-size test time",
    "model": "method algorithm", "cost": "budget budgets loss",
    "set": "metric score imbalanced class-weight parameter sep separator gpu name",
    "seconds": "minutes timeout", "epochs": "max-epochs iterations",
    "seed": "random-state", "unlabelled": "missing", "quiet": "silent", "resume": "continue",
    "coverage": "confidence interval",
}.items() for word in words.split()}  # fmt: skip
# Options of 0.2, until 0.4: the one that does it now, and its value.
OLD = {
    "--features": ("--column", "{}=only"), "--categorical": ("--column", "{}=category"),
    "--drop": ("--column", "{}=drop"), "--split-by": ("--split", "{}=time"),
    "--group": ("--split", "{}=group"), "--source": ("--from", "{}"), "--target": ("--to", "{}"),
    "--balanced": ("--set", "class_weight=balanced"), "--scale": ("--set", "scale={}"),
    "--number-scale": ("--set", "scale={}"), "--scaling": ("--set", "feature_scaling={}"),
    "--feature-scaling": ("--set", "feature_scaling={}"), "--patience": ("--set", "patience={}"),
    "--monitor": ("--set", "monitor={}"), "--members": ("--set", "n_members={}"),
    "--layers": ("--set", "n_layers={}"), "--hidden": ("--set", "hidden_size={}"),
    "--operator": ("--set", "operator={}"), "--init": ("--set", "filter_init={}"),
    "--dropout": ("--set", "dropout={}"), "--device": ("--set", "device={}"),
    "--drop-duplicates": ("--set", "drop_duplicates"), "--merge": ("--set", "merge={}"),
    "--clean-ids": ("--set", "clean_ids"), "--delimiter": ("--set", "delimiter={}"),
    "--encoding": ("--set", "encoding={}"), "--decimal": ("--set", "decimal={}"),
    "--vertex-kind": ("--set", "vertex_kind={}"), "--no-link": ("--set", "no_link"),
    "--label-anyway": ("--set", "label_anyway"), "--positive": ("--set", "positive={}"),
    "--keep-graph": ("--set", "keep_graph"), "--no-keep-graph": ("--set", "keep_graph=no"),
    "--forget-ids": ("--set", "forget_ids"), "--title": ("--set", "title={}"),
    "--excel-safe": ("--set", "excel_safe"),
}  # fmt: skip
# An option of fit of 0.2 that does nothing now, until 0.4; and those that are gone, with a remedy.
GONE = "--start-from"
REMOVED = {
    "--repeats": "graphfilter bench --models committee --runs 5 trains on five splits",
    "--embeddings": "clf.transform() gives them in Python",
}


def renewed(words: list[str], names: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command with options of 0.2 as those of today, and notes on them.

    Names that the command itself has are left alone.

    >>> renewed(["--drop", "a,b", "--scale=log"], ["--column", "--set"])[0]
    ['--column', 'a=drop', '--column', 'b=drop', '--set', 'scale=log']
    """
    made, notes = list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        old, equals, value = word.partition("=")
        if old == GONE and "--label" in names:
            value = value if equals else next(rest, "")
            notes.append(f"{GONE} {value}: a fit begins anew since 0.3; the option goes in 0.4.")
            continue
        new, form = OLD.get(old, ("", ""))
        is_old = new in names and old not in names
        if is_old and not equals:
            value = next(rest, None) if "{" in form else ""
        if not is_old or value is None:
            made.append(word)
            continue
        once = new not in ("--column", "--set")
        if once and new in [each.partition("=")[0] for each in (*made, *words)]:
            raise ConfigError(f"{old} is called {new} since 0.3, and given twice; give one.")
        parts = value.split(",") if new == "--column" else [value]
        made += [each for part in parts for each in (new, form.format(part.strip()))]
        what = "VALUE" if new == "--set" else "COLUMN"
        shown = new if form == "{}" else f"{new} {form.format(what)}"
        notes.append(f"{old} is called {shown} since 0.3; the old name goes in 0.4.")
    return made, notes


def option(
    help: str, metavar: str | None = None, panel: str | None = None, *, name: str = "", **rest: Any
) -> Any:
    """Declare an option with a value, which has the name of its parameter unless another is given.

    It is shown in a ``panel`` of the help; the ``rest`` is typer's.
    """
    names = [name] if name else []
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **rest)


def option_field(default: Any, panel: str | None = None, *, name: str = "", **rest: Any) -> Any:
    """Declare an option as a field of a command, shown in a ``panel`` of the help; ... is required.

    The docstring of the class says what it is for, under Attributes. One that is False has no --no
    form; the ``rest`` is typer's.
    """
    return typer.Option(default, *([name] if name else []), rich_help_panel=panel, **rest)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """Declare an option that is there or not; without a --no form."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def argument(help: str, metavar: str | None = None) -> Any:
    """Declare what is given by its place."""
    return typer.Argument(help=help, metavar=metavar)


def _show_all(context: typer.Context, value: bool) -> bool:
    if value:
        for param in context.command.params:
            setattr(param, "hidden", False)  # noqa: B010
        typer.echo(context.get_help())
        raise typer.Exit
    return value


Run = argument("The folder that fit wrote.", "RUN")
Quiet = Annotated[bool, flag("--quiet", "Print no progress and no notes.")]
HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Show all options, also those that are needed rarely.",
        callback=_show_all,
        is_eager=True,
    ),
]
Device = Annotated[str, option("Device: auto, cpu or cuda.", "NAME", FEW_RUNS)]
OwnModel = Annotated[
    str | None,
    option(
        "Model that the run was fitted with, as package.module:name, where it is your own.", "NAME"
    ),
]
Seed = Annotated[
    int, option("Seed: the same one gives the same result.", "N", min=0, max=2**32 - 1)
]


# The commands of this package, in the order of --help. Their modules import what they need when
# they run.
OURS = {
    "inspect": "graphfilter.cli.inspect:Inspect",
    "fit": "graphfilter.cli.fit:Fit",
    "explain": "graphfilter.cli.explain:Explain",
    "predict": "graphfilter.cli.predict:Predict",
    "suggest": "graphfilter.cli.explain:Suggest",
    "serve": "graphfilter.cli.services:Serve",
    "store": "graphfilter.cli.data:Store",
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
        if notes:
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
            hint = f" since 0.3; {REMOVED[name]}" if name in REMOVED else hint
            raised.message = f"there is no option {name!r}{hint or did_you_mean(name, known)}"
            raised.possibilities = []
        message = " ".join(raised.format_message().split())
        # Empty where a command without words has shown its help.
        if message:
            end = "" if message.endswith((".", "?")) else "."
            complain(f"{message}{end} See {path} --help.")
        return BAD_INPUT
    return 0

"""How a command declares its options.

A command is a dataclass: its fields are its options, those of the classes it derives from
included, and calling an instance runs it. Its docstring is its help, and what stands there under
Attributes is the help of each option, after the word for its value. ``--help`` shows the options
used most first, in the order in which ``first`` names them; the others follow in the panels that
they declare (:data:`RUN` if none), in the order of :data:`PANELS`; those that are needed rarely
(:data:`RARE`) are shown by ``--help-all``.

>>> from dataclasses import dataclass
>>> from typing import ClassVar
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
...     first: ClassVar[str] = "name"
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

# Annotations are evaluated here and where options are declared: typer reads them.
from collections.abc import Collection
from typing import Annotated, Any

import typer

from graphfilter.util.errors import ConfigError

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
PAPER = "Rarely: --model sgf only"
FEW_ANSWERS = "Rarely: the answer and its files"
FEW_RUNS = "Rarely: the run"
RARE = (FEW_TABLES, FEW_TRAINING, PAPER, FEW_ANSWERS, FEW_RUNS)

PANELS = (TARGET, TABLES, COLUMNS, SPLIT, TRAINING, ANSWER, RUN, *RARE)
# What other tools call an option, or a newcomer would: a typo's nearest by meaning.
MEANT = {
    "--nodes": "--vertices", "--table": "--vertices", "--data": "--vertices", "--links": "--edges",
    "--y": "--label", "--class": "--label", "--predict": "--label", "--outcome": "--label",
    "--regression": "--number", "--value": "--number", "--amount": "--number",
    "--output": "--out", "--folder": "--out", "--save": "--out", "--force": "--overwrite",
    "--ignore": "--column", "--exclude": "--column", "--numeric": "--column", "--type": "--column",
    "--category": "--column", "--date": "--column", "--test-size": "--split", "--test": "--split",
    "--time": "--split", "--cv": "--repeats", "--folds": "--repeats", "--method": "--model",
    "--algorithm": "--model", "--minutes": "--seconds", "--timeout": "--seconds",
    "--max-epochs": "--epochs", "--iterations": "--epochs", "--gpu": "--device",
    "--random-state": "--seed", "--sep": "--delimiter", "--separator": "--delimiter",
    "--missing": "--unlabelled", "--silent": "--quiet", "--continue": "--resume",
    "--confidence": "--coverage", "--interval": "--coverage", "--name": "--title",
    "--imbalanced": "--balanced", "--class-weight": "--balanced",
}  # fmt: skip
# Options of 0.2, until 0.4: the one that does it now, and what its value is followed by.
OLD = {
    "--features": ("--column", "=only"), "--categorical": ("--column", "=category"),
    "--drop": ("--column", "=drop"), "--split-by": ("--split", "=time"),
    "--group": ("--split", "=group"), "--scale": ("--number-scale", ""),
    "--scaling": ("--feature-scaling", ""), "--source": ("--from", ""), "--target": ("--to", ""),
}  # fmt: skip


def renewed(words: list[str], names: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command with options of 0.2 as those of today, and notes on them.

    Names that the command itself has are left alone.

    >>> renewed(["--drop", "a,b", "--scale=log"], ["--column", "--number-scale"])[0]
    ['--column', 'a=drop', '--column', 'b=drop', '--number-scale', 'log']
    """
    made, notes = list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        old, equals, value = word.partition("=")
        new, after = OLD.get(old, ("", ""))
        value = value if equals else next(rest, None) if new in names else value
        if new not in names or old in names or value is None:
            made += [word] if value is None or equals or new not in names else [word, value]
            continue
        if new != "--column" and new in [each.partition("=")[0] for each in (*made, *words)]:
            raise ConfigError(f"{old} is called {new} since 0.3, and given twice; give one.")
        parts = value.split(",") if new == "--column" else [value]
        made += [each for part in parts for each in (new, f"{part.strip()}{after}")]
        form = f"{new} COLUMN{after}" if after else new
        notes.append(f"{old} is called {form} since 0.3; the old name goes in 0.4.")
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
ExcelSafe = Annotated[
    bool,
    flag(
        "--excel-safe",
        "Protect Excel: in CSV files, ids and labels that it would run as formulas get an "
        "apostrophe in front.",
        FEW_RUNS,
    ),
]

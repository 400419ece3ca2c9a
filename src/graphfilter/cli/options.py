"""How a command declares its options.

A command is a dataclass: its fields are its options, those of the classes it derives from
included, and calling an instance runs it. Its docstring is its help, and what stands there under
Attributes is the help of each option, after the word for its value. ``--help`` shows the options
used most first, in the order in which ``first`` names them; the others follow in the panels that
they declare (:data:`RUN` if none), in the order of :data:`PANELS`.

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
from typing import Annotated, Any

import typer

TABLES = "More: tables"
OTHER = "More: other graphs"
COLUMNS = "More: columns (detected and reported if omitted)"
TEXT = "More: text files (detected and reported if omitted)"
TARGET = "More: what to predict"
SPLIT = "More: train, validation and test vertices (60/20/20 at random if omitted)"
TRAINING = "More: training"
PAPER = "More: --model sgf only"
TWO_CLASSES = "More: binary decision threshold"
ANSWER = "More: output"
RUN = "More: the run"

PANELS = (
    TABLES, OTHER, COLUMNS, TARGET, SPLIT, TRAINING, PAPER, TWO_CLASSES, ANSWER, RUN, TEXT,
)  # fmt: skip


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


Run = argument("The folder that fit wrote.", "RUN")
Quiet = Annotated[bool, flag("--quiet", "Print no progress and no notes.")]
Device = Annotated[str, option("Device: auto, cpu or cuda.", "NAME")]
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
    ),
]

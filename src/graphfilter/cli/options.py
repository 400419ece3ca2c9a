"""How a command declares its options, how ``--help`` lays them out, and those of several commands.

Options are typer's, declared once: as a parameter of a command or, where several commands have
them, as a field of a dataclass that they :func:`take <takes>`. ``--help`` shows the options used
most first, in the order that the command names them (``first``); the others follow in the panels
they declare (:data:`RUN` if none), in the order of :data:`PANELS`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import field, fields
from typing import Annotated, Any, get_type_hints

import typer
import typer.core

from graphfilter.util.errors import ConfigError

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
# With --quick.
QUICK_EPOCHS = 100

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


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """Declare an option that is there or not."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def option_field(default: Any, help: str, metavar: str = "", panel: str = "", **rest: Any) -> Any:
    """Declare an option as a field of a dataclass; one that is False has no --no form."""
    declared = option(help, metavar or None, panel or None, **rest)
    return field(default=default, metadata={"option": declared})


def argument(help: str, metavar: str | None = None) -> Any:
    """Declare what is given by its place."""
    return typer.Argument(help=help, metavar=metavar)


Quiet = Annotated[bool, flag("--quiet", "Print no progress and no notes.")]
Device = Annotated[str, option("Device: auto, cpu or cuda.", "NAME")]
Seed = Annotated[
    int, option("Seed: the same one gives the same result.", "N", min=0, max=2**32 - 1)
]
Scaling = Annotated[str, option("Feature scaling: auto, none, row or standardise.", "NAME")]
SplitRule = Annotated[
    str, option("Split rule: stratified, per_class, fixed, public, or fraction:0.1.", "RULE")
]
ExcelSafe = Annotated[
    bool,
    flag(
        "--excel-safe",
        "Protect Excel: in CSV files, ids and labels that it would run as formulas get an "
        "apostrophe in front.",
    ),
]


def takes(
    *kinds: type[Any], without: Collection[str] = (), first: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of dataclasses as options, ``without`` some.

    The command's first parameters are the dataclasses made of them; the others are options of its
    own. typer has no options in groups: it reads a signature, and gets that of all of them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [_parameters(kind, without) for kind in kinds]
        own = list(inspect.signature(command, eval_str=True).parameters.values())[len(kinds) :]
        own = [parameter.replace(kind=_KEYWORD) for parameter in own]
        # Arguments and required options, which have no default, come first.
        required = [parameter for parameter in own if parameter.default is parameter.empty]
        others = [parameter for parameter in own if parameter not in required]
        every = [*required, *(parameter for some in shared for parameter in some), *others]

        @functools.wraps(command)
        def run(**values: Any) -> None:
            made = [
                kind(**{parameter.name: values.pop(parameter.name) for parameter in some})
                for kind, some in zip(kinds, shared, strict=True)
            ]
            command(*made, **values)

        typed: Any = run
        typed.__signature__ = inspect.Signature(every)
        typed.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        typed.first = tuple(first.split())
        return run

    return decorate


def _parameters(kind: type[Any], without: Collection[str]) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters, ``without`` some."""
    hints = get_type_hints(kind, include_extras=True)
    made: list[inspect.Parameter] = []
    for one in fields(kind):
        hint, declared = hints[one.name], one.metadata.get("option")
        if one.name in without:
            continue
        if declared is not None:
            if one.default is False:
                declared.param_decls = (word(one.name),)
            hint = Annotated[hint, declared]
        made.append(inspect.Parameter(one.name, _KEYWORD, default=one.default, annotation=hint))
    return made


def word(name: str) -> str:
    """Return the option of a parameter as the user writes it."""
    return f"--{name.replace('_', '-')}"


class _LaidOut:
    params: list[Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        first: tuple[str, ...] = getattr(options.get("callback"), "first", ())
        self.params = laid_out(self.params, first)

    def get_help_option(self, ctx: Any) -> Any:
        above: Any = super()
        return _without_value(above.get_help_option(ctx))


class Command(_LaidOut, typer.core.TyperCommand):
    """A command whose help is laid out."""


class Group(_LaidOut, typer.core.TyperGroup):
    """A group of commands whose own options are laid out."""


def _without_value(flag: Any) -> Any:
    """Return an option of yes or no, which takes no value, without a word for one."""
    if flag is not None:
        flag.metavar = ""
    return flag


def laid_out(params: list[Any], first: tuple[str, ...]) -> list[Any]:
    """Return the parameters in the order of help: arguments, the first options, the panels."""
    for param in params:
        if getattr(param, "is_flag", False):
            _without_value(param)
        if param.name in first:
            param.rich_help_panel = None
        elif first and param.param_type_name == "option" and not param.rich_help_panel:
            param.rich_help_panel = RUN

    def place(param: Any) -> tuple[int, int]:
        if param.param_type_name == "argument":
            return 0, 0
        if param.name in first:
            return 1, first.index(param.name)
        panel = getattr(param, "rich_help_panel", None)
        return 2, PANELS.index(panel) if panel in PANELS else -1

    return sorted(params, key=place)


def given_words(context: typer.Context) -> list[str]:
    """Return the options that were given, not left at their defaults, as the user writes them."""
    return [
        word(name)
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]


def listed(text: str) -> tuple[str, ...]:
    """Return the parts of a text that are separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def limit_epochs(max_epochs: int | None, *, quick: bool) -> int | None:
    """Return the limit of epochs that --max-epochs or --quick sets."""
    if quick and max_epochs is not None:
        raise ConfigError("--quick and --max-epochs both limit the epochs: choose one.")
    return QUICK_EPOCHS if quick else max_epochs

"""How a command declares its options, and those that several commands have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import Field, field, fields
from typing import Annotated, Any, get_type_hints

import typer

from graphfilter.errors import ConfigError

# With --quick.
QUICK_EPOCHS = 100
# What a field has in its metadata.
_OPTION = "option"


def option(
    help: str, metavar: str | None = None, panel: str | None = None, *, name: str = "", **rest: Any
) -> Any:
    """Declare an option with a value, which has the name of its parameter unless another is given.

    It is shown in a ``panel`` of the help (:mod:`graphfilter.cli.help`); the ``rest`` is typer's.
    """
    names = [name] if name else []
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **rest)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """Declare an option that is there or not."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def option_field(default: Any, help: str, metavar: str = "", panel: str = "", **rest: Any) -> Any:
    """Declare a field of options that a command :func:`takes`, as :func:`option` does."""
    made = option(help, metavar or None, panel or None, **rest)
    return field(default=default, metadata={_OPTION: lambda _: made})


def flag_field(help: str, panel: str = "") -> Any:
    """Declare a field that is there or not, as :func:`flag` does; the option has its name."""
    return field(default=False, metadata={_OPTION: lambda name: flag(name, help, panel or None)})


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
    *options: type[Any], without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of dataclasses as options, ``without`` some.

    The command's first parameters are the dataclasses made of them; the others are options of its
    own.
    """
    shared = [_parameters(kind, without) for kind in options]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        every = list(inspect.signature(command, eval_str=True).parameters.values())
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in every[len(options) :]
        ]
        required = [parameter for parameter in own if parameter.default is parameter.empty]
        others = [parameter for parameter in own if parameter.default is not parameter.empty]
        every = [*required, *(parameter for some in shared for parameter in some), *others]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            made = [
                kind(**{parameter.name: given.pop(parameter.name) for parameter in some})
                for kind, some in zip(options, shared, strict=True)
            ]
            command(*made, **given)

        run.__signature__ = inspect.Signature(every)  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run

    return decorate


def _parameters(options: type[Any], without: Collection[str]) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters, ``without`` some."""
    hints = get_type_hints(options, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(own.name, kind, default=own.default, annotation=_annotation(own, hints))
        for own in fields(options)
        if own.name not in without
    ]


def _annotation(own: Field[Any], hints: dict[str, Any]) -> Any:
    """Return the type of a field with its option, as typer reads it."""
    hint = hints[own.name]
    if _OPTION not in own.metadata:
        return hint
    return Annotated[hint, own.metadata[_OPTION](_word(own.name))]


def given_words(context: typer.Context) -> list[str]:
    """Return the options that were given, not left at their defaults, as the user writes them."""
    return [
        _word(name)
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]


def _word(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def listed(text: str) -> tuple[str, ...]:
    """Return the parts of a text that are separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def limit_epochs(max_epochs: int | None, *, quick: bool) -> int | None:
    """Return the limit of epochs that --max-epochs or --quick sets."""
    if quick and max_epochs is not None:
        raise ConfigError("--quick and --max-epochs both limit the epochs: choose one.")
    return QUICK_EPOCHS if quick else max_epochs

"""How ``--help`` is laid out: the options used most come first, the others under "More: …".

A command's class is :class:`Command`. What :data:`FIRST` names of its options is shown first, in
that order; the others follow in the panels they declare (:data:`RUN` if none), in the order of
:data:`PANELS`.
"""

from __future__ import annotations

from typing import Any

import typer.core

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

FIRST = {
    "fit": ("edges", "vertices", "label", "out", "dataset", "model", "seconds", "resume"),
    "predict": ("edges", "vertices", "out", "with_", "report", "coverage", "overwrite"),
    "bench": ("datasets", "models", "out", "runs", "edges", "vertices", "label", "quick"),
    "explain": ("vertex", "against", "top", "json"),
    "suggest": ("n", "csv"),
    "serve": ("host", "port", "token_file"),
    "store": ("out", "label", "memory", "like", "overwrite"),
    "inspect": ("edges", "vertices", "label", "dataset", "picture"),
    "studio": ("edges", "vertices", "label", "dataset", "port"),
    "search": ("edges", "vertices", "label", "dataset", "model", "trials", "storage", "quick"),
}


class _LaidOut:
    name: str | None
    params: list[Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params = laid_out(self.params, FIRST.get(self.name or "", ()))

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

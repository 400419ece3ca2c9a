"""The names of Python's arguments in messages, as the options of the command line.

Other rooms name an argument in backticks, with its value where that matters: `weight`,
`overwrite=True`, `drop=('age',)`. So a user of Python reads it; the command line says the option.
"""

from __future__ import annotations

import ast
import re
import shlex

# The options of arguments that messages name.
OPTIONS = {
    "against": "--against",
    "allow_missing": "--allow-missing",
    "as_of": "--as-of",
    "categorical": "--categorical",
    "clean_ids": "--clean-ids",
    "cost": "--cost",
    "delimiter": "--delimiter",
    "device": "--device",
    "directed": "--directed",
    "drop": "--drop",
    "edge_kind": "--edge-kind",
    "edge_time": "--edge-time",
    "embeddings": "--embeddings",
    "encoding": "--encoding",
    "features": "--features",
    "forget_ids": "--forget-ids",
    "hidden_size": "--hidden",
    "id": "--id",
    "keep_graph": "--keep-graph",
    "kinds": "--column",
    "label": "--label",
    "memory": "--memory",
    "merge": "--merge",
    "model": "--model",
    "number": "--number",
    "output": "--output",
    "overwrite": "--overwrite",
    "resume": "--resume",
    "source": "--source",
    "split": "--split",
    "split_by": "--split-by",
    "start_from": "--start-from",
    "target": "--target",
    "threshold": "--threshold",
    "vertex_kind": "--vertex-kind",
    "weight": "--weight",
}
_ARGUMENT = re.compile(rf"`({'|'.join(OPTIONS)})(?:=([^`]+))?`")


def in_options(message: str) -> str:
    """Return a message with the options that set the arguments it names.

    >>> in_options("Name another column with `edge_kind`, or pass `allow_missing=True`.")
    'Name another column with --edge-kind, or pass --allow-missing.'
    >>> in_options("to change this: `kinds=(('first name', 'text'),)`")
    "to change this: --column 'first name=text'"
    """
    return _ARGUMENT.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    word, value = OPTIONS[found[1]], found[2]
    if value is None or value == "True":
        return word
    if value == "False":
        return f"--no-{word.removeprefix('--')}"
    try:
        given = ast.literal_eval(value)
    except (SyntaxError, ValueError):  # A name with a backtick in it.
        return found[0]
    if isinstance(given, tuple):
        parts = (part if isinstance(part, str) else "=".join(part) for part in given)
        given = ",".join(parts)
    return f"{word} {shlex.quote(str(given))}"

"""Run the blocks of one page in their order, and print as JSON what each of them shows.

    python docs/_ext/run_page.py docs/get-started.md

``python`` blocks share one session, as in a notebook; every line of a ``console`` block that begins
with ``$`` is a command. Run it in an empty folder: the blocks write files there.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$\n?|^<!-- show: (\S+) -->$", re.S | re.M)
# On a terminal these lines are a bar that goes away.
PROGRESS = re.compile(r"(training|comparing): |.*: \d+/\d+ (runs|trials)\b")
WIDTH = "92"
QUIET = {"COLUMNS": WIDTH, "PYTHONWARNINGS": "ignore", "MPLBACKEND": "agg", "NO_COLOR": "1"}


@dataclass
class Shown:
    """What a block shows: text that it printed, and pictures as PNG in base64."""

    text: str = ""
    pictures: list[str] = field(default_factory=list)


def run_blocks(page: str) -> list[Shown]:
    """Run all blocks of a page."""
    session: dict[str, object] = {"__name__": "page"}
    # Dataclasses look their module up, to read their annotations.
    sys.modules["page"] = type(sys)("page")
    return [_run(match, session) for match in BLOCK.finditer(page)]


def _run(match: re.Match[str], session: dict[str, object]) -> Shown:
    language, block, picture = match.groups()
    if picture:
        return Shown(pictures=[_encode(Path(picture).read_bytes())])
    if language == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "page", "exec"), session)
        return Shown(printed.getvalue(), _figures())
    lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    return Shown("\n".join(filter(None, map(_command, lines))))


def _command(line: str) -> str:
    words = shlex.split(line)
    if words[0] != "graphfilter":
        raise ValueError(f"the command must be graphfilter, got: {line}")
    call = [sys.executable, "-m", *words]
    done = subprocess.run(
        call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | QUIET
    )
    if done.returncode:
        raise RuntimeError(f"{line}\n{done.stdout}")
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(line for line in lines if not PROGRESS.match(line))


def _figures() -> list[str]:
    """Return the figures that a block has left open, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    pictures = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, dpi=110, bbox_inches="tight")
        pictures.append(_encode(file.getvalue()))
    plt.close("all")
    return pictures


def _encode(picture: bytes) -> str:
    return base64.b64encode(picture).decode()


if __name__ == "__main__":
    os.environ.update(QUIET)
    shown = run_blocks(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps([asdict(each) for each in shown]))

"""The code and the commands of tutorials, how-to guides and concepts, run for a few epochs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from graphfilter.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = [*DOCS.glob("howto/*.md"), *DOCS.glob("concepts/*.md")]
PAGES = [
    *("get-started.md", "tutorial.md", "tutorial-sklearn.md", "tutorial-pytorch.md"),
    *sorted(str(page.relative_to(DOCS)) for page in GUIDES if page.stem != "index"),
]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.S | re.M)
# Few epochs of one model: the committee has tests of its own. The last of two answers counts.
QUICKLY = ("--epochs", "3", "--no-baselines")


def run_command(line: str, monkeypatch, capfd) -> None:
    words = shlex.split(line.removeprefix("$ "))
    assert words[0] == "graphfilter"
    if words[1] == "fit":
        # --seconds is for a committee.
        named = {"--model", "--seconds"} & {*words}
        words += QUICKLY if named else (*QUICKLY, "--model", "sgf")
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (0, None), f"{line}: {capfd.readouterr().err}"


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_the_page_run_in_their_order(
    page: str, tmp_path: Path, monkeypatch, capfd
) -> None:
    if page.endswith("pyg.md"):
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "page"}
    # Dataclasses look their module up, to read their annotations.
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert blocks
    for language, block in blocks:
        if language == "python":
            quick = re.sub(r"(max_epochs=|for epoch in range\()\d+", r"\g<1>3", block)
            exec(compile(quick, page, "exec"), known)
        else:
            for line in block.splitlines():
                run_command(line, monkeypatch, capfd)


def test_lines_of_the_first_page_run_and_are_few(capsys) -> None:
    code = (DOCS / "first_lines.py").read_text()
    assert len([line for line in code.splitlines() if line]) == 8
    quick = code.replace("random_state=0", "random_state=0, max_epochs=3")
    exec(compile(quick, "first_lines.py", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("of the hidden labels are right")
    assert "as many neighbours" in second

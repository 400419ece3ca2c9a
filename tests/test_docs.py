"""The commands and code of the README, run as written; those of other pages: tests/docs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from graphfilter.cli import main
from graphfilter.systems import committee
from graphfilter.systems.system import Committee

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md",)
# Few epochs of the members and of the baselines, for time.
FEW_EPOCHS = ("--epochs", "5")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def test_commands_and_code_of_the_pages_run_one_after_another(
    tmp_path: Path, monkeypatch, capfd
) -> None:
    """In one folder, as a reader would: no step is in another's way."""
    monkeypatch.chdir(tmp_path)
    # As many seeds as on a large graph, and few epochs in the code too.
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    members = Committee.members_for
    monkeypatch.setattr(
        Committee,
        "members_for",
        lambda *request: (member.limited(5) for member in members(*request)),
    )
    for page in PAGES:
        commands = [
            line.removeprefix("$ ")
            for block in blocks(page, "console")
            for line in block.splitlines()
            if line.startswith("$ ")
        ]
        assert commands
        for command in commands:
            words = shlex.split(command)
            assert words[0] == "graphfilter"
            words += FEW_EPOCHS if words[1] == "fit" else ()
            monkeypatch.setattr(sys, "argv", words)
            with pytest.raises(SystemExit) as stop:
                main()
            assert stop.value.code in (0, None), f"{command}: {capfd.readouterr().err}"
        code = "\n".join(blocks(page, "python"))
        assert code
        exec(compile(code, page, "exec"), {})


def test_readme_is_short_and_its_tables_are_full() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    rows = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    # The first column of a head may be empty, no other cell.
    assert all(cell.strip() for row in rows for cell in row[1:])


def test_code_of_the_page_on_tables_runs() -> None:
    code = "\n".join(blocks("docs/tables.md", "python"))
    assert code
    exec(compile(code, "docs/tables.md", "exec"), {})


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_tests_named_in_the_docs_exist() -> None:
    for page in ROOT.glob("docs/*.md"):
        for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text()):
            assert f"def {name}(" in (ROOT / file).read_text(), f"{page.name}: {file}::{name}"


def test_make_help_lists_the_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "lint", "bench"):
        assert re.search(rf"^{target}:.*## ", text, re.M)

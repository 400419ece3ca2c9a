"""The commands and code of the README, run as written; those of other pages: tests/docs."""

from __future__ import annotations

import pkgutil
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from graphfilter.cli import main
from graphfilter.systems import committee
from graphfilter.systems.registry import COMMITTEE
from graphfilter.systems.system import Committee

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md",)
# Of the authors' code and of PyTorch Geometric's, which the pages on the paper name.
FILES_OF_OTHERS = {"model.py", "train_cheb.py", "process.py"}
ENTRY_POINTS = re.findall(r'entry-points."([\w.]+)"', (ROOT / "pyproject.toml").read_text())
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
    """Its rows are held to the records by tests/benchmarks/test_records.py."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
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


def pages_of_today() -> dict[str, str]:
    """Return the pages that say what there is; the changelog also names what is gone."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "results" / "README.md"]
    return {
        str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
        for page in found
        if page.name != "CHANGELOG.md" and "gallery_pages" not in page.parts
    }


def test_tests_named_in_the_docs_exist() -> None:
    for page, text in pages_of_today().items():
        for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", text):
            assert f"def {name}(" in (ROOT / file).read_text(), f"{page}: {file}::{name}"


def test_files_named_in_the_docs_exist() -> None:
    folders = ("src", "tests", "tools", "benchmarks", "docs")
    there = [path.as_posix() for folder in folders for path in (ROOT / folder).rglob("*.*")]
    there += [path.as_posix() for path in ROOT.glob("*.py")]
    gone = [
        f"{page}: {file}"
        for page, text in pages_of_today().items()
        for code in re.findall(r"`([^`\n]+)`", text)
        for file in re.findall(r"(?<![\w./-])[\w./]+\.(?:py|h|c|js)\b(?!\.)", code)
        if file not in FILES_OF_OTHERS and not any(f"/{file}" in path for path in there)
    ]
    assert not gone


def test_names_of_the_package_in_the_docs_exist() -> None:
    gone = []
    for page, text in pages_of_today().items():
        for code in re.findall(r"`([^`\n]+)`", text):
            for name in re.findall(r"^(?:gf|graphfilter(?:_research)?)(?:\.[A-Za-z_]\w*)+", code):
                try:
                    pkgutil.resolve_name(re.sub(r"^gf\.", "graphfilter.", name))
                except (ImportError, AttributeError):
                    gone += [] if name in ENTRY_POINTS else [f"{page}: {name}"]
    assert not gone


def test_options_named_in_the_docs_exist() -> None:
    from graphfilter.cli.app import OLD, app

    def options(command: Any) -> set[str]:
        own = {word for p in command.params for word in (*p.opts, *p.secondary_opts)}
        inner = getattr(command, "commands", {})
        return own.union(*(options(inner[name]) for name in inner))

    # Two are made of the names of records, by tools/write_results.py; the last is pip's.
    known = {"--help", "--committee", "--peers", "--index-url"}
    known |= options(typer.main.get_command(app))
    for script in [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tools/*.py")]:
        known.update(re.findall(r"add_argument\(\s*\"(--[\w-]+)", script.read_text()))
    gone = [
        f"{page}: {option}"
        for page, text in pages_of_today().items()
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", text)
        if option not in known and not (page == "docs/commands.md" and option in OLD)
    ]
    assert not gone


def test_architecture_is_short_and_draws_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 150
    (picture,) = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    rooms = {path.parent.name for path in (ROOT / "src" / "graphfilter").glob("*/__init__.py")}
    drawn = re.findall(r"^ (\w+) ", picture, re.M)
    assert set(drawn) == rooms | {"room", "splits"}
    places = {name: place for place, name in enumerate(drawn)}
    for room in rooms:
        for file in (ROOT / "src" / "graphfilter" / room).rglob("*.py"):
            for other in re.findall(r"^from graphfilter\.(\w+)", file.read_text(), re.M):
                assert places.get(other, 99) >= places[room], f"{file}: {other} is drawn above"


def test_files_in_the_picture_of_the_architecture_are_in_their_rooms() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    room, n_named = "", 0
    for line in picture.splitlines():
        begun = re.match(r" (\w+) ", line)
        room = begun[1] if begun else room
        for file in re.findall(r"(\w+\.py)", line):
            assert (ROOT / "src" / "graphfilter" / room / file).exists(), f"{room}: {file}"
            n_named += 1
    assert n_named > 15


def test_page_of_the_committee_lists_its_members() -> None:
    page = (ROOT / "docs" / "concepts" / "committee.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|", page, re.M)
    assert listed == [member.name for member in COMMITTEE.members]


def test_make_help_lists_the_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "lint", "bench"):
        assert re.search(rf"^{target}:.*## ", text, re.M)

"""The workflows of the forge: the Makefile's targets, pinned actions, no rights but those needed.

``actionlint`` checks the rest, where it is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
READ = {"contents": "read"}


def read(path: Path) -> dict[str, Any]:
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


def jobs() -> list[tuple[str, dict[str, Any]]]:
    return [(f"{p.name}: {name}", job) for p in WORKFLOWS for name, job in read(p)["jobs"].items()]


def test_workflows_are_those_that_contributors_are_told_of() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "nightly", "release", "wheels"]


def test_make_targets_of_the_workflows_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    asked = set()
    for path in [*WORKFLOWS, ROOT / ".ci" / "run"]:
        for words in re.findall(r"^[ -]*(?:run: )?make ([a-z -]+)", path.read_text("utf-8"), re.M):
            asked |= set(words.split())
    for _, job in jobs():
        matrix = job.get("strategy", {}).get("matrix", {})
        asked |= {*matrix.get("target", ())}
        asked |= {row["target"] for row in matrix.get("include", ()) if "target" in row}
    assert {"lint", "test", "docs", "fuzz", "wheels", "test-oldest"} <= asked
    assert asked <= known


def test_actions_are_pinned_to_a_commit() -> None:
    for path in WORKFLOWS:
        for used in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"\./.+|[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", used), used


def test_only_publishing_has_a_right_beyond_reading() -> None:
    for path in WORKFLOWS:
        assert read(path)["permissions"] == READ, path.name
    rights = {name: job["permissions"] for name, job in jobs() if "permissions" in job}
    assert rights == {"release.yml: publish": {"id-token": "write"}}


def test_publishing_waits_for_the_version_the_tests_and_the_wheels() -> None:
    release = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert set(release["publish"]["needs"]) == {"test", "wheels"}
    assert {release[name]["needs"] for name in ("test", "wheels")} == {"version"}
    assert not re.search(
        "password|secrets", (ROOT / ".github/workflows/release.yml").read_text()[200:]
    )


def test_steps_keep_no_credentials_and_take_no_text_from_outside() -> None:
    for name, job in jobs():
        for step in job.get("steps", ()):
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False, name
            # A branch or a title could hold a command: values reach the shell as variables only.
            assert "${{" not in step.get("run", ""), name
        assert "uses" in job or job["timeout-minutes"] <= 180, name


def test_actionlint_finds_nothing() -> None:
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("actionlint is not installed")
    done = subprocess.run([actionlint, *WORKFLOWS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout

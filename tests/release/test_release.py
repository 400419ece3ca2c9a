"""A release: the version stands in one place, and nothing else is released under its name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphfilter

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("CITATION.cff", "CHANGELOG.md", "src/graphfilter/version.py", "tools/release.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What a release looks at, set to version 3.4.5."""
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    set_version(tmp_path, "3.4.5")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 3.4.5 (2030-01-31)\n\n- All.\n")
    (tmp_path / "tests" / "compatibility" / "files" / "3.4.5").mkdir(parents=True)
    return tmp_path


def set_version(root: Path, version: str) -> None:
    for name in ("CITATION.cff", "src/graphfilter/version.py"):
        path = root / name
        path.write_text(path.read_text().replace(graphfilter.__version__, version))


def check(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "release.py"), *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_files_of_this_checkout_name_one_version() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


def test_version_as_tagged_is_released(project: Path) -> None:
    done = check(project, "v3.4.5")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("tag", ["v3.4.6", "3.4.5", "v3.4.5.dev0", "v03.4.5"])
def test_other_tag_is_refused(tag: str, project: Path) -> None:
    done = check(project, tag)
    assert done.returncode == 1
    assert f"must be v3.4.5, as in version.py; got {tag}" in done.stderr


def test_version_under_development_is_refused(project: Path) -> None:
    version = project / "src" / "graphfilter" / "version.py"
    version.write_text('__version__ = "3.4.5.dev0"\n')
    done = check(project, "v3.4.5.dev0")
    assert done.returncode == 1
    assert "a release must be like" in done.stderr
    assert "CITATION.cff: version must be 3.4.5.dev0" in done.stderr


def test_release_without_changes_or_files_is_refused(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("## 3.4.5 (unreleased)\n")
    (project / "tests" / "compatibility" / "files" / "3.4.5").rmdir()
    done = check(project, "v3.4.5")
    assert done.returncode == 1
    assert "## 3.4.5 (<date>)" in done.stderr
    assert "write_files.py" in done.stderr

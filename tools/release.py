"""Check that a tag is the version: before a release, and in the workflow that makes one.

    python tools/release.py v0.2.0

Without a tag, only that the files that name the version agree with each other.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def stated_version(root: Path = ROOT) -> str:
    """Return the version in ``version.py``, without importing the package."""
    text = (root / "src" / "graphfilter" / "version.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "([^"]+)"$', text, re.M)
    return version


def problems(tag: str | None, root: Path = ROOT) -> list[str]:
    """Return what keeps the files from being released under a tag; nothing where all is well."""
    version = stated_version(root)
    found = []
    cited = re.findall(r"^version: (.+)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    if cited != [version]:
        found.append(f"CITATION.cff: version must be {version}; got {', '.join(cited)}.")
    if tag is None:
        return found
    if tag != f"v{version}":
        found.append(f"the tag must be v{version}, as in version.py; got {tag}.")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        found.append(f"version.py: a release must be like 1.2.3 or 1.2.3rc1; got {version}.")
    heads = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.M)
    if not any(re.fullmatch(rf"{re.escape(version)}( \(\d{{4}}-\d\d-\d\d\))?", h) for h in heads):
        found.append(f"CHANGELOG.md: there must be a heading '## {version} (<date>)'.")
    if not (root / "tests" / "compatibility" / "files" / version).is_dir():
        found.append(f"tests/compatibility/files/{version}: missing; write_files.py makes it.")
    return found


def main(words: list[str]) -> int:
    found = problems(words[0] if words else None)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Building the documentation site, strictly and without pictures, for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("sphinx", "furo", "myst_parser", "sphinx_copybutton", "sphinx_gallery")
# make docs runs the scripts of the gallery and the blocks of the guides; here they are only shown.
QUICK = ("-D", "sphinx_gallery_conf.plot_gallery=0", "-D", "show_outputs=0")

# Sphinx keeps all it makes: without looking for garbage it takes a third less time.
SPHINX = """
import gc, sys
gc.disable()
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


def build_site(folder: Path) -> Path:
    """Build the site strictly, from a copy of its sources: the gallery writes beside them."""
    source = folder / "source"
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("gallery_pages"))
    shutil.copytree(ROOT / "results", source / "results", ignore=shutil.ignore_patterns("*.gz"))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, source)
    strict = [sys.executable, "-c", SPHINX, "-q", "-W", "--keep-going", *QUICK]
    command = [*strict, "-c", str(source / "docs"), "-b", "html", str(source), str(folder / "site")]
    found = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, found))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "site"

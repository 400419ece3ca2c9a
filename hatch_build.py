"""Compile the CPU kernel when the package is built or installed from its source.

Without a compiler it is left out, and torch's own products do the work. ``GRAPHFILTER_NATIVE=0``
leaves it out in any case, for the wheel that every platform can install; ``GRAPHFILTER_NATIVE=1``
makes it an error where it cannot be built, for the wheels that are to have it.

``GRAPHFILTER_CORE=1`` builds a wheel without the research package and its entry points.

What a package index shows is README.md with links that work there: into the repository that
``GRAPHFILTER_URL`` names, as the release workflow does; without it, words and no pictures.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

KERNELS = Path("src", "graphfilter", "operators", "kernels")
# What a compiler may not know, most first. GCC 13 takes apart some chains of fused operations and
# not others: told not to, it gives the same bits however many columns are computed together.
FLAGS = (("-fopenmp", "--param=avoid-fma-max-bits=0"), ("-fopenmp",), ())
# Levels of x86 for which it is compiled once more; graphfilter_level of native.c looks for them.
AVX2 = ("-mavx2", "-mfma")
AVX512 = (*AVX2, "-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq")
LEVELS: dict[str, tuple[str, ...]] = {"_avx2": AVX2, "_avx512": AVX512}


class NativeKernelHook(BuildHookInterface):
    """Add ``native.so`` to a wheel, or put it beside its source for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if os.environ.get("GRAPHFILTER_CORE") == "1":
            self.build_config.target_config["packages"] = ["src/graphfilter"]
            self.metadata.core.entry_points.clear()
        wanted = os.environ.get("GRAPHFILTER_NATIVE", "")
        if wanted not in ("", "0", "1"):
            raise ValueError(f"GRAPHFILTER_NATIVE must be 0, 1 or not set; got {wanted!r}.")
        if wanted == "0":
            self.leave_out(version)
            return
        try:
            build_native(Path(self.root) / KERNELS)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or error
            if wanted == "1":
                raise RuntimeError(f"the CPU kernel cannot be built: {reason}") from None
            self.leave_out(version)
            self.app.display_warning(f"the CPU kernel is left out, slower products run: {reason}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(f"/{(KERNELS / 'native.so').as_posix()}")

    def leave_out(self, version: str) -> None:
        """Remove the kernel of an earlier editable install: the Python beside it may have changed.

        Into a wheel it does not get, being ignored by git.
        """
        if version == "editable":
            (Path(self.root) / KERNELS / "native.so").unlink(missing_ok=True)


class PageHook(MetadataHookInterface):
    """Give the metadata the page of an index, and the links of the project where they are known."""

    def update(self, metadata: dict[str, Any]) -> None:
        url = os.environ.get("GRAPHFILTER_URL", "").rstrip("/")
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        stated = (root / "src" / "graphfilter" / "version.py").read_text(encoding="utf-8")
        [version] = re.findall(r'^__version__ = "([^"]+)"$', stated, re.M)
        page = with_links(text, url, "HEAD" if "dev" in version else f"v{version}")
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        if url:
            places = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
            there = {name: f"{url}/blob/HEAD/{path}" for name, path in places.items()}
            metadata["urls"] = {"Repository": url, **there, "Issues": f"{url}/issues"}


def with_links(text: str, url: str, tag: str) -> str:
    """Return a page whose links into the repository lead to the one at a URL.

    Without a URL a link is its words alone, and there are no pictures.
    """

    def placed(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if target.startswith(("http:", "https:", "#")):
            return match[0]
        if not url:
            return "" if picture else words
        return f"{picture}[{words}]({url}/{'raw' if picture else 'blob'}/{tag}/{target})"

    return re.sub(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)", placed, text)


def build_native(folder: Path) -> None:
    """Compile ``native.c`` in its folder: with OpenMP, but linked with none.

    The symbols are found when it is loaded, in the library that torch brings. A compiler that has
    no OpenMP, as Apple's, makes it for one thread; one that is not for x86 makes no other levels.
    """
    if sys.platform == "win32":
        raise OSError("not on Windows yet")
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise OSError("there is no C compiler")
    choices = list(itertools.product(FLAGS, (LEVELS, {})))
    with tempfile.TemporaryDirectory() as place:
        linked = Path(place, "native.so")
        for flags, levels in choices:
            try:
                _compile(compiler, folder / "native.c", linked, flags, levels)
                break
            except subprocess.CalledProcessError:
                if (flags, levels) == choices[-1]:
                    raise
        # Atomically, also where another process has the old one loaded.
        shutil.copy(linked, folder / "native.tmp")
        (folder / "native.tmp").replace(folder / "native.so")


def _compile(
    compiler: str,
    source: Path,
    linked: Path,
    flags: tuple[str, ...],
    levels: dict[str, tuple[str, ...]],
) -> None:
    """Compile the source for every processor, and for each level with its ending; link them."""
    made = list[str]()
    # Those that a compiler may not know come first: it then says so at once.
    for level, instructions in {**levels, "": ()}.items():
        made.append(str(linked.with_name(f"native{level}.o")))
        named = [f"-DLEVEL={level}"] if level else []
        words = ("-O3", "-fPIC", *flags, *instructions, *named)
        _run(compiler, *words, "-c", str(source), "-o", made[-1])
    _run(compiler, "-shared", *made, "-o", str(linked), "-lm")


def _run(compiler: str, *words: str) -> None:
    subprocess.run([*compiler.split(), *words], check=True, capture_output=True, text=True)

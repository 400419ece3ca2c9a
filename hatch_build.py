"""Compile the CPU kernel when the package is built or installed from its source.

Without a compiler it is left out, and torch's own products do the work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src", "graphfilter", "operators", "kernels")


class NativeKernelHook(BuildHookInterface):
    """Add ``native.so`` to a wheel, or put it beside its source for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        try:
            build_native(Path(self.root) / KERNELS)
        except (OSError, subprocess.CalledProcessError) as error:
            if version == "editable":
                # An older one may not be what the Python beside it expects.
                (Path(self.root) / KERNELS / "native.so").unlink(missing_ok=True)
            reason = getattr(error, "stderr", None) or error
            self.app.display_warning(f"the CPU kernel is left out, slower products run: {reason}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(f"/{(KERNELS / 'native.so').as_posix()}")


def build_native(folder: Path) -> None:
    """Compile ``native.c`` in its folder: with OpenMP, but linked with none.

    The symbols are found when it is loaded, in the library that torch brings.
    """
    if sys.platform == "win32":
        raise OSError("not on Windows yet")
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise OSError("there is no C compiler")
    with tempfile.TemporaryDirectory() as place:
        made, linked = Path(place, "native.o"), Path(place, "native.so")
        flags = ["-O3", "-fPIC", "-fopenmp"]
        _run(compiler, *flags, "-c", str(folder / "native.c"), "-o", str(made))
        _run(compiler, "-shared", str(made), "-o", str(linked))
        # Atomically, also where another process has the old one loaded.
        shutil.copy(linked, folder / "native.tmp")
        (folder / "native.tmp").replace(folder / "native.so")


def _run(compiler: str, *words: str) -> None:
    subprocess.run([*compiler.split(), *words], check=True, capture_output=True, text=True)

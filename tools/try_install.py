"""Try an installed graphfilter as a user would: commands only, in a folder of its own.

    python tools/try_install.py [--kernel native|torch]

Fits a model to tables, predicts with it and checks that it learned something. With ``--kernel``,
also that the compiled kernel, or torch, multiplies. Run by the Python it was installed for, outside
of the checkout's own environment.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WHICH_KERNEL = """
import graphfilter as gf
from graphfilter.operators import adjacency
kernel = adjacency(gf.load_dataset("karate")).kernel
print(gf.__version__, "native" if type(kernel).__name__ == "NativeKernel" else "torch")
"""
TABLES = ("--edges", "digits/edges.csv", "--vertices", "digits/vertices.csv")


def main() -> int:
    parser = argparse.ArgumentParser(description="Try an installed graphfilter.")
    parser.add_argument("--kernel", choices=("native", "torch"), help="which must be in use")
    wanted = parser.parse_args().kernel
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        version, kernel = _run(folder, "-I", "-c", WHICH_KERNEL).split()
        if wanted and kernel != wanted:
            sys.exit(f"graphfilter {version}: {wanted} must multiply; {kernel} does.")
        said = _graphfilter(folder, "--version").split()
        if said != ["graphfilter", version]:
            sys.exit(f"--version must be graphfilter {version}; got {' '.join(said)}.")
        _graphfilter(folder, "data", "export", "digits", "--out", "digits")
        fit = ("--label", "label", "--model", "sgf", "--epochs", "60", "--out", "run")
        _graphfilter(folder, "fit", *TABLES, *fit)
        _graphfilter(folder, "predict", "run", *TABLES, "--out", "new.csv")
        scores = json.loads((folder / "run" / "metrics.json").read_text())["scores"]
        with (folder / "new.csv").open(newline="", encoding="utf-8") as stream:
            n = sum(1 for _ in csv.DictReader(stream))
    accuracy = scores["test"]["accuracy"]
    if accuracy < 0.5:
        sys.exit(f"the test accuracy on ten digits must be above 0.5; got {accuracy:.3f}.")
    print(f"graphfilter {version}, {kernel} kernel: {n} vertices, accuracy {accuracy:.3f}")
    return 0


def _graphfilter(folder: Path, *words: str) -> str:
    return _run(folder, "-I", "-m", "graphfilter", *words)


def _run(folder: Path, *words: str) -> str:
    """Run Python isolated from the checkout and from user settings; return what it printed."""
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words[1:])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

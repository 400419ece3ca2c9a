"""What a first training loads, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

TRAIN = """
import sys
from graphfilter import SGFClassifier
from graphfilter.data import make_karate
SGFClassifier(max_epochs=2, random_state=0).fit(graph=make_karate()).predict_proba()
print(*(name for name in sys.modules if name in ("torch._dynamo", "torch._inductor", "sympy")))
"""


def test_training_does_not_import_the_compiler_of_torch() -> None:
    """It takes longer to import than torch itself, and compiles nothing here."""
    done = subprocess.run([sys.executable, "-c", TRAIN], capture_output=True, text=True, check=True)
    assert not done.stdout.split()

"""A small soak, so that the large one keeps working; make soak has the large one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_soak_finds_no_growth_and_no_difference() -> None:
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    command = [sys.executable, "-m", "tests.soak", "--fits", "3", "--requests", "68"]
    # So few only fill the caches.
    few = ["--kills", "1", "--most-growth", "1000"]
    done = subprocess.run([*command, *few], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 fits" in done.stdout
    assert "68 requests" in done.stdout
    assert "1 kills of bench" in done.stdout

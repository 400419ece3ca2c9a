"""A small soak, so that the large one keeps working; make soak has the large one."""

from __future__ import annotations

import sys
import tempfile

import pytest
from tests.soak.__main__ import main


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_soak_finds_no_growth_and_no_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    # The soak has a temporary folder of its own; what was there before comes back.
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    # So few only fill the caches.
    few = ["--fits", "3", "--requests", "68", "--kills", "1", "--most-growth", "1000"]
    assert main(few) == []
    said = capsys.readouterr().out
    assert "3 fits" in said
    assert "68 requests" in said
    assert "1 kills of bench" in said

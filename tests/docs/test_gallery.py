"""Quick versions of the scripts of the gallery: few epochs, one value of each list."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"


@pytest.mark.parametrize("script", sorted(GALLERY.glob("plot_*.py")), ids=lambda path: path.stem)
def test_script_draws_its_picture(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("agg")
    import matplotlib.pyplot as plt

    code = script.read_text()
    quick, n = re.subn(r"^EPOCHS = \d+$", "EPOCHS = 2", code, flags=re.M)
    assert n == 1
    quick = re.sub(r"^([A-Z]+) = \(.*, (\S+)\)$", r"\1 = (\2,)", quick, flags=re.M)
    monkeypatch.setattr(plt, "show", lambda: None)
    exec(compile(quick, script.name, "exec"), {"__name__": "__main__"})
    assert plt.get_fignums()
    plt.close("all")

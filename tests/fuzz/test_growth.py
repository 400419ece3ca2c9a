"""Many fits in one process: memory, open files and threads do not grow."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from graphfilter import SGFClassifier
from graphfilter.data import make_karate
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import Source, plan_fit

# Ten times as many under the profile of make fuzz.
N_FITS = 24 if settings.default is None or settings.default.max_examples <= 100 else 240
MOST_GROWTH_MB = 40.0


@pytest.mark.fuzz
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_fits_do_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    source, place, used = Source(make_karate()), tmp_path / "run", []
    for i in range(N_FITS):
        model = SGFClassifier(n_layers=2, hidden_size=8, max_epochs=3, random_state=i)
        fit_folder(plan_fit(source, i), model, place, baselines=False)
        load_run(place)
        shutil.rmtree(place)
        gc.collect()
        used.append(usage())
    # The first half fills caches.
    first, last = np.array(used[N_FITS // 2]), np.array(used[-1])
    memory, files, threads = last - first
    assert memory < MOST_GROWTH_MB
    assert files <= 2
    assert threads <= 2
    left = [p.name for p in (tmp_path / "temporary").iterdir()]
    assert not [name for name in left if not name.startswith("torchinductor")]


def usage() -> tuple[float, int, int]:
    """Return the memory of this process in MB, and its open files and threads."""
    proc = Path("/proc/self")
    pages = int((proc / "statm").read_text().split()[1])
    files, threads = (len(list((proc / name).iterdir())) for name in ("fd", "task"))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, files, threads

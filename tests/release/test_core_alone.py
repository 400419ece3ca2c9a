"""The core without the research package; make test-core runs the core's tests in such a place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tests.release.test_build_hook import hook  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]
# As where only the core is installed: no such package, and none of its entry points.
ALONE = """
import importlib.metadata, sys, warnings
warnings.simplefilter("error", UserWarning)
sys.modules["graphfilter_research"] = None
importlib.metadata.entry_points = lambda **_: ()
import graphfilter as gf
graph = gf.load_dataset("karate")
fitted = gf.GraphClassifier(max_epochs=3, random_state=0).fit(graph=graph)
fitted.save(sys.argv[1])
again = gf.GraphClassifier.load(sys.argv[1])
assert (again.predict(graph.features, graph=graph) == fitted.predict()).all()
assert "trees" in gf.systems.SYSTEMS and "gcn" not in gf.systems.SYSTEMS
assert gf.data.dataset_names() == ["bipartite", "csbm", "digits", "karate"]
assert not hasattr(gf.models, "GCN") and not hasattr(gf.data, "readers")
sys.argv = ["graphfilter", "--help"]
from graphfilter.cli import main
main()
"""


def test_core_fits_predicts_and_has_its_commands_without_research(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE, str(tmp_path / "model")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert " fit " in done.stdout
    assert " reproduce " not in done.stdout


@pytest.mark.parametrize("wanted", ["", "1"])
def test_wheel_of_the_core_has_nothing_of_research(
    hook: ModuleType,  # noqa: F811
    wanted: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRAPHFILTER_CORE", wanted)
    monkeypatch.setenv("GRAPHFILTER_NATIVE", "0")
    packages, points = ["src/graphfilter", "src/graphfilter_research"], {"graphfilter.systems": {}}
    made = hook.NativeKernelHook()
    made.target_name = "wheel"
    made.build_config = SimpleNamespace(target_config={"packages": packages})
    made.metadata = SimpleNamespace(core=SimpleNamespace(entry_points=points))
    made.initialize("standard", {})
    assert made.build_config.target_config["packages"] == packages[: 1 if wanted else 2]
    assert bool(points) == (not wanted)

"""Targets run quickly on tiny graphs, resume, and are rebuilt from their records."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graphfilter.cli.app import app
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.matrix import BenchProgress
from graphfilter_research.bench.record import Record
from graphfilter_research.lines import pack_lines
from graphfilter_research.paper import reproduction_page, targets
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.target import MeasuredTarget, Target
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")
# The search has a test of its own.
TRAINED = [name for name, t in TARGETS.items() if t.is_trained and name != "search"]


def reproduce(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.mark.parametrize("name", TRAINED)
def test_target_is_rebuilt_from_its_records_as_it_was_made(name: str, tmp_path: Path) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    done = reproduce(name, "--out", out, "--quick", "--device", "cpu", "--gzip", "--quiet")
    assert done.exit_code == 0, done.output
    stem = f"{name}-quick"
    packed = out / f"{stem}.jsonl.gz"
    assert packed.is_file()
    assert not (out / f"{stem}.jsonl").exists()
    rebuilt = reproduce(name, "--out", again, "--quick", "--from-records", out)
    assert rebuilt.exit_code == 0, rebuilt.output
    made = {path.name for path in out.iterdir()} - {packed.name}
    assert made == {path.name for path in again.iterdir()}
    assert made >= {f"{stem}.png"} if name.startswith("fig") else {f"{stem}.md", f"{stem}.tex"}
    for path in made:
        assert (out / path).read_bytes() == (again / path).read_bytes(), path


def test_target_goes_on_from_records_plain_or_packed(tmp_path: Path) -> None:
    table = TARGETS["table5"]
    table.collect(tmp_path, QUICK, None)
    whole = (tmp_path / "table5-quick.jsonl").read_bytes()
    assert len(whole.splitlines()) == 4
    # Killed in the middle of the third line, packed, and started again.
    (tmp_path / "table5-quick.jsonl").write_bytes(b"\n".join(whole.split(b"\n")[:3])[:-9])
    packed = pack_lines(tmp_path, "table5-quick")
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 2
    steps: list[BenchProgress] = []
    table.collect(tmp_path, QUICK, steps.append)
    assert (steps[-1].done, steps[-1].total) == (4, 4)
    records = read_target_records(tmp_path, "table5-quick")
    before = [Record.from_json(line) for line in whole.splitlines()]
    assert [r.key for r in records] == [r.key for r in before]
    assert [r.seconds for r in records[:2]] == [r.seconds for r in before[:2]]
    assert [r.scores for r in records] == [r.scores for r in before]
    table.collect(tmp_path, QUICK, None)
    assert read_target_records(tmp_path, "table5-quick") == records


def test_reproduce_all_goes_through_every_target(tmp_path: Path, monkeypatch) -> None:
    small: dict[str, Target] = {name: TARGETS[name] for name in ("table5", "fig-dynamics")}

    def refuse(*_: object) -> list[str]:
        raise ConfigError("not here.")

    table = TARGETS["table4"]
    small["table4"] = MeasuredTarget(name="table4", summary="", measure=refuse, show=table.build)
    for module in (targets, reproduction_page):
        monkeypatch.setattr(module, "TARGETS", small)
    done = reproduce("all", "--out", tmp_path, "--quick", "--device", "cpu", "--quiet")
    assert done.exit_code == 1
    assert "table4: not here." in done.stderr
    assert (tmp_path / "table5-quick.md").is_file()
    assert (tmp_path / "fig-dynamics-quick.png").is_file()


def test_among_all_what_goes_beyond_the_paper_is_built_and_not_run_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--out", tmp_path, "--quick", "--device", "cpu", "--quiet")
    assert reproduce("theta", *words).exit_code == 0
    (tmp_path / "theta-quick.md").unlink()

    def refuse(*args: object) -> list[str]:
        raise AssertionError("nothing is to be run")

    theta = TARGETS["theta"]
    known = MeasuredTarget(
        name="theta", summary="", measure=refuse, show=theta.build, is_variant=True
    )
    monkeypatch.setattr(targets, "TARGETS", {"theta": known})
    done = reproduce("all", *words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "theta-quick.md").is_file()
    assert reproduce("all", *words, "--variants").exit_code != 0

"""Targets run quickly on tiny graphs, resume, and are rebuilt from their records."""

from __future__ import annotations

import gzip
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from graphfilter.cli.app import app
from graphfilter.data import make_csbm
from graphfilter.data.files import write_npz
from graphfilter.splits import Split
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.matrix import BenchProgress
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.search import Found, SearchResult
from graphfilter_research.lines import pack_lines
from graphfilter_research.paper import (
    appendix_search,
    confirm,
    reproduction_page,
    settings,
    target,
    targets,
)
from graphfilter_research.paper.collect import Options, at_hand, open_records, read_target_records
from graphfilter_research.paper.published import CHOSEN, TABLE_3, Accuracy
from graphfilter_research.paper.tables import ComparedAccuracy
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
    words = [name]
    if name == "confirm":
        words.append(str(tmp_path))
        write_npz(make_csbm(60, n_features=4, seed=0), tmp_path / "one.npz")
    done = reproduce(*words, "--out", out, "--quick", "--device", "cpu", "--gzip", "--quiet")
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


def test_of_the_settings_of_a_peer_validation_vertices_choose_and_never_test() -> None:
    def run(setting: str, val: float, test: float) -> Record:
        part = {"n_vertices": 10}
        scores = {"val": {**part, "accuracy": val}, "test": {**part, "accuracy": test}}
        return Record(
            "g.npz", f"gcn{setting}", "stratified", 0, 0, "auto", {}, "cpu", scores=scores
        )

    runs = [run(confirm.GRID[0], 0.6, 0.9), run(confirm.GRID[1], 0.7, 0.5)]
    (row,) = confirm.show_confirmed(runs, []).blocks[0].rows
    cell = row.cells[1 + confirm.PEERS.index("gcn")]
    assert isinstance(cell, ComparedAccuracy)
    assert cell.mean == pytest.approx(50)


def test_confirm_needs_a_folder_of_graphs(tmp_path: Path) -> None:
    for words, message in ((), "must be given a folder"), ((tmp_path,), "holds none"):
        done = reproduce("confirm", *words, "--out", tmp_path / "out", "--quiet")
        assert done.exit_code == 1
        assert message in str(done.exception)


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


def test_options_and_datasets_are_checked() -> None:
    with pytest.raises(ConfigError, match="runs must be a whole number from 1 to 1,000,000; got 0"):
        Options(runs=0)
    with pytest.raises(ConfigError, match="did you mean 'cora'"):
        at_hand(["coar"])


SPLIT = Split(np.array([0]), np.array([1]), np.array([2]))
BEST = {**CHOSEN, "dropout": 0.4}


def test_search_shows_the_papers_setting_beside_the_best_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    best = Found(BEST, 0.9, 0.8)

    def found(graph, system, *, trials, **_) -> SearchResult:
        calls.append(trials)
        return SearchResult(system, SPLIT, Found(CHOSEN, 0.85, 0.81), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    for _ in range(2):
        TARGETS["search"].collect(tmp_path, QUICK, None)
    assert calls == [appendix_search.QUICK_TRIALS]
    (block,) = TARGETS["search"].build(tmp_path, QUICK).blocks
    assert block.columns[0] == "dropout"
    assert [row.cells[0] for row in block.rows] == ["0.7", "0.4"]
    assert [row.cells[-2:] for row in block.rows] == [("85.00", "81.00"), ("90.00", "80.00")]
    assert "2 trials, 1 given up early" in block.heading


def test_search_of_several_splits_shows_what_it_gains_on_average(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validation gains 5 points on each split; test gains 2 on one and loses 4 on the other."""
    seen: list[tuple[int, int]] = []
    tested = (0.82, 0.76)

    def found(graph: Any, system: str, *, split: int, seed: int, **_: Any) -> SearchResult:
        seen.append((split, seed))
        best = Found(BEST, 0.85, tested[split])
        return SearchResult(system, SPLIT, Found(CHOSEN, 0.8, 0.8), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    # Split 0 is on record from before; the other is added to it.
    TARGETS["search"].collect(tmp_path, QUICK, None)
    several = replace(QUICK, variants=True)
    TARGETS["search"].collect(tmp_path, several, None)
    assert seen == [(0, 0), (1, 1)]
    first, gains = TARGETS["search"].build(tmp_path, several).blocks
    assert len(first.rows) == 2
    (row,) = gains.rows
    assert row.label == "karate"
    assert row.cells[:5] == ("2", "80.00 ± 0.00", "79.00 ± 3.00", "+5.00", "-1.00")
    assert 0 < float(str(row.cells[5])) < 1


def test_searches_side_by_side_are_those_of_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads stand in for processes, which take their time to start: what they get is pickled."""

    class Threads(ThreadPoolExecutor):
        def __init__(self, jobs: int, mp_context: object) -> None:
            super().__init__(jobs)

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return super().submit(*pickle.loads(pickle.dumps((fn, *args))), **kwargs)

    def found(graph: Any, system: str, *, split: int, **_: Any) -> SearchResult:
        own = Found(CHOSEN, 0.8, 0.8)
        return SearchResult(system, SPLIT, own, Found(BEST, 0.9, 0.7 + split / 10), 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    monkeypatch.setattr(target, "ProcessPoolExecutor", Threads)
    made = {}
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        TARGETS["search"].collect(folder, replace(QUICK, variants=True, jobs=jobs), None)
        made[jobs] = sorted((folder / "search-quick.jsonl").read_text().splitlines())
    assert len(made[1]) == 2
    assert made[1] == made[2]


SPLITS = range(6)


def record(model: str, split: int, val: float, test: float) -> Record:
    sizes = {"n_vertices": 30}
    scores = {"train": {**sizes, "accuracy": 1.0}, "val": {**sizes, "accuracy": val},
              "test": {**sizes, "accuracy": test}}  # fmt: skip
    return Record("texas", model, "stratified", split, split, "row", {}, "cpu", scores=scores)


def test_settings_are_systems_under_their_own_names() -> None:
    assert [get_system(name).name for name in settings.SETTINGS] == list(settings.SETTINGS)


def test_printed_values_cover_every_dataset() -> None:
    assert all(settings.printed(d) is not None for d in settings.DATASETS)
    assert settings.printed("bipartite_sparse") == TABLE_3["sgf"]["bipartite"]


def test_distance_is_the_mean_of_what_lies_between() -> None:
    cells = [ComparedAccuracy(m, 1.0, 10, published=Accuracy(80.0)) for m in (79.0, 84.0)]
    assert settings.distance([*cells, ComparedAccuracy(1.0, 1.0, 10)]) == pytest.approx(2.5)


def test_search_takes_what_validation_says_and_shows_its_test(tmp_path: Path) -> None:
    """The other setting is better on validation on every second split, and worse on test there."""
    file = open_records(tmp_path, settings.TARGET.name)
    other = "sgf@dropout=0.5"
    for split in SPLITS:
        file.append([record("sgf", split, 0.8, 0.8)])
        file.append([record(other, split, 0.9 if split % 2 else 0.7, 0.6)])
    row, none, chosen = settings.TARGET.build(tmp_path, Options()).blocks
    assert [r.label for r in row.rows] == ["sgf", other]
    assert not none.rows
    default, picked, p = (r.cells[0] for r in chosen.rows)
    assert default == "80.00 ± 0.00"
    assert picked == "70.00 ± 10.00"
    assert 0 < float(str(p)) < 1


def test_distance_says_over_how_many_columns_it_is(tmp_path: Path) -> None:
    file = open_records(tmp_path, settings.TARGET.name)
    for split in SPLITS:
        file.append([record("sgf", split, 0.8, 0.8), record("sgf-authors", split, 0.8, 0.8)])
        file.append([replace(record("sgf", split, 0.8, 0.8), dataset="wisconsin")])
    full, part = settings.TARGET.build(tmp_path, Options()).blocks[0].rows
    assert full.cells[-1] == "3.81"
    assert part.cells[-1] == "0.56 (1 of 2)"

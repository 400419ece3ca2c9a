"""Records that are cut, broken, empty or of another target: left out, or an error in one line."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.cli import main
from graphfilter.splits import Split
from graphfilter.util.errors import DataFileError
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.search import Found, SearchResult
from graphfilter_research.paper import appendix_search, collect
from graphfilter_research.paper.collect import Options, open_records, read_target_records
from graphfilter_research.paper.published import CHOSEN
from graphfilter_research.paper.reproduction_page import render_reproduction
from graphfilter_research.paper.targets import TARGETS

RESULTS = Path(__file__).resolve().parents[3] / "results"
QUICK = Options(quick=True, device="cpu")
IN_LINES = [name for name, t in TARGETS.items() if t.is_trained or name == "fig-frequency"]
ON_RECORD = [name for name in IN_LINES if (RESULTS / f"{name}.jsonl.gz").exists()]
# The answers read the records of others, the block diagrams none.
OWN = [name for name in TARGETS if name in IN_LINES or name == "table1"]


def lines_of(name: str) -> list[bytes]:
    """Return the committed records of a target, a line each."""
    return gzip.decompress((RESULTS / f"{name}.jsonl.gz").read_bytes()).splitlines()


def write_lines(folder: Path, name: str, lines: list[bytes]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.fixture
def complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Give a function that rebuilds a target from ``tmp_path`` and returns its one-line error."""

    def rebuild(target: str) -> str:
        out = tmp_path / "out"
        words = ["reproduce", target, "--from-records", str(tmp_path), "--out", str(out)]
        monkeypatch.setattr(sys, "argv", ["graphfilter", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        assert not list(out.iterdir())
        said = " ".join(capsys.readouterr().err.split())
        assert "__init__" not in said
        return said

    return rebuild


def search_once(graph: object, system: str, **_: object) -> SearchResult:
    split = Split(np.array([0]), np.array([1]), np.array([2]))
    found = Found(CHOSEN, 0.85, 0.81)
    return SearchResult(system, split, found, found, 2, 1, 0)


@pytest.mark.parametrize("name", ["fig-dynamics", "search"])
@pytest.mark.parametrize("n_lost", [1, 20])
def test_target_goes_on_after_a_cut_last_line(name: str, n_lost: int, tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "QUICK_EPOCHS", 2)
    monkeypatch.setattr(appendix_search, "search", search_once)
    target: Any = TARGETS[name]
    target = replace(target, quick=("karate",))
    target.collect(tmp_path, QUICK, None)
    path = tmp_path / f"{name}-quick.jsonl"
    whole = path.read_bytes()
    assert whole.count(b"\n") == 1
    path.write_bytes(whole[:-n_lost])
    with pytest.raises(DataFileError, match=f"holds no records of {name}"):
        target.render(tmp_path, QUICK)
    target.collect(tmp_path, QUICK, None)
    # The same run again, on a line of its own.
    assert path.read_bytes() == whole
    target.render(tmp_path, QUICK)


BROKEN = [b"{", b"[1]", b"null", b"\xff\x00", b"{}", b"[" * 100_000]


def test_most_targets_are_on_record() -> None:
    assert len(ON_RECORD) >= 10


@pytest.mark.parametrize("name", ON_RECORD)
def test_broken_middle_lines_are_left_out(name: str, tmp_path: Path) -> None:
    first, *others = lines_of(name)[:10]  # of the peers ten runs make a cell
    write_lines(tmp_path, name, [first, *others])
    whole = TARGETS[name].render(tmp_path, Options())
    write_lines(tmp_path, name, [first, *BROKEN, *others])
    rendered = TARGETS[name].render(tmp_path, Options())
    assert (rendered.blocks, rendered.notes) == (whole.blocks, whole.notes)


def test_resuming_and_rendering_leave_out_the_same_lines(tmp_path: Path) -> None:
    lines = lines_of("table3")[:4]
    wrong = json.dumps(json.loads(lines[2]) | {"config": None}).encode()
    write_lines(tmp_path, "table3", [lines[0], lines[1][:50], wrong, lines[3]])
    kept = [Record.from_json(line) for line in (lines[0], lines[3])]
    assert open_records(tmp_path, "table3").records == kept
    assert read_target_records(tmp_path, "table3") == kept


@pytest.mark.parametrize("name", IN_LINES)
def test_file_without_a_record_is_an_error_in_one_line(name: str, tmp_path, complaint) -> None:
    write_lines(tmp_path, name, [b"[1]", b'{"no": "record"}'])
    said = complaint(name)
    assert f"{name}.jsonl, line 1: must be" in said
    assert "left alone" in said


@pytest.mark.parametrize("name", IN_LINES)
def test_empty_file_is_an_error_and_ignored_beside_others(name: str, tmp_path, complaint) -> None:
    write_lines(tmp_path, name, [])
    said = complaint(name)
    assert f"{name}.jsonl: holds no records of {name}; make them: graphfilter reproduce" in said
    assert f'id="{name}"' not in render_reproduction(tmp_path)


@pytest.mark.parametrize("name", OWN)
def test_missing_records_are_named_once_with_how_to_make_them(name, tmp_path, complaint) -> None:
    said = complaint(name)
    assert said.count(f"{name}.json") == 1
    assert "there are no such records" in said
    assert f"make them: graphfilter reproduce {name} --out" in said


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("table2", "table3"),
        ("table3", "fig-noise"),
        ("table4", "fig-noise"),
        ("table5", "fig-noise"),
        ("fig-filters", "fig-noise"),
        ("fig-noise", "table2"),
        ("fig-dynamics", "fig-random-dynamics"),
    ],
)
def test_records_of_another_target_are_not_shown(name, other, tmp_path, complaint) -> None:
    write_lines(tmp_path, name, lines_of(other))
    assert f"{name}.jsonl: holds no records of {name}; make them" in complaint(name)


@pytest.mark.parametrize("content", ["{}", "[]"])
def test_empty_table1_is_an_error(content: str, tmp_path, complaint) -> None:
    (tmp_path / "table1.json").write_text(content)
    assert "table1.json: holds no records of table1" in complaint("table1")


@pytest.mark.parametrize("content", ["5", "[5]", '["a"]', '[{"dataset": "cora"}]', '{"a": 1}'])
def test_table1_of_a_wrong_shape_is_an_error(content: str, tmp_path, complaint) -> None:
    (tmp_path / "table1.json").write_text(content)
    assert "table1.json: must hold the rows of table1" in complaint("table1")


@pytest.mark.parametrize("name", ["table2", "search", "fig-dynamics"])
def test_corrupt_packed_records_are_an_error(name: str, tmp_path, complaint) -> None:
    packed = bytearray((RESULTS / f"{name}.jsonl.gz").read_bytes())
    packed[len(packed) // 2 : len(packed) // 2 + 64] = bytes(64)
    (tmp_path / f"{name}.jsonl.gz").write_bytes(packed)
    assert f"{name}.jsonl.gz: cannot be read" in complaint(name)


@pytest.mark.parametrize("change", [{"alpha": []}, {"alpha": [[1.0]]}, {"epochs": []}, {"beta": 1}])
def test_dynamics_of_a_wrong_shape_are_left_out(change: dict, tmp_path: Path) -> None:
    first, last = lines_of("fig-dynamics")
    write_lines(tmp_path, "fig-dynamics", [first])
    (note,) = TARGETS["fig-dynamics"].render(tmp_path, Options()).notes
    wrong = json.dumps(json.loads(last) | change).encode()
    write_lines(tmp_path, "fig-dynamics", [first, wrong])
    assert TARGETS["fig-dynamics"].render(tmp_path, Options()).notes == (note,)


@pytest.mark.parametrize("filter_", [{}, {"alpha": [None], "beta": [1.0]}, {"alpha": "x"}])
def test_run_without_a_filter_counts_but_is_not_drawn(filter_: dict, tmp_path: Path) -> None:
    lines = [json.dumps(json.loads(x) | {"filter": filter_}) for x in lines_of("fig-filters")]
    write_lines(tmp_path, "fig-filters", [line.encode() for line in lines])
    rendered = TARGETS["fig-filters"].render(tmp_path, Options())
    assert str(rendered.blocks[0].rows[0].cells[0])
    assert rendered.figure is not None
    # Only the line at zero.
    assert [len(axes.get_lines()) for axes in rendered.figure.axes] == [1] * 6

"""Every benchmark runs, shows and draws its record; the page holds the tables of the records."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path

import pytest
import torch

import epoch
import growth
import harness
import huge
import layer
import loading
import memory
import pyg_layers
import summary
import turns
import write_docs
from graphfilter.data import load_dataset

CPU = torch.device("cpu")
SMALL = argparse.Namespace(small=True, check=False, datasets="karate", compiled=False)


def run_small(name: str, monkeypatch: pytest.MonkeyPatch) -> harness.Record:
    """Run a benchmark at a size that takes no time, in this process."""
    tiny = growth.Plan((200, 400), (1, 2), 200, 2, 4, 10, 0.0)
    monkeypatch.setitem(growth.PLANS, "small", tiny)
    monkeypatch.setitem(layer.SIZES, "small", (50, 400))
    monkeypatch.setitem(huge.SIZES, "small", (300, 3000))
    monkeypatch.setattr(loading, "DATASETS", ())
    monkeypatch.setattr(pyg_layers, "DATASETS", ("karate",))
    monkeypatch.setattr(epoch, "read_graph", lambda name: load_dataset("karate"))
    monkeypatch.setattr(loading, "apart", lambda call, *arguments: call(*arguments))
    monkeypatch.setattr(layer, "copy_bandwidth", lambda device, n_bytes: 1e10)
    if name == "memory":
        # A process's peak says nothing at this size: test_peers.py runs the step itself.
        monkeypatch.setattr(memory, "measure_on", measured)
    module = importlib.import_module(name)
    run = huge.run_or_check if name == "huge" else module.run
    return harness.make_record(name, False, CPU, run(SMALL, CPU))


def measured(device: torch.device, method: str, degree: int, *size: int) -> memory.Measurement:
    peak = 4 * 2**20 if method == "ours" else (degree + 4) * 2**20
    return memory.Measurement(method, degree, peak, [1.0], 1.0)


BENCHMARKS = (
    "epoch",
    "layer",
    "memory",
    "growth",
    "huge",
    "loading",
    "pyg_conv",
    "pyg_layers",
    "turns",
    "walk",
)
UNDRAWN = ("loading", "pyg_layers", "turns", "walk")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_shows_and_draws_its_record(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.loads(json.dumps(run_small(name, monkeypatch), allow_nan=False))
    page = f"before\n<!-- begin:{name}-cpu -->\nold\n<!-- end:{name}-cpu -->\nafter\n"
    written = write_docs.render(page, {f"{name}-cpu": record})
    assert importlib.import_module(name).table(record) in written
    assert f"python benchmarks/{name}.py" in written
    assert "old" not in written
    assert written.startswith("before\n<!-- begin")
    assert written.endswith("<!-- end:" + f"{name}-cpu -->\nafter\n")
    assert write_docs.render(written, {f"{name}-cpu": record}) == written
    write_docs.draw_all({f"{name}-cpu": record}, tmp_path)
    drawn = tmp_path / write_docs.picture(f"{name}-cpu")
    assert (drawn.name in written) == drawn.is_file() == (name not in UNDRAWN)


def test_epoch_table_divides_the_peers_time_by_ours() -> None:
    def timing(seconds: float) -> harness.Record:
        return harness.Timing(seconds, seconds, seconds, 1).to_json()

    record = {
        "device": "cuda",
        "epochs": [{"dataset": "cora", "ours": timing(0.002), "pyg": timing(0.05)}],
        "predictions": [],
        "side_by_side": {
            "dataset": "cora", "n_runs": 10, "one": timing(0.002), "all": timing(0.003)
        },
    }  # fmt: skip
    shown = epoch.table(record)
    assert "| **25×** | ≥ 10× |" in shown
    assert "| **1.50×** | < 2× |" in shown


def test_turns_are_compared_each_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that becomes three times slower between turns leaves the ratio as it is."""
    ours, theirs = iter([0.1, 1.0, 2.0, 3.0]), iter([4.0, 8.0, 12.0])
    monkeypatch.setattr(turns, "our_clock", lambda case, n_epochs: lambda: next(ours))
    monkeypatch.setattr(turns, "peer_clock", lambda case, kind, n_epochs: lambda: next(theirs))
    compiled = iter([0.5, 1.0, 1.5])
    monkeypatch.setattr(turns, "compiled_clock", lambda case, n_epochs: lambda: next(compiled))
    monkeypatch.setattr(turns, "native_library", object)
    row = turns.measure(epoch.Case("karate", CPU), ["plain_sparse"], 3, 0.0)
    assert row["ratios"] == {"plain_sparse": harness.Timing(4.0, 4.0, 4.0, 3).to_json()}
    shown = turns.table({"epochs": [{"dataset": "cora", **row}], "load": None})
    assert "| **4.00×** | 4.00× to 4.00× | ≥ 10× |" in shown
    assert "| 1.00 s (0.500 to 1.50) | **8.00×** | 8.00× to 8.00× | ≥ 10× |" in shown


@pytest.mark.skipif(turns.native_library() is None, reason="the CPU kernel was not built")
def test_compiled_passes_are_timed_and_left_as_they_were() -> None:
    before = dict(vars(turns.native_library()))
    with turns.compiled_seconds() as spent:
        turns.train_for(epoch.Case("karate", CPU), 2)
    # Three walks and three products an epoch.
    assert len(spent) >= 12
    assert all(seconds >= 0 for seconds in spent)
    assert vars(turns.native_library()) == before


def test_performance_page_holds_the_tables_of_the_records() -> None:
    page = write_docs.PAGE.read_text(encoding="utf-8")
    records = write_docs.read_records(write_docs.RESULTS)
    assert write_docs.render(page, records) == page, "run: python benchmarks/write_docs.py"
    for name in records:
        if f"performance-{name}.png" in page:
            assert (write_docs.PAGE.parent / "images" / f"performance-{name}.png").is_file()


def test_page_with_another_number_is_not_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    record = run_small("memory", monkeypatch)
    page = "<!-- begin:memory-cpu -->\n<!-- end:memory-cpu -->\n"
    written = write_docs.render(page, {"memory-cpu": record})
    record["peak_bytes"][0]["ours"] *= 2
    assert write_docs.render(written, {"memory-cpu": record}) != written


def test_records_without_a_place_or_of_a_quick_look_are_refused(tmp_path: Path) -> None:
    with pytest.raises(write_docs.GraphFilterError, match="begin:epoch-cpu"):
        write_docs.render("no place", {"epoch-cpu": {}})
    (tmp_path / "epoch-cpu.json").write_text('{"small": true}')
    with pytest.raises(write_docs.GraphFilterError, match="--small"):
        write_docs.read_records(tmp_path)


@pytest.mark.parametrize("path", write_docs.OTHERS, ids=lambda path: path.stem)
def test_other_pages_show_what_is_on_record(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    records = write_docs.read_records(write_docs.RESULTS)
    assert write_docs.render_some(page, records) == page, "run: python benchmarks/write_docs.py"


def test_readme_has_measured_rows_each_with_its_command() -> None:
    records = write_docs.read_records(write_docs.RESULTS)
    rows = [row.strip("|").split("|") for row in summary.table(records).splitlines()]
    assert len(rows) - 2 == 3 + summary.resumable.records_of("real_tables").exists()
    assert all(cell.strip() for row in rows for cell in row)
    assert all(re.fullmatch(r" `(python|graphfilter) .+` ", row[-1]) for row in rows[2:])


def test_summary_has_the_processor_time_of_both_ways_of_a_gcn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summary, "in_one_line", lambda folder: ("ours", "theirs"))
    turns = [
        {"committee": [4.0], "gcn": [1.0], "gcn_sparse": [0.5]},
        {"committee": [6.0], "gcn": [3.0], "gcn_sparse": [0.7]},
    ]
    scores = {"accuracy": 0.894, "gcn_accuracy": 0.881, "gcn_sparse_accuracy": 0.87}
    row = {"dataset": "cora", **scores, "processor_turns": turns}
    shown = summary.table({"default_fit-cpu": {"rows": [row], "command": "python x.py"}})
    words = "5.00 s (89.4 %) | PyG's GCN, 200 epochs: 2.00 s (88.1 %); with sparse features 0.600 s"
    assert f"{words} (87.0 %) | `python x.py` |" in shown


def test_page_of_layers_says_the_range_on_record() -> None:
    rows = write_docs.read_records(write_docs.RESULTS)["pyg_layers-cpu"]["rows"]
    ratios = [r["ratio"]["median"] for r in rows if r["layers"][0].startswith("ChebConv")]
    page = (write_docs.HERE.parent / "docs" / "howto" / "pyg.md").read_text(encoding="utf-8")
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times beside `ChebConv`" in page

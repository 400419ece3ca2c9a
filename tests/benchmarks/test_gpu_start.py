"""The first fit of a process: what is timed, and how it is shown."""

from __future__ import annotations

import pytest
import torch

import default_fit
import gpu_start
from graphfilter.systems import get_system


def test_profile_times_every_part_member_and_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    short = get_system("committee").with_(max_epochs=2)
    monkeypatch.setattr(default_fit, "get_system", lambda _: short)
    for owner, names in {
        gpu_start.kernels: ["_runs_a_kernel"],
        gpu_start.committee.Member: ["begin", "advance", "join"],
        gpu_start.committee._Training: ["advance", "judge", "end"],
        gpu_start.committee: ["weigh_parts"],
        gpu_start.committee_outcome: ["outputs_for_new"],
    }.items():
        for name in names:  # Set back when the test ends.
            monkeypatch.setattr(owner, name, getattr(owner, name))
    row = gpu_start.first_fit("karate", torch.device("cpu"), profile=True)
    assert {"imports", "reading", "fit"} == set(row["seconds"])
    assert {"places", "deep", "trees"} <= {member["member"] for member in row["members"]}
    assert row["kernels"] == 0
    phases = {each["phase"] for each in row["phases"]}
    assert {"trees: prepared", "deep: to epoch 2", "weighed", "90% of vertices known"} <= phases
    assert all(each["at"] >= 0 and each["seconds"] >= 0 for each in row["phases"])
    shown = gpu_start.table({"rows": [{**row, "process_seconds": 1.0}]})
    assert "| karate | began | took |" in shown


def test_table_shows_the_fit_beside_its_goal_and_what_was_compiled() -> None:
    row = {
        "dataset": "cora",
        "process_seconds": 12.0,
        "seconds": {"imports": 2.0, "context": 1.0, "reading": 0.5, "fit": 7.0},
        "accuracy": 0.9,
        "members": [{"member": "trees", "seconds": 1.0}, {"member": "deep", "seconds": 2.0}],
        "kernels": 13,
        "kernel_seconds": 2.5,
        "launchers": 5,
        "launcher_seconds": 1.5,
    }
    line = (
        "| cora | 12.0 s | 2.00 s | 1.00 s | 0.500 s | 7.00 s | ≤ 8 s | 13: 2.50 s | 5: 1.50 s "
        "| 90.0 | deep 2.00 s, trees 1.00 s |"
    )
    assert line in gpu_start.table({"rows": [row]})


def test_what_triton_compiles_is_counted_apart_from_what_it_found() -> None:
    seen = gpu_start.Compilations()
    seen.kernels = [
        {"cached": True, "seconds": 0.1, "stages": {"ptx": 0.1}},
        {"cached": False, "seconds": 0.5, "stages": {"ptx": 0.2, "cubin": 0.3}},
    ]
    record = seen.record()
    assert (record["kernels"], record["kernel_seconds"]) == (1, 0.5)
    assert record["stages"] == {"ptx": 0.2, "cubin": 0.3}

"""Pairs in processes, started as users start them and forked, which is quicker."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.processes import forking

from graphfilter.data.graph import Graph
from graphfilter.models import Network
from graphfilter.systems import System
from graphfilter_research.bench import pair as pair_module
from graphfilter_research.bench.matrix import run_in_processes, run_matrix, worker_environment
from graphfilter_research.bench.pair import LostDeviceError, Pair
from graphfilter_research.bench.record import Record, RecordFile, read_records
from graphfilter_research.peers.fsgnn import FSGNNConfig

ALIVE = Pair("karate", "mlp", "stratified", 1, "auto", "cpu", max_epochs=1)
DYING = replace(ALIVE, model="no such system")
AFTER = replace(ALIVE, model="sgc")


@pytest.mark.parametrize("forked", [False, True])
def test_process_that_dies_takes_no_other_down(
    forked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forked, with one that takes its place."""
    pairs = [ALIVE, DYING]
    if forked:
        monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
        pairs.append(AFTER)
    ended: dict[str, int] = {}
    records: list[Record] = []

    def handle(pair: Pair, event: object) -> None:
        if isinstance(event, Record):
            records.append(event)

    run_in_processes(pairs, 1, handle, lambda pair, code: ended.update({pair.model: code}))
    assert ended.pop(DYING.model) != 0
    lived = [pair.model for pair in pairs if pair is not DYING]
    assert ended == dict.fromkeys(lived, 0)
    assert [(r.model, r.ok) for r in records] == [(model, True) for model in lived]


@dataclass(frozen=True)
class BreakingConfig(FSGNNConfig):
    """A network that takes the GPU of its process with it, in the run of seed 1."""

    def build(self, graph: Graph, generator: torch.Generator) -> Network[Any]:
        if generator.initial_seed() == 1:
            pair_module.is_lost = lambda device: True
            raise RuntimeError("CUDA error: an illegal instruction was encountered\nSearch for it")
        return super().build(graph, generator)


BREAKING = replace(ALIVE, model="breaking", runs=4, given=System("b", "B", BreakingConfig()))
REASON = (
    "RuntimeError: CUDA error: an illegal instruction was encountered; the GPU is lost to this "
    "process: run again, with fewer jobs."
)


def test_runs_after_a_lost_gpu_are_made_by_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    records = run_matrix([BREAKING, ALIVE], RecordFile(tmp_path / "r.jsonl"), jobs=2)
    assert [(r.model, r.seed, r.reason) for r in records] == [
        ("breaking", 0, REASON),  # Of four at once, the one that is said to have failed.
        ("breaking", 1, REASON), ("breaking", 2, ""), ("breaking", 3, ""), ("mlp", 0, ""),
    ]  # fmt: skip


def test_lost_gpu_ends_a_matrix_without_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_module, "is_lost", lambda device: False)  # and back in the end
    with pytest.raises(LostDeviceError, match=r"an illegal instruction .* with fewer jobs"):
        run_matrix([BREAKING, ALIVE], RecordFile(tmp_path / "r.jsonl"))
    assert [r.reason for r in read_records(tmp_path / "r.jsonl")] == [REASON]


def test_gpu_is_lost_where_it_answers_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(device: object) -> None:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    assert not pair_module.is_lost("cuda")
    monkeypatch.setattr(torch.cuda, "synchronize", answer)
    assert pair_module.is_lost("cuda")
    assert not pair_module.is_lost("cpu")


def test_workers_get_their_share_and_the_environment_is_left_as_it_was() -> None:
    before = dict(os.environ)
    with worker_environment(3):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["GRAPHFILTER_THREADS"] == "3"
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ == before

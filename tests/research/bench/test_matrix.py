"""The matrix of runs: what is on record is skipped or copied, what fails is recorded."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.processes import forking

from graphfilter.data import make_csbm
from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.models import Network
from graphfilter.systems import System
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench import matrix, pair as pair_module
from graphfilter_research.bench.matrix import (
    BenchProgress,
    run_in_processes,
    run_matrix,
    worker_environment,
)
from graphfilter_research.bench.pair import LostDeviceError, Pair
from graphfilter_research.bench.record import Record, RecordFile, read_records
from graphfilter_research.lines import one_writer
from graphfilter_research.peers.fsgnn import FSGNNConfig


def make_pair(dataset: str, model: str, **changes: Any) -> Pair:
    pair = Pair(dataset, model, "stratified", runs=2, scaling="row", device="cpu", max_epochs=2)
    return replace(pair, **changes)


def test_known_runs_are_copied_not_made_again(tmp_path: Path) -> None:
    pairs = [make_pair("karate", "sgf")]
    run_matrix(pairs, RecordFile(tmp_path / "one.jsonl"))
    known = {record.key: record for record in read_records(tmp_path / "one.jsonl")}
    run_matrix(pairs, RecordFile(tmp_path / "two.jsonl"), known=known)
    # The seconds too: those of another training would differ.
    assert read_records(tmp_path / "two.jsonl") == list(known.values())


def test_matrix_is_refused_while_another_process_writes_its_records(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "one.jsonl")
    refused = pytest.raises(ConfigError, match=r"one\.jsonl: another process is writing to it")
    with one_writer(file.path), refused:
        run_matrix([make_pair("karate", "sgf")], file)
    assert list(tmp_path.iterdir()) == []


def test_matrix_takes_a_graph_from_a_file_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    path = tmp_path / "graph.npz"
    write_npz(make_csbm(60, n_features=4), path)
    pairs = [make_pair("csbm~0", "sgf", file=str(path))]
    for name, jobs in (("one", 1), ("many", 2)):
        run_matrix(pairs, RecordFile(tmp_path / f"{name}.jsonl"), jobs=jobs)
    one, many = (read_records(tmp_path / f"{name}.jsonl") for name in ("one", "many"))
    assert [(r.dataset, r.model, r.seed) for r in one] == [
        ("csbm~0", "sgf", 0), ("csbm~0", "sgf", 1),
    ]  # fmt: skip
    assert [r.scores for r in one] == [r.scores for r in many]
    # Under its recorded name and from another file, nothing is run again.
    other = path.rename(tmp_path / "elsewhere.npz")
    pairs = [make_pair("csbm~0", "sgf", file=str(other))]
    assert run_matrix(pairs, RecordFile(tmp_path / "one.jsonl")) == one
    assert read_records(tmp_path / "one.jsonl") == one


def test_matrix_keeps_the_order_of_pairs_that_differ_in_their_protocol(tmp_path: Path) -> None:
    pairs = [
        make_pair("karate", "mlp", scaling="none"),
        make_pair("karate", "mlp"),
        make_pair("karate", "mlp", split_rule="per_class"),
    ]
    seen: list[BenchProgress] = []
    file = RecordFile(tmp_path / "r.jsonl")
    records = run_matrix(pairs, file, on_progress=seen.append)
    assert [(r.scaling, r.split_rule, r.seed) for r in records] == [
        (pair.scaling, pair.split_rule, seed) for pair in pairs for seed in (0, 1)
    ]
    assert (seen[-1].done, seen[-1].total, seen[-1].what) == (6, 6, "karate: mlp")
    assert run_matrix(pairs[::-1], file) == [*records[4:], *records[2:4], *records[:2]]


def test_runs_that_are_made_in_turn_are_divided_among_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    pairs = [make_pair("karate", "mlp", split_rule=rule) for rule in ("new:0.2", "seen:0.2")]
    one = run_matrix(pairs, RecordFile(tmp_path / "one.jsonl"))
    given: list[tuple[str, int, int]] = []
    run = matrix.run_in_processes

    def watched(pairs, jobs, handle, end) -> None:
        given.extend((pair.split_rule, pair.first, pair.runs) for pair in pairs)
        run(pairs, jobs, handle, end)

    monkeypatch.setattr(matrix, "run_in_processes", watched)
    many = run_matrix(pairs, RecordFile(tmp_path / "many.jsonl"), jobs=2)
    assert given == [("new:0.2", 0, 1), ("new:0.2", 1, 1), ("seen:0.2", 0, 2)]
    assert [r.key for r in many] == [r.key for r in one]
    assert [r.scores for r in many] == [r.scores for r in one]


@pytest.mark.parametrize(("code", "why"), [(-9, "memory"), (-6, "printed above"), (1, "printed")])
def test_runs_of_a_process_that_ended_are_recorded_as_failed(
    code: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r.jsonl"
    run_matrix([make_pair("karate", "mlp", runs=1)], RecordFile(out))
    monkeypatch.setattr(matrix, "run_in_processes", lambda pairs, jobs, handle, end:
                        [end(pair, code) for pair in pairs])  # fmt: skip
    pairs = [make_pair("karate", model) for model in ("mlp", "sgc")]
    run_matrix(pairs, RecordFile(out), jobs=2)
    written = [(r.model, r.seed, r.status) for r in read_records(out)]
    assert written == [
        ("mlp", 0, "ok"), ("mlp", 1, "failed"), ("sgc", 0, "failed"), ("sgc", 1, "failed"),
    ]  # fmt: skip
    reason = read_records(out)[1].reason
    assert f"code {code}: " in reason
    assert why in reason


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

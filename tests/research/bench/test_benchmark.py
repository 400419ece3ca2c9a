from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from tests.processes import forking

from graphfilter.data import load_dataset, make_csbm
from graphfilter.data.graph import Graph
from graphfilter.data.npz import write_npz
from graphfilter.metrics import score_parts
from graphfilter.models import Linear, ModelConfig, Network, SizedNetwork
from graphfilter.models.layers import Draws
from graphfilter.splits import Split, stratified
from graphfilter.systems import Prepared, System, get_system, train_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.matrix import BenchProgress
from graphfilter_research.bench.record import Record, read_records
from graphfilter_research.peers.gcn import GCNConfig

QUICK: dict[str, Any] = {"runs": 2, "max_epochs": 4, "device": "cpu"}


@pytest.fixture
def csbm(tmp_path: Path) -> str:
    path = tmp_path / "csbm.npz"
    write_npz(make_csbm(80, n_features=4), path)
    return str(path)


@dataclass(frozen=True)
class PlainConfig(ModelConfig):
    kind: ClassVar[str] = "Plain"


class Plain(SizedNetwork[PlainConfig], config=PlainConfig):
    """Not a FilterNetwork: runs of it cannot be joined."""

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        self.linear = Linear(n_features, n_classes, generator)

    def forward(self, operator, x, generator=None):
        return self.linear(x)


def guess_prior(graph: Graph, split: Split) -> np.ndarray:
    assert graph.labels is not None
    counts = np.bincount(graph.labels[split.train], minlength=graph.n_classes)
    return np.tile(counts / counts.sum(), (graph.n_vertices, 1))


PLAIN = System("plain", "Plain", PlainConfig())
PRIOR = System("prior", "Prior", None, predict=guess_prior)


def scores_of(records: list[Record]) -> list[tuple[str, str, int, float]]:
    return [(r.dataset, r.model, r.seed, r.scores["test"]["log_loss"]) for r in records]


def test_benchmark_runs_the_whole_matrix_and_records_it(tmp_path: Path, csbm: str) -> None:
    out = tmp_path / "new" / "records.jsonl"
    records = run_benchmark(["karate", csbm], ["sgf", "mlp", PLAIN, PRIOR], out=out, **QUICK)
    assert [(r.dataset, r.model, r.seed) for r in records] == [
        (dataset, model, seed)
        for dataset in ("karate", csbm)
        for model in ("sgf", "mlp", "plain", "prior")
        for seed in (0, 1)
    ]
    assert records == read_records(out)
    assert all(r.ok and r.split_index == r.seed for r in records)
    first = records[0]
    assert (first.epochs, first.stopped, first.side_by_side) == (4, "max_epochs", 2)
    assert first.config["max_epochs"] == 4
    assert first.network["dropout_on"] == "linear"
    assert [len(first.filter[name]) for name in ("alpha", "beta")] == [16, 16]
    assert set(first.versions) == {"graphfilter", "code", "torch", "numpy", "python"}
    assert first.seconds_per_epoch is not None
    assert first.seconds == pytest.approx(first.epochs * first.seconds_per_epoch)
    assert {p: s["n_vertices"] for p, s in first.scores.items()} == {
        "train": 20, "val": 8, "test": 6,
    }  # fmt: skip


def test_benchmark_gives_what_the_pipeline_gives(tmp_path: Path) -> None:
    graph = load_dataset("karate")
    system = get_system("sgf")
    system = replace(system, config=replace(system.config, max_epochs=30))
    splits = [stratified(graph.labels, seed) for seed in range(2)]
    outcomes = train_system(Prepared.of(graph), system, splits, range(2))
    assert graph.labels is not None
    expected = [
        score_parts(outcome.probabilities, graph.labels, split)["test"]["accuracy"]
        for outcome, split in zip(outcomes, splits, strict=True)
    ]
    records = run_benchmark(["karate"], [system], runs=2, device="cpu", out=tmp_path / "r.jsonl")
    assert [r.scores["test"]["accuracy"] for r in records] == expected


def test_systems_that_differ_in_their_model_only_have_records_of_their_own(tmp_path: Path) -> None:
    """Records used to be keyed by what happened to be an attribute of the network."""
    small = replace(get_system("gcn"), name="mine")
    large = replace(small, model=GCNConfig(hidden_size=64, n_layers=4))
    out = tmp_path / "r.jsonl"
    (first,) = run_benchmark(["karate"], [small], out=out, **dict(QUICK, runs=1))
    (second,) = run_benchmark(["karate"], [large], out=out, **dict(QUICK, runs=1))
    assert first.key != second.key
    assert (first.network["n_layers"], second.network["n_layers"]) == (2, 4)
    assert len(read_records(out)) == 2


def test_benchmark_scores_a_predictor_as_its_closed_form(tmp_path: Path, csbm: str) -> None:
    """Two classes of 40 drawn 24 / 8 / 8: the prior is even, its log loss log 2."""
    (record,) = run_benchmark([csbm], [PRIOR], runs=1, out=tmp_path / "r.jsonl")
    assert record.scores["test"]["log_loss"] == pytest.approx(np.log(2))
    assert record.scores["test"]["accuracy"] == 0.5
    assert (record.epochs, record.seconds_per_epoch) == (0, None)


def test_benchmark_skips_what_is_there(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    seen: list[BenchProgress] = []
    first = run_benchmark(["karate"], ["mlp", PLAIN], out=out, **QUICK)
    before = out.read_bytes()
    again = run_benchmark(["karate"], ["mlp", PLAIN], out=out, on_progress=seen.append, **QUICK)
    assert out.read_bytes() == before
    assert again == first
    assert (seen[-1].done, seen[-1].skipped, seen[-1].total) == (4, 4, 4)


@pytest.mark.parametrize(
    "change",
    [{"max_epochs": 3}, {"scaling": "row"}, {"split_rule": "per_class"}, {"runs": 3}],
    ids=str,
)
def test_benchmark_runs_again_what_differs(tmp_path: Path, change: dict) -> None:
    out = tmp_path / "r.jsonl"
    run_benchmark(["karate"], ["mlp"], out=out, **QUICK)
    records = run_benchmark(["karate"], ["mlp"], out=out, **(QUICK | change))
    n_new = 1 if "runs" in change else 2
    assert len(read_records(out)) == 2 + n_new
    assert len(records) == change.get("runs", 2)


def test_benchmark_runs_again_when_the_file_behind_a_name_has_changed(
    tmp_path: Path, csbm: str
) -> None:
    out = tmp_path / "r.jsonl"
    (before,) = run_benchmark([csbm], [PRIOR], runs=1, out=out)
    write_npz(make_csbm(80, n_features=4, seed=1), csbm)
    (after,) = run_benchmark([csbm], [PRIOR], runs=1, out=out)
    assert before.data_checksum != after.data_checksum
    assert len(read_records(out)) == 2


@pytest.mark.parametrize("n_kept", [1, 2, 3])
def test_benchmark_goes_on_after_a_kill_in_the_middle_of_a_line(
    tmp_path: Path, csbm: str, n_kept: int
) -> None:
    out = tmp_path / "r.jsonl"
    whole = run_benchmark([csbm], ["sgf", PLAIN], out=out, **QUICK)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:n_kept]) + lines[n_kept][:100])
    resumed = run_benchmark([csbm], ["sgf", PLAIN], out=out, **QUICK)
    assert len(read_records(out)) == 4
    for (*run, loss), (*run_before, loss_before) in zip(
        scores_of(resumed), scores_of(whole), strict=True
    ):
        assert run == run_before
        # Alone instead of side by side: the same to rounding.
        assert loss == pytest.approx(loss_before, rel=1e-4)


def test_interrupt_leaves_whole_records_and_is_not_swallowed(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"

    def interrupt(progress: BenchProgress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_benchmark(["karate"], [PLAIN], out=out, on_progress=interrupt, **QUICK)
    assert [r.seed for r in read_records(out)] == [0]
    assert len(run_benchmark(["karate"], [PLAIN], out=out, **QUICK)) == 2
    assert len(read_records(out)) == 2


@pytest.mark.parametrize(
    "error", [ConfigError("pip install graphfilter[peers]"), RuntimeError("out of memory\nat C++"),
              ImportError("no module")], ids=lambda e: type(e).__name__
)  # fmt: skip
def test_failing_runs_are_recorded_with_their_reason_and_tried_again(
    tmp_path: Path, error: Exception
) -> None:
    out = tmp_path / "r.jsonl"
    broken = True

    class FragileConfig(PlainConfig):
        def build(self, graph: Graph, generator: torch.Generator) -> Network[Any]:
            if broken:
                raise error
            return super().build(graph, generator)

    system = System("fragile", "Fragile", FragileConfig())
    records = run_benchmark(["karate"], [system, PRIOR], out=out, **QUICK)
    assert [r.status for r in records] == ["failed", "failed", "ok", "ok"]
    assert records[0].reason == f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    broken = False
    records = run_benchmark(["karate"], [system, PRIOR], out=out, **QUICK)
    assert [r.status for r in records] == ["ok"] * 4
    assert len(read_records(out)) == 6


def test_runs_beyond_the_fixed_splits_fail_and_the_others_do_not(tmp_path: Path) -> None:
    graph = make_csbm(80)
    path = tmp_path / "split.npz"
    split = stratified(graph.labels, 0)
    own = Split(split.train, split.val, split.test, rule="fixed")
    write_npz(graph.replace(splits=[own]), path)
    records = run_benchmark([path], ["mlp"], split_rule="fixed", out=tmp_path / "r", **QUICK)
    assert [r.status for r in records] == ["ok", "failed"]
    assert "fixed split number 1" in records[1].reason
    assert records[0].scores["test"]["n_vertices"] == len(split.test)


def test_dataset_that_cannot_be_read_fails_its_runs_only(tmp_path: Path) -> None:
    absent = tmp_path / "absent.npz"
    records = run_benchmark([absent, "karate"], [PRIOR], runs=1, out=tmp_path / "r.jsonl")
    assert [r.status for r in records] == ["failed", "ok"]
    assert str(absent) in records[0].reason


def test_benchmark_in_processes_gives_the_same(
    tmp_path: Path, csbm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    options: dict[str, Any] = QUICK | {"models": ["sgf", "mlp"], "datasets": [csbm]}
    one = run_benchmark(out=tmp_path / "one.jsonl", **options)
    seen: list[BenchProgress] = []
    two = run_benchmark(out=tmp_path / "two.jsonl", jobs=2, on_progress=seen.append, **options)
    assert scores_of(two) == scores_of(one)
    assert sorted(scores_of(read_records(tmp_path / "two.jsonl"))) == sorted(scores_of(two))
    assert seen[-1].done == 4


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"datasets": ["corra"]}, "did you mean 'cora'"),
        ({"models": ["sgff"]}, "did you mean 'sgf'"),
        ({"split_rule": "random"}, "unknown split rule"),
        ({"scaling": "rows"}, "did you mean 'row'"),
        ({"runs": 0}, "runs must be a whole number from 1"),
        ({"max_epochs": 0}, "max_epochs must be a whole number from 1"),
        ({"jobs": 2, "models": [PLAIN]}, "names of the registry"),
    ],
)
def test_benchmark_refuses_what_cannot_be_run_before_it_starts(
    tmp_path: Path, change: dict, problem: str
) -> None:
    out = tmp_path / "r.jsonl"
    options: dict[str, Any] = QUICK | {"datasets": ["karate"], "models": ["mlp"]} | change
    with pytest.raises(ConfigError, match=problem):
        run_benchmark(out=out, **options)
    assert not out.exists()

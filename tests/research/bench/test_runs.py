"""What a record is of: which seed, which split, which epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.data import make_csbm
from graphfilter.data.npz import write_npz
from graphfilter.splits import Split, stratified
from graphfilter_research.bench.benchmark import run_benchmark


@pytest.mark.parametrize("model", ["sgf@learning_rate=0.1", "gcn"])
def test_record_scores_the_best_epoch_and_not_the_last(model: str, tmp_path: Path) -> None:
    """A run cut off at its best epoch ends with the same weights, and so with the same scores."""
    data = tmp_path / "graph.npz"
    write_npz(make_csbm(80, mean_degree=4, n_features=6), data)

    def record(name: str, max_epochs: int):
        out = tmp_path / f"{name}.jsonl"
        (made,) = run_benchmark([str(data)], [model], out=out, runs=1, max_epochs=max_epochs)
        return made

    whole = record("whole", 60)
    assert whole.best_epoch < whole.epochs
    cut = record("cut", whole.best_epoch)
    assert cut.epochs == cut.best_epoch == whole.best_epoch
    assert cut.scores == whole.scores


def test_every_run_has_a_seed_and_a_split_of_its_own(tmp_path: Path) -> None:
    records = run_benchmark(["karate"], ["mlp"], out=tmp_path / "r.jsonl", runs=3, max_epochs=2)
    assert [(r.seed, r.split_index) for r in records] == [(0, 0), (1, 1), (2, 2)]


def test_runs_on_the_one_public_split_differ_in_their_seed_alone(tmp_path: Path) -> None:
    """The split is the same, and so are the vertices scored; the weights are not."""
    graph = make_csbm(60, mean_degree=4, n_features=4)
    split = stratified(graph.labels, 0)
    public = Split(split.train, split.val, split.test, rule="public")
    data = tmp_path / "graph.npz"
    write_npz(graph.replace(splits=[public]), data)
    records = run_benchmark(
        [str(data)], ["mlp"], out=tmp_path / "r.jsonl", runs=2, max_epochs=2, split_rule="public"
    )
    assert [(r.seed, r.split_index) for r in records] == [(0, 0), (1, 0)]
    assert records[0].scores != records[1].scores

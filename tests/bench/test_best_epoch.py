"""What is scored are the weights of the best epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.bench import run_benchmark
from graphfilter.data import make_csbm
from graphfilter.data.readers import write_npz


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

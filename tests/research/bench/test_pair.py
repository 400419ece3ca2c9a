"""One system on one dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax

from graphfilter.data import load_dataset
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.systems.committee import repeated_seed
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench import pair as pair_module
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.pair import Pair, divide_name, train_average

QUICK = {"runs": 2, "max_epochs": 4, "device": "cpu"}


def test_runs_that_do_not_fit_side_by_side_are_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = run_benchmark(["karate"], ["sgf"], out=tmp_path / "together.jsonl", **QUICK)
    train = pair_module.train_average

    def out_of_memory(prepared, system, splits, *rest, **options):
        if len(splits) > 1:
            raise torch.OutOfMemoryError("too much")
        return train(prepared, system, splits, *rest, **options)

    monkeypatch.setattr(pair_module, "train_average", out_of_memory)
    alone = run_benchmark(["karate"], ["sgf"], out=tmp_path / "alone.jsonl", **QUICK)
    assert [r.side_by_side for r in alone] == [1, 1]
    for a, b in zip(alone, together, strict=True):
        assert a.scores["test"]["log_loss"] == pytest.approx(b.scores["test"]["log_loss"], rel=1e-4)


def test_settings_for_a_dataset_are_not_given_to_a_file_of_that_name() -> None:
    pair = Pair("texas", "gcnii-authors", "stratified", 1, "auto", "cpu")
    system = get_system("gcnii-authors")
    assert pair.system == system.for_dataset("texas") != system
    assert replace(pair, file="mine/texas.npz").system == system
    assert replace(pair, dataset="mine/texas.npz").system == system


def test_average_of_seeds_is_that_of_single_runs(tmp_path: Path) -> None:
    """The first of its seeds is the run's own, and with one seed nothing changes."""
    prepared = Prepared.of(load_dataset("karate"))
    split = stratified(prepared.labels, seed=0)
    system = get_system("mlp").limited(3)
    singles = train_system(prepared, system, [split] * 3, [repeated_seed(7, i) for i in range(3)])
    (averaged,) = train_average(prepared, system, [split], [7], n_seeds=3)
    expected = softmax(np.mean([np.log(one.probabilities) for one in singles], axis=0), axis=1)
    np.testing.assert_allclose(averaged.probabilities, expected, atol=1e-6)
    assert averaged.seconds > 0
    (alone,) = train_average(prepared, system, [split], [7], n_seeds=1)
    np.testing.assert_allclose(alone.probabilities, singles[0].probabilities, atol=1e-6)


def test_average_of_seeds_is_recorded_under_its_name(tmp_path: Path) -> None:
    records = run_benchmark(
        ["karate"], ["mlp*2", "mlp"], runs=2, out=tmp_path / "r.jsonl", max_epochs=2, device="cpu"
    )
    assert [(r.model, r.config.get("n_seeds")) for r in records] == [
        ("mlp*2", 2), ("mlp*2", 2), ("mlp", None), ("mlp", None),
    ]  # fmt: skip
    assert all(r.ok for r in records)


@pytest.mark.parametrize("name", ["mlp*", "mlp*0", "mlp*two", "committee*5", "label-propagation*3"])
def test_average_that_cannot_be_made_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"seeds|networks"):
        divide_name(name)

"""Systems ranked on each dataset, with intervals and in words."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter_research.bench.ranking import headline, rank_systems
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.summary import summarise


def make_record(model: str, run: int, accuracy: float, dataset: str = "karate") -> Record:
    scores = {
        "train": {"n_vertices": 60, "accuracy": 1.0},
        "test": {"n_vertices": 20, "accuracy": accuracy, "log_loss": 1 - accuracy},
    }
    return Record(
        dataset, model, "stratified", run, run, "none", {"operator": "adjacency"}, "cpu",
        scores=scores,
    )  # fmt: skip


def make_records(means: dict[str, float], n: int = 10, dataset: str = "karate") -> list[Record]:
    """Runs of each model around its mean, with the same luck on the same split."""
    luck = np.random.default_rng(0).normal(0, 0.01, n)
    own = np.random.default_rng(1)
    return [
        make_record(model, run, mean + luck[run] + own.normal(0, 0.002), dataset)
        for model, mean in means.items()
        for run in range(n)
    ]


def stand(records: list[Record], metric: str = "accuracy"):
    (summary,) = summarise(records, metric)
    return rank_systems(summary, records)


def test_intervals_stay_among_accuracies() -> None:
    (found,) = stand(make_records({"sgf": 0.97, "mlp": 0.999}))
    assert [e.high for e in found.entries] == [1.0, pytest.approx(0.98, abs=0.02)]
    (loss,) = stand(make_records({"sgf": 0.999}), "log_loss")
    assert loss.entries[0].low == 0.0


def test_ranking_orders_systems_and_says_who_is_behind() -> None:
    (found,) = stand(make_records({"mlp": 0.6, "sgf": 0.9, "sgc": 0.8995}))
    assert [e.title for e in found.entries] == ["SGF", "SGC", "MLP"]
    assert [e.verdict for e in found.entries] == ["best", "not clearly worse", "clearly worse"]
    assert found.sentence.startswith("SGF has the highest accuracy, ")
    assert "; SGC is not clearly worse; MLP is clearly worse." in found.sentence


def test_ranking_of_a_loss_has_the_lowest_first() -> None:
    (found,) = stand(make_records({"mlp": 0.6, "sgf": 0.9}), "log_loss")
    assert [e.title for e in found.entries] == ["SGF", "MLP"]
    assert "the lowest log loss, 0.099 (95 % interval" in found.sentence


def test_headline_names_those_that_hold_everywhere() -> None:
    one = make_records({"sgf": 0.9, "mlp": 0.6, "sgc": 0.9})
    two = make_records({"sgf": 0.8, "mlp": 0.8, "sgc": 0.5}, dataset="csbm")
    said = headline(stand([*one, *two]))
    assert said == (
        "SGF is best, or not clearly worse than the best, on both datasets; no other system is."
    )
    without = headline(stand([r for r in [*one, *two] if r.model != "sgf"]))
    assert without.startswith("No system is best everywhere: ")
    assert "on 1 of 2 datasets" in without


def test_headline_claims_nothing_of_few_runs_or_one_system() -> None:
    few = headline(stand(make_records({"sgf": 0.9, "mlp": 0.5}, n=4)))
    assert "may be chance" in few
    assert "nothing to compare" in headline(stand(make_records({"sgf": 0.9})))
    assert headline(stand(make_records({"sgf": 0.9, "mlp": 0.5}))).startswith("On karate, SGF has")


def test_systems_with_the_same_mean_share_the_first_place() -> None:
    records = [
        make_record(model, run, accuracy)
        for model, accuracy in (("sgf", 1.0), ("gcn", 1.0), ("mlp", 0.5))
        for run in range(5)
    ]
    (found,) = stand(records)
    assert found.sentence.replace("\xa0", " ").startswith(
        "SGF and GCN share the highest accuracy, 100.0 % in every run"
    )
    assert "not clearly worse" not in found.sentence

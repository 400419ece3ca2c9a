"""Records that version 0.1.0 wrote are taken for what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphfilter.bench import read_records
from graphfilter.bench.legacy import modern_network
from graphfilter.systems import System, get_system

RESULTS = Path(__file__).resolve().parents[2] / "results"
GCNII = {"kind": "GCNII", "alpha": 0.2, "theta": 0.5, "dropout": 0.5}
SGF = {
    "kind": "FilterNetwork", "activation": "relu", "dropout": 0.7, "dropout_on": "linear",
    "filter_on": "hidden", "filter": "StackedFilter(n_layers=16, init=0.5)", "hidden_size": 64,
}  # fmt: skip


def described(system: System) -> dict[str, Any]:
    assert system.model is not None
    return system.model.describe()


def test_record_of_a_system_is_that_systems() -> None:
    assert modern_network("sgf", "cora", SGF) == described(get_system("sgf"))
    expected = described(get_system("gcnii-authors").for_dataset("cora"))
    assert modern_network("gcnii-authors", "cora", GCNII) == expected


@pytest.mark.parametrize(
    ("model", "network"),
    [
        ("sgf", SGF | {"dropout": 0.5}),
        ("sgf", SGF | {"filter": "StackedFilter(n_layers=8, init=0.5)"}),
        ("sgf", SGF | {"filter": "HorizontalFilter(degree=16)"}),
        ("gcnii-authors", GCNII | {"theta": 1.5}),
        ("gcn", GCNII),
    ],
)
def test_record_of_another_setting_is_left_as_it_is(model: str, network: dict) -> None:
    assert modern_network(model, "cora", network) == network


def test_record_of_a_deeper_stack_is_known_without_a_system() -> None:
    network = SGF | {"filter": "StackedFilter(n_layers=64, init=0.5)"}
    expected = described(get_system("sgf").with_(n_layers=64))
    assert modern_network("sgf-64", "cora", network) == expected


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl.gz")), ids=lambda p: p.name)
def test_every_committed_record_is_understood(path: Path) -> None:
    if path.name.startswith(
        ("fig-dynamics", "fig-random", "fig-frequency", "search", "last-epoch")
    ):
        return
    for record in read_records(path):
        assert not record.network or "kind" in record.network
        modern = modern_network(record.model, record.dataset, record.network)
        assert record.network == modern or "@" in record.model
        if record.network.get("kind") == "FilterNetwork":
            assert isinstance(record.network["filter"], dict), record
        elif record.network and record.network["kind"] != "Committee":
            assert "hidden_size" in record.network, record

"""The second training ends where the first one stopped; records go to the block of their system."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphfilter.systems import get_system, train_system
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.matrix import BenchProgress
from graphfilter_research.paper import last_epoch
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.last_epoch import (
    DATASETS,
    SYSTEM,
    SYSTEMS,
    UNDIRECTED,
    VARIANTS,
    LastEpoch,
)
from graphfilter_research.paper.published import LITERATURE_3
from graphfilter_research.paper.tables import ComparedAccuracy
from graphfilter_research.paper.target import stay_silent
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")


def write(folder: Path, records: list[LastEpoch], name: str = "last-epoch") -> None:
    lines = [json.dumps(asdict(record)) + "\n" for record in records]
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", SYSTEMS)
def test_training_without_looking_at_validation_goes_the_same_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the weights of the last epoch of the training that stopped, to the bit."""
    if name == "gat-pei":
        pytest.importorskip("torch_geometric")
    outcomes: list[Any] = []
    live: list[dict[str, torch.Tensor]] = []

    def watched(*args: Any) -> Any:
        live.append({})

        def keep(progress: Progress) -> None:
            state = progress.runs[0].model.state_dict()
            live[-1].update({key: value.clone() for key, value in state.items()})

        outcomes.extend(train_system(*args, callback=Callback(keep)))
        return outcomes[-1:]

    monkeypatch.setattr(last_epoch, "train_system", watched)
    monkeypatch.setattr(last_epoch, "get_system", lambda name: get_system(name).with_(patience=5))
    record = last_epoch.train_twice((name, "karate", 3), Path(), Options(device="cpu"), stay_silent)
    first, second = outcomes
    np.testing.assert_array_equal(first.result.history["loss"], second.result.history["loss"])
    assert second.result.best_epoch == record.epochs == first.result.best_epoch + 5
    kept = second.network.state_dict()
    assert live[0].keys() == kept.keys()
    assert all(torch.equal(value, kept[key]) for key, value in live[0].items())
    best = first.network.state_dict()
    assert not all(torch.equal(value, best[key]) for key, value in live[0].items())


@pytest.mark.usefixtures("tiny")
def test_both_weights_are_scored_on_the_same_split() -> None:
    record = last_epoch.train_twice(("geom-gcn", "karate", 0), Path(), QUICK, stay_silent)
    assert (record.task, record.epochs) == (("geom-gcn", "karate", 0), 2)
    assert 0 <= record.best <= 1
    assert 0 <= record.last <= 1


@pytest.mark.usefixtures("tiny")
def test_collecting_resumes_each_system_where_it_is(tmp_path: Path) -> None:
    target = TARGETS["last-epoch"]
    target.collect(tmp_path, QUICK, None)
    path = tmp_path / "last-epoch-quick.jsonl"
    whole = path.read_bytes()
    asked = [(r["system"], r["run"]) for r in map(json.loads, whole.splitlines())]
    assert asked == [(name, run) for name in last_epoch.QUICK_SYSTEMS for run in (0, 1)]
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[::2]))
    steps: list[BenchProgress] = []
    target.collect(tmp_path, QUICK, steps.append)
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2)]


@pytest.mark.usefixtures("tiny")
def test_system_without_its_package_is_left_out_and_said_once(tmp_path: Path) -> None:
    def train_twice(task: tuple[str, str, int], *_: object) -> LastEpoch:
        system, dataset, run = task
        if system == "geom-gcn":
            raise ConfigError("not installed.")
        return LastEpoch(dataset, run, 1, 0.5, 0.5, system)

    target = replace(last_epoch.TARGET, run=train_twice, quick=("karate",))
    notes = target.collect(tmp_path, QUICK, None)
    assert notes == ["geom-gcn left out: not installed."]
    assert len(last_epoch.TARGET.build(tmp_path, QUICK).blocks) == 1


def test_target_of_which_no_task_can_be_done_says_why(tmp_path: Path) -> None:
    def train_twice(*_: object) -> LastEpoch:
        raise ConfigError("not installed.")

    target = replace(last_epoch.TARGET, run=train_twice, quick=("karate",))
    with pytest.raises(ConfigError, match="not installed"):
        target.collect(tmp_path, QUICK, None)


def test_gcn_alone_is_on_directed_links_and_embeddings_are_variants() -> None:
    tasks = last_epoch.tasks(DATASETS, Options(variants=True, runs=1))
    for system in (*SYSTEMS, *VARIANTS):
        web = [dataset for name, dataset, _ in tasks if name == system][:3]
        assert web == [*(UNDIRECTED if system == SYSTEM else UNDIRECTED.values())]
    assert {name for name, *_ in last_epoch.tasks(DATASETS, Options())} == {*SYSTEMS}


def test_record_without_a_system_is_of_gcn(tmp_path: Path) -> None:
    old = {"dataset": "texas_directed", "run": 0, "epochs": 7, "best": 0.6, "last": 0.5}
    (tmp_path / "last-epoch.jsonl").write_text(json.dumps(old) + "\n", encoding="utf-8")
    rendered = last_epoch.TARGET.build(tmp_path, Options())
    (block,) = rendered.blocks
    assert block.heading.startswith(get_system(SYSTEM).title)
    assert rendered.title.startswith("The GCN row of")
    assert rendered.notes == (last_epoch.NOTE,)


def test_record_of_each_system_goes_to_its_block(tmp_path: Path) -> None:
    systems = {**SYSTEMS, **VARIANTS}
    records = []
    for i, name in enumerate(systems):
        dataset = "texas_directed" if name == SYSTEM else "texas"
        records += [LastEpoch(dataset, run, 200, 0.6, i / 10, name) for run in range(2)]
    write(tmp_path, records[::-1])
    rendered = last_epoch.TARGET.build(tmp_path, Options())
    assert rendered.title.startswith("The GCN, GAT and Geom-GCN rows of")
    assert rendered.notes == (last_epoch.NOTE, last_epoch.NOTE_ON_OTHERS)
    for i, (name, block) in enumerate(zip(systems, rendered.blocks, strict=True)):
        assert block.heading == f"{get_system(name).title}; the Geom-GCN splits"
        best, last = (row.cells[0] for row in block.rows)
        assert isinstance(best, ComparedAccuracy)
        assert isinstance(last, ComparedAccuracy)
        assert (best.mean, last.mean) == pytest.approx((60, 10 * i))
        assert (best.n, best.n_cut) == (2, 0)
        assert last.published == LITERATURE_3[systems[name]]["texas"]


def test_run_that_the_limit_of_epochs_ended_is_said_to_be_cut(tmp_path: Path) -> None:
    limit = get_system("gat-pei").config.max_epochs
    write(tmp_path, [LastEpoch("cora", 0, epochs, 0.8, 0.7, "gat-pei") for epochs in (limit, 99)])
    (block,) = last_epoch.TARGET.build(tmp_path, Options()).blocks
    assert [str(row.cells[0]) for row in block.rows] == [
        "80.00 ± 0.00 (1 cut)",
        "70.00 ± 0.00 (1 cut)",
    ]


def test_columns_are_in_one_order_whichever_ran_first(tmp_path: Path) -> None:
    names = [*UNDIRECTED.values(), "cora", "citeseer"]
    ran = ["karate", *reversed(names)]
    write(tmp_path, [LastEpoch(name, 0, 99, 0.8, 0.7, "geom-gcn") for name in ran])
    (block,) = last_epoch.TARGET.build(tmp_path, Options()).blocks
    assert list(block.columns) == [*names, "karate"]

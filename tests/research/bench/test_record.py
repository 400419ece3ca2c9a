from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphfilter.util.errors import DataFileError
from graphfilter_research.bench.record import Record, RecordFile, read_records


def make_record(seed: int = 0, **changes: Any) -> Record:
    record = Record(
        dataset="karate",
        model="sgf",
        split_rule="stratified",
        split_index=seed,
        seed=seed,
        scaling="auto",
        config={"learning_rate": 0.1 + 0.2, "max_epochs": 5},
        device="cpu",
        scores={"train": {"n_vertices": 20}, "test": {"n_vertices": 7, "accuracy": 1 / 3}},
        filter={"alpha": [0.1, -0.3]},
    )
    return replace(record, **changes)


def test_record_comes_back_from_its_line_bit_for_bit() -> None:
    record = make_record(seconds=0.1, seconds_per_epoch=None, reason='a "quoted" | ± reason')
    line = record.to_json()
    assert "\n" not in line
    assert Record.from_json(line) == record


def test_record_line_is_standard_json_where_a_score_is_not_finite() -> None:
    line = make_record(scores={"val": {"log_loss": float("nan")}}).to_json()
    assert json.loads(line, parse_constant=pytest.fail)["scores"]["val"]["log_loss"] is None


@pytest.mark.parametrize("field", ["dataset", "model", "split_rule", "scaling", "data_checksum"])
def test_record_key_tells_runs_apart(field: str) -> None:
    assert make_record().key != replace(make_record(), **{field: "other"}).key


def test_record_key_tells_configs_and_networks_apart_but_not_machines() -> None:
    record = make_record(network={"dropout_on": "linear"})
    assert record.key != replace(record, network={"dropout_on": "every_layer"}).key
    assert record.key != replace(record, config=record.config | {"max_epochs": 6}).key
    assert record.key == replace(record, device="cuda", versions={}, status="failed").key


@pytest.mark.parametrize("n_lost", [1, 2, 40, -1])
def test_record_file_drops_a_cut_line_and_goes_on_after_it(tmp_path: Path, n_lost: int) -> None:
    path = tmp_path / "records.jsonl"
    RecordFile(path).append([make_record(0), make_record(1)])
    content = path.read_bytes()
    second = content.index(b"\n") + 1
    path.write_bytes(content[:-n_lost] if n_lost > 0 else content[: second + 1])
    assert read_records(path) == [make_record(0)]
    file = RecordFile(path)
    assert file.n_cut == 1
    file.append([make_record(2)])
    assert read_records(path) == [make_record(0), make_record(2)]
    assert path.read_bytes()[:second] == content[:second]


def test_record_file_drops_a_cut_line_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    lines = [make_record(seed).to_json() for seed in range(3)]
    path.write_text("\n".join([lines[0], lines[1][:50], lines[2], ""]))
    file = RecordFile(path)
    assert file.records == [make_record(0), make_record(2)]
    assert file.n_cut == 1


WRONG = [
    {"scores": {}},
    {"scores": {"test": {"n_vertices": 7, "accuracy": 0.5}}},
    {"scores": {"train": {"n_vertices": 0}, "test": {"n_vertices": 7, "accuracy": 0.5}}},
    {"scores": {"train": {"n_vertices": math.inf}, "test": {"n_vertices": 7, "accuracy": 0.5}}},
    {"scores": {"train": {"n_vertices": 20}, "test": {"n_vertices": math.inf, "accuracy": 0.5}}},
    {"config": None},
    {"dataset": 5},
    {"filter": [1]},
    {"seed": "0"},
    {"seed": True},
    {"status": "maybe"},
    {"versions": {"torch": 2}},
    {"seconds_per_epoch": "fast"},
    {"seconds": math.inf},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_record_of_a_wrong_shape_counts_as_a_broken_line(tmp_path: Path, wrong: dict) -> None:
    path = tmp_path / "records.jsonl"
    broken = json.dumps(json.loads(make_record(1).to_json()) | wrong)
    path.write_text("\n".join([make_record(0).to_json(), broken, make_record(2).to_json(), ""]))
    file = RecordFile(path)
    assert file.records == [make_record(0), make_record(2)]
    assert file.n_cut == 1


@pytest.mark.parametrize("accuracy", [None, "0.5", float("nan"), 50, True])
def test_record_that_is_ok_must_have_an_accuracy(accuracy: object) -> None:
    content = json.loads(make_record().to_json())
    content["scores"]["test"]["accuracy"] = accuracy
    with pytest.raises(TypeError, match="scores"):
        Record.from_json(json.dumps(content))


def test_record_may_lack_test_vertices() -> None:
    record = make_record(scores={"train": {"n_vertices": 20, "accuracy": 1.0}})
    assert Record.from_json(record.to_json()) == record


def test_record_that_failed_needs_no_scores() -> None:
    record = make_record(status="failed", reason="memory", scores={})
    assert Record.from_json(record.to_json()) == record


def test_record_file_names_the_line_where_none_is_a_record(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('\n{"accuracy": 0.9}\n[1]\n')
    with pytest.raises(DataFileError, match=r"records\.jsonl, line 2: must be a benchmark record"):
        read_records(path)
    with pytest.raises(DataFileError, match="no such file"):
        read_records(tmp_path / "absent.jsonl")


def test_record_file_reads_packed_records_and_does_not_extend_them(tmp_path) -> None:
    import gzip

    path = tmp_path / "records.jsonl.gz"
    path.write_bytes(gzip.compress(b""))
    packed = RecordFile(path)
    assert packed.records == []
    with pytest.raises(DataFileError, match="gunzip"):
        packed.append([])
    whole = gzip.compress(make_record().to_json().encode())
    # Not packed at all, cut, and whole but for a byte within.
    for content in (b"not gzip", whole[:-9], whole[:12] + b"\xff" + whole[13:]):
        path.write_bytes(content)
        with pytest.raises(DataFileError, match="cannot be read"):
            RecordFile(path)


def test_record_file_leaves_a_file_that_is_not_ours_alone(tmp_path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("my notes\nlast line without newline", "my notes\n", "last line"):
        path.write_text(text)
        with pytest.raises(DataFileError, match="left alone"):
            RecordFile(path)
        assert path.read_text() == text

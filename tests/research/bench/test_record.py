"""What a record is of: its seed, split, epoch and setting; and how it is read again."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax
from tests.compatibility.test_old_files import FILES, VERSIONS

from graphfilter import SystemClassifier
from graphfilter.data import load_dataset, make_csbm, make_karate
from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.splits import Split, stratified
from graphfilter.systems import SYSTEMS, Prepared, System, find_system, get_system, train_system
from graphfilter.systems.committee import repeated_seed
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.bench import pair as pair_module
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.benchmark_page import commands, write_benchmark
from graphfilter_research.bench.pair import Pair, divide_name, train_average, train_without
from graphfilter_research.bench.protocol import check_split_rule, draw_split
from graphfilter_research.bench.record import Record, RecordFile, read_records
from graphfilter_research.bench.summary import summarise


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


@pytest.mark.parametrize("version", VERSIONS)
def test_records_count_as_the_runs_they_are(version: str, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes((FILES / version / "records.jsonl").read_bytes())
    old = read_records(path)
    assert [record.versions["graphfilter"] for record in old] == [version] * 4
    [summary] = summarise(old)
    assert {cell.n for cell in summary.cells.values()} == {2}
    same = run_benchmark(["karate"], ["sgf", "mlp"], out=path, runs=2, max_epochs=5, device="cpu")
    assert [record.seconds for record in same] == [record.seconds for record in old]
    assert read_records(path) == old


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


def test_variant_changes_how_a_system_is_trained_and_nothing_else() -> None:
    known = SYSTEMS["gcnii-authors"]
    variant = get_system("gcnii-authors@weight_decay=5e-5@max_epochs=7")
    assert (variant.config.weight_decay, variant.config.max_epochs) == (5e-5, 7)
    assert variant.config.learning_rate == known.config.learning_rate
    assert variant.model == known.model
    assert variant.operator == known.operator
    # What the authors recommend for a dataset is changed too.
    assert variant.for_dataset("texas").config.weight_decay == 5e-5
    assert variant.for_dataset("texas").settings()["n_layers"] == 32
    assert variant.name == "gcnii-authors@max_epochs=7@weight_decay=5e-05"
    assert get_system(variant.name).name == variant.name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sgf@", "key=value"),
        ("sgf@patience", "key=value"),
        ("sgf@patience=3@patience=3", "each once"),
        ("sgf@weigth_decay=1", "did you mean 'weight_decay'"),
        ("sgf@patience=1.5", "must be a whole number; got '1.5'"),
        ("sgf@weight_decay=much", "must be a number; got 'much'"),
        ("sgf@weight_decay=-1", "must not be negative"),
        ("sgf@weight_decay=nan", "must be a finite number"),
        ("sgf@monitor=lost", "did you mean 'loss'"),
        ("sfg@patience=3", "did you mean 'sgf'"),
        ("label-propagation@patience=3", "not trained"),
    ],
)
def test_variant_must_change_something_that_there_is(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        get_system(name)
    assert find_system(name) is None


def test_variants_are_compared_under_their_names(tmp_path: Path) -> None:
    models = ["sgf", "sgf@weight_decay=0.5"]
    out = tmp_path / "records.jsonl"
    records = run_benchmark(["karate"], models, out=out, runs=2, max_epochs=5)
    assert [(r.model, r.config["weight_decay"]) for r in records[::2]] == [
        ("sgf", 5e-4),
        ("sgf@weight_decay=0.5", 0.5),
    ]
    (summary,) = summarise(records)
    assert list(summary.models) == models
    (command,) = commands(records, "records.jsonl")
    assert "--models sgf,sgf@weight_decay=0.5 " in command
    write_benchmark(tmp_path / "page.html", read_records(out), name="records", metric="accuracy")
    assert "SGF with weight_decay=0.5" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_classifier_takes_a_variant() -> None:
    clf = SystemClassifier(model="sgc@max_epochs=3", random_state=0).fit(graph=make_karate())
    assert clf.n_epochs_ == 3


GRAPH = make_csbm(80, mean_degree=8, n_features=5, frequency=0.3, seed=2)
SPLIT = draw_split(GRAPH, "new:0.2", 0)


def trained(system: System, graph: Graph = GRAPH) -> np.ndarray:
    outcome = train_without(graph, system, SPLIT, 0, scaling="auto", device="cpu")
    return outcome.probabilities


def test_seen_and_new_vertices_are_tested_on_the_same_split() -> None:
    seen = draw_split(GRAPH, "seen:0.2", 3)
    new = draw_split(GRAPH, "new:0.2", 3)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(seen, part), getattr(new, part))
    assert len(seen.test) == pytest.approx(16, abs=1)
    assert len(seen.train) == pytest.approx(48, abs=2)
    assert check_split_rule("new:0.20") == "new:0.2"
    with pytest.raises(ConfigError, match=r"share of a split must be in \(0, 1\); got 'new:2'"):
        check_split_rule("new:2")


@pytest.mark.parametrize("name", ["sgf", "graphsage", "committee-low"])
def test_new_vertices_are_answered_by_what_they_are(name: str) -> None:
    system = get_system(name).limited(3)
    before = trained(system)
    assert before.shape == (80, 2)
    np.testing.assert_allclose(before.sum(axis=1), 1, rtol=1e-5)
    features = np.array(GRAPH.features)
    features[SPLIT.test] += 5
    after = trained(system, graph=GRAPH.replace(features=features))
    assert not np.allclose(after[SPLIT.test], before[SPLIT.test])


def test_nothing_is_learned_of_test_vertices() -> None:
    """Features of vertices that are too far to be averaged change no answer of trees."""
    features = np.array(GRAPH.features)
    features[SPLIT.test] += 5
    reach = np.zeros(80, dtype=bool)
    reach[SPLIT.test] = True
    for _ in range(3):
        reach |= GRAPH.adjacency @ reach.astype(float) > 0
    trees = get_system("trees")
    np.testing.assert_array_equal(
        trained(trees, graph=GRAPH.replace(features=features))[~reach], trained(trees)[~reach]
    )


def test_system_with_weights_of_its_vertices_is_refused() -> None:
    with pytest.raises(ConfigError, match="linkx has one weight per vertex"):
        trained(get_system("linkx").limited(2))


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

"""A benchmark runs systems on datasets and shows what came of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from tests.processes import forking

from graphfilter.data import load_dataset, make_csbm
from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.metrics import score_parts
from graphfilter.models import Linear, ModelConfig, Network, SizedNetwork
from graphfilter.models.layers import Draws
from graphfilter.report.filter import FREQUENCIES
from graphfilter.splits import Split, stratified
from graphfilter.systems import Prepared, System, get_system, train_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.benchmark_page import (
    commands,
    page_of,
    render_benchmark,
    time_table,
)
from graphfilter_research.bench.learned_filters import (
    HEIGHT,
    WIDTH,
    learned_filters,
    recorded_response,
)
from graphfilter_research.bench.matrix import BenchProgress
from graphfilter_research.bench.record import Record, read_records

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


HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1">'


class Reader(HTMLParser):
    """Gathers tags, addresses, handlers and the cells of tables by their ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self._silent = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    return run_benchmark(
        ["karate"], ["sgf", "mlp"], out=tmp_path_factory.mktemp("bench") / "r.jsonl", runs=5,
        device="cpu", max_epochs=4,
    )  # fmt: skip


def test_page_is_self_contained_and_answers_first(records: list[Record]) -> None:
    page = render_benchmark(records, name="r.jsonl")
    read = Reader(page)
    assert all(a.startswith("#") for a in read.addresses)
    assert len(page) < 200_000
    order = ["The answer", "has the highest accuracy", "Each dataset", "The learned filters",
             "Milliseconds per epoch", "seed r and split r"]  # fmt: skip
    places = [read.text.index(words) for words in order]
    assert places == sorted(places)
    assert read.tags.count("polyline") == 6  # five runs of SGF and their mean
    for words in (records[0].data_checksum, records[0].versions["torch"]):
        assert words in read.text


def test_page_names_failures_and_forgives_those_that_went_well_later(records) -> None:
    failed = replace(records[0], status="failed", reason="OutOfMemory: no", scores={})
    assert "Failures" not in Reader(render_benchmark([failed, *records])).text
    text = Reader(render_benchmark([*records[1:], failed])).text
    assert "Failures" in text
    assert "OutOfMemory: no" in text


def test_page_shows_html_in_names_as_text(records: list[Record]) -> None:
    hostile = [
        replace(record, dataset=f"{HOSTILE}.npz", model=HOSTILE, reason=HOSTILE, device=HOSTILE)
        for record in records
    ]
    hostile[0] = replace(hostile[0], status="failed", scores={})
    read = Reader(render_benchmark([*records, *hostile], name=f"{HOSTILE}.jsonl"))
    clean = Reader(render_benchmark(records))
    assert "img" not in read.tags
    assert read.tags.count("script") == clean.tags.count("script")
    assert read.handlers == []
    assert HOSTILE in read.text


def test_commands_make_the_same_runs_again(records: list[Record], tmp_path: Path) -> None:
    (command,) = commands(records, "r.jsonl")
    words = shlex.split(command)
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert words[:2] == ["graphfilter", "bench"]
    again = run_benchmark(
        options["--datasets"].split(","), options["--models"].split(","), out=tmp_path / "r.jsonl",
        runs=int(options["--runs"]), split_rule=options["--split-rule"],
        scaling=options["--scaling"], max_epochs=int(options["--max-epochs"]), device="cpu",
    )  # fmt: skip
    assert {record.key for record in again} == {record.key for record in records}


def test_commands_share_datasets_that_have_the_same_systems(records: list[Record]) -> None:
    more = [replace(r, dataset=d) for d in ("csbm", "digits") for r in records if r.model == "sgf"]
    found = commands([*records, *more, replace(records[0], model="mine")], "r.jsonl")
    assert ["karate --models mlp,sgf" in found[0], "csbm,digits --models sgf" in found[1]] == [
        True, True,
    ]  # fmt: skip


def test_time_table_averages_a_system_on_a_device(records: list[Record]) -> None:
    timed = [
        replace(records[0], seconds_per_epoch=t, epochs=e) for t, e in ((0.01, 10), (0.03, 20))
    ]
    untimed = replace(records[0], model="label-propagation", seconds_per_epoch=None)
    table = time_table([*timed, replace(timed[0], device="cuda"), untimed])
    assert table.datasets == ("karate",)
    assert table.rows == (("SGF", "cpu", ((20.0, 15.0),)), ("SGF", "cuda", ((10.0, 10.0),)))


def test_page_goes_beside_its_records_and_never_over_them() -> None:
    assert page_of("a/records.jsonl") == Path("a/records.html")
    assert page_of("a/records") == Path("a/records.html")
    assert page_of("one.jsonl") != page_of("two.jsonl")
    assert page_of("records.html") != Path("records.html")


ALPHA = np.linspace(0.2, 0.9, 16).tolist()
BETA = np.linspace(-0.3, 0.8, 16).tolist()


@pytest.fixture
def record() -> Record:
    return Record(
        "karate", "sgf", "stratified", 0, 0, "none", {"operator": "augmented_adjacency"}, "cpu",
        filter={"alpha": ALPHA, "beta": BETA},
    )  # fmt: skip


def test_recorded_response_is_the_recurrence_scaled_to_one(record: Record) -> None:
    lam = 1 - FREQUENCIES
    h = np.ones_like(lam)
    for alpha, beta in zip(ALPHA, BETA, strict=True):
        h = alpha * lam * h + beta
    curve = recorded_response(record)
    assert curve is not None
    np.testing.assert_allclose(curve, h / h[np.abs(h).argmax()], atol=1e-6)
    on_laplacian = recorded_response(replace(record, config={"operator": "laplacian"}))
    assert on_laplacian is not None
    assert not np.allclose(on_laplacian, curve)


def test_recorded_response_undoes_the_sign(record: Record) -> None:
    theta = np.linspace(1, -2, 11)
    one, other = (
        recorded_response(replace(record, model="gpr-gnn", filter={"theta": (s * theta).tolist()}))
        for s in (1, -1)
    )
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other)


def test_records_without_a_filter_that_fits_have_no_response(record: Record) -> None:
    for changes in (
        {"filter": {}},
        {"model": "not in the registry"},
        {"model": "mlp"},
        {"model": "label-propagation"},
        {"status": "failed"},
        {"filter": {"alpha": ALPHA[:3], "beta": BETA[:3]}},
        {"filter": {"alpha": [None] * 16, "beta": BETA}},
        {"filter": {"alpha": ALPHA, "beta": [0.0] * 15 + [1e300]}},
    ):
        assert recorded_response(replace(record, **changes)) is None, changes


def test_learned_filters_keep_datasets_and_systems_apart(record: Record) -> None:
    flat = {"alpha": [0.0] * 16, "beta": [1.0] * 16}
    records = [
        record,
        replace(record, seed=1, filter=flat),
        replace(record, dataset="csbm", filter=flat),
        replace(record, dataset="csbm", model="mlp", filter={}),
    ]
    found = learned_filters(records)
    assert {d: [(f.title, len(f.runs)) for f in of] for d, of in found.items()} == {
        "karate": [("SGF", 2)],
        "csbm": [("SGF", 1)],
    }
    (csbm,) = found["csbm"]
    assert csbm.shape == "nearly flat"
    points = [tuple(map(float, p.split(","))) for p in csbm.mean.split()]
    assert points[0] == (0, 0)
    assert points[-1] == (WIDTH, 0)
    runs = [[float(p.split(",")[1]) for p in run.split()] for run in found["karate"][0].runs]
    assert all(0 <= y <= HEIGHT for run in runs for y in run)

"""Targets run quickly on tiny graphs, resume, and are rebuilt from their records."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from graphfilter import cli
from graphfilter.bench import BenchProgress, Record, read_records, run_matrix
from graphfilter.bench.search import Found, SearchResult
from graphfilter.data import make_csbm
from graphfilter.data.readers import write_npz
from graphfilter.errors import ConfigError, DataFileError
from graphfilter.filters import StackedFilter
from graphfilter.paper import (
    accuracy_table,
    appendix_search,
    figure2,
    figure3,
    filter_dynamics,
    options,
    table2,
    table3,
    table4,
    table5,
)
from graphfilter.paper.collect import at_hand, pairs_of
from graphfilter.paper.comparison import compare_accuracy
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import CHOSEN
from graphfilter.paper.records import open_records, read_target_records
from graphfilter.paper.targets import TARGETS
from graphfilter.splits import Split
from graphfilter.storage import pack_lines

QUICK = Options(quick=True, device="cpu")
# The search has a test of its own.
TRAINED = [name for name, t in TARGETS.items() if t.is_trained and name != "search"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every target run on the embedded karate club, for two epochs."""
    monkeypatch.setattr(options, "QUICK_EPOCHS", 2)
    for module in (table4, figure2, figure3, filter_dynamics):
        monkeypatch.setattr(module, "QUICK", ("karate",))
    monkeypatch.setattr(table5, "QUICK", (("karate",), ()))
    for name, table in (("table2", table2.TABLE), ("table3", table3.TABLE)):
        small = replace(table, quick=("karate",), beside=("karate",))
        changed = replace(TARGETS[name], collect=small.collect, build=small.build)
        monkeypatch.setitem(TARGETS, name, changed)


def reproduce(*words: object) -> Result:
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, words)])


@pytest.mark.parametrize("name", TRAINED)
def test_target_is_rebuilt_from_its_records_as_it_was_made(name: str, tmp_path: Path) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    done = reproduce(name, "--out", out, "--quick", "--device", "cpu", "--gzip", "--quiet")
    assert done.exit_code == 0, done.output
    stem = f"{name}-quick"
    packed = out / f"{stem}.jsonl.gz"
    assert packed.is_file()
    assert not (out / f"{stem}.jsonl").exists()
    rebuilt = reproduce(name, "--out", again, "--quick", "--from-records", out)
    assert rebuilt.exit_code == 0, rebuilt.output
    made = {path.name for path in out.iterdir()} - {packed.name}
    assert made == {path.name for path in again.iterdir()}
    assert made >= {f"{stem}.png"} if name.startswith("fig") else {f"{stem}.md", f"{stem}.tex"}
    for path in made:
        assert (out / path).read_bytes() == (again / path).read_bytes(), path


def test_target_goes_on_from_records_plain_or_packed(tmp_path: Path) -> None:
    table = TARGETS["table5"]
    table.collect(tmp_path, QUICK, None)
    whole = (tmp_path / "table5-quick.jsonl").read_bytes()
    assert len(whole.splitlines()) == 4
    # Killed in the middle of the third line, packed, and started again.
    (tmp_path / "table5-quick.jsonl").write_bytes(b"\n".join(whole.split(b"\n")[:3])[:-9])
    packed = pack_lines(tmp_path, "table5-quick")
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 2
    steps: list[BenchProgress] = []
    table.collect(tmp_path, QUICK, steps.append)
    assert (steps[-1].done, steps[-1].total) == (4, 4)
    records = read_target_records(tmp_path, "table5-quick")
    before = [Record.from_json(line) for line in whole.splitlines()]
    assert [r.key for r in records] == [r.key for r in before]
    assert [r.seconds for r in records[:2]] == [r.seconds for r in before[:2]]
    assert [r.scores for r in records] == [r.scores for r in before]
    table.collect(tmp_path, QUICK, None)
    assert read_target_records(tmp_path, "table5-quick") == records


def test_packed_records_are_the_same_bytes_for_the_same_records(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    first = pack_lines(tmp_path, "a").read_bytes()
    assert pack_lines(tmp_path, "a").read_bytes() == first
    (tmp_path / "b.jsonl.gz").write_bytes(first[:-3])
    with pytest.raises(DataFileError, match=r"b\.jsonl\.gz: cannot be read"):
        read_target_records(tmp_path, "b")
    with pytest.raises(DataFileError, match=r"a\.jsonl\.gz, line 1: must be a benchmark record"):
        read_target_records(tmp_path, "a")
    with pytest.raises(DataFileError, match="graphfilter reproduce table2 --out"):
        read_target_records(tmp_path, "table2-quick")


def test_runs_of_another_target_are_copied_not_made_again(tmp_path: Path) -> None:
    pairs = pairs_of(["karate"], ["sgf"], QUICK)
    run_matrix(pairs, open_records(tmp_path, "one"))
    known = {record.key: record for record in read_records(tmp_path / "one.jsonl")}
    run_matrix(pairs, open_records(tmp_path, "two"), known=known)
    # The seconds too: those of another training would differ.
    assert read_records(tmp_path / "two.jsonl") == list(known.values())


def test_matrix_in_processes_gives_what_it_gives_in_one(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    write_npz(make_csbm(60, n_features=4), path)
    systems = [table4.stacking_system("sgf-horizontal", 32)]
    pairs = pairs_of(["csbm~0"], systems, QUICK, file=path)
    for name, jobs in (("one", 1), ("many", 2)):
        run_matrix(pairs, open_records(tmp_path, name), jobs=jobs)
    one, many = (read_records(tmp_path / f"{name}.jsonl") for name in ("one", "many"))
    assert [(r.dataset, r.model, r.seed) for r in one] == [
        ("csbm~0", "sgf-horizontal-32", 0), ("csbm~0", "sgf-horizontal-32", 1),
    ]  # fmt: skip
    assert [r.scores for r in one] == [r.scores for r in many]
    # Under its recorded name and from another file, nothing is run again.
    other = path.rename(tmp_path / "elsewhere.npz")
    pairs = pairs_of(["csbm~0"], systems, QUICK, file=other)
    run_matrix(pairs, open_records(tmp_path, "one"))
    assert read_records(tmp_path / "one.jsonl") == one


def test_matrix_records_failures_and_tries_them_again(tmp_path: Path) -> None:
    pairs = pairs_of(["karate"], ["mlp"], QUICK, split_rule="public")
    steps: list[BenchProgress] = []
    for _ in range(2):
        run_matrix(pairs, open_records(tmp_path, "records"), on_progress=steps.append)
        assert steps[-1].failed == 2
    records = read_target_records(tmp_path, "records")
    assert len(records) == 4
    assert compare_accuracy(records).n_failed == 2


def test_table_columns_hold_both_dropouts_and_both_scalings(tmp_path: Path) -> None:
    TARGETS["table2"].collect(tmp_path, QUICK, None)
    first, second, literature = TARGETS["table2"].render(tmp_path, QUICK).blocks
    assert [row.label for row in first.rows][-2:] == ["SGF", "SGF (dropout everywhere)"]
    assert "the paper's setting" in first.heading
    assert "as they are" in second.heading
    assert literature.rows[0].label == "GCN"
    records = read_target_records(tmp_path, "table2-quick")
    for block, scaling in ((first, "row"), (second, "none")):
        for row, model in ((-2, "sgf"), (-1, "sgf-every-layer")):
            mine = [r for r in records if (r.model, r.scaling) == (model, scaling)]
            assert len(mine) == 2
            assert block.rows[row].cells == (compare_accuracy(mine),)


def test_literature_is_run_on_both_split_rules_when_asked(tmp_path: Path, monkeypatch) -> None:
    """With stand-ins: the layers of PyTorch Geometric have tests of their own."""
    titles = {"sgc": "GCN", "mlp": "GAT"}
    monkeypatch.setattr(accuracy_table, "LITERATURE_TITLES", titles)
    monkeypatch.setattr(accuracy_table, "SYSTEMS", ("mlp",))
    literature = dict.fromkeys(titles, table2.LITERATURE_2["gcn"])
    small = replace(table2.TABLE, quick=("texas",), beside=("texas",), literature=literature)
    pairs = []
    monkeypatch.setattr(accuracy_table, "at_hand", lambda names: (list(names), []))
    monkeypatch.setattr(accuracy_table, "collect_runs", lambda _f, _n, p, *_: pairs.extend(p))
    small.collect(tmp_path, replace(QUICK, literature=True), None)
    assert [(p.model, p.split_rule, p.scaling) for p in pairs] == [
        ("mlp", "stratified", "row"), ("mlp", "stratified", "none"),
        ("sgc", "fixed", "row"), ("mlp", "fixed", "row"),
        ("sgc", "stratified", "row"), ("mlp", "stratified", "row"),
    ]  # fmt: skip


def test_filter_figure_draws_the_response_of_the_recorded_scalars(tmp_path: Path) -> None:
    TARGETS["fig-filters"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-filters-quick")
    frequency = np.array([0.0, 0.7, 2.0])
    for record in records:
        start, learned = figure2.responses(record, frequency)
        lam = frequency if record.model == "sgf-laplacian" else 1 - frequency
        np.testing.assert_allclose(start, StackedFilter().response(lam))
        h = np.ones_like(lam)
        for alpha, beta in zip(record.filter["alpha"], record.filter["beta"], strict=True):
            h = alpha * lam * h + beta
        np.testing.assert_allclose(learned, h, rtol=1e-6)


def test_noise_takes_both_readings_of_dropout_where_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(figure3, "BOTH_READINGS", ("karate",))
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.model for r in records} == {*figure3.SYSTEMS, "sgf-every-layer"}
    rendered = TARGETS["fig-noise"].render(tmp_path, QUICK)
    assert [row.label for row in rendered.blocks[0].rows][-1] == "SGF (dropout everywhere)"
    assert rendered.figure is not None
    lines = rendered.figure.axes[0].get_lines()
    assert {(line.get_label(), line.get_linestyle()) for line in lines} >= {
        ("SGF", "-"),
        ("SGF (dropout everywhere)", "--"),
    }


def test_noise_runs_on_rewired_graphs_under_their_own_names(tmp_path: Path) -> None:
    TARGETS["fig-noise"].collect(tmp_path, QUICK, None)
    records = read_target_records(tmp_path, "fig-noise-quick")
    assert {r.dataset for r in records} == {"karate~0", "karate~0.9"}
    assert len({r.data_checksum for r in records}) == 2
    scores = {(r.dataset, r.model, r.seed): r.scores["test"]["log_loss"] for r in records}
    for seed in (0, 1):
        # What does not see the graph does not see the noise.
        assert scores["karate~0", "mlp", seed] == scores["karate~0.9", "mlp", seed]
        assert scores["karate~0", "sgc", seed] != scores["karate~0.9", "sgc", seed]


def test_dynamics_record_starts_where_the_figure_says(tmp_path: Path) -> None:
    for name in ("fig-dynamics", "fig-random-dynamics"):
        TARGETS[name].collect(tmp_path, QUICK, None)
    fixed, random = (
        json.loads((tmp_path / f"{name}-quick.jsonl").read_text())
        for name in ("fig-dynamics", "fig-random-dynamics")
    )
    assert fixed["epochs"] == [0, 2]
    assert fixed["alpha"][0] == fixed["beta"][0] == [0.5] * 16
    start = StackedFilter(init="uniform", seed=0)
    np.testing.assert_allclose(random["alpha"][0], start.alpha.tolist(), atol=1e-6)
    assert np.shape(random["beta"]) == (2, 16)


def test_search_shows_the_papers_setting_beside_the_best_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    split = Split(np.array([0]), np.array([1]), np.array([2]))
    best = Found({**CHOSEN, "dropout": 0.4}, 0.9, 0.8)

    def found(graph, system, *, trials, **_) -> SearchResult:
        calls.append(trials)
        return SearchResult(system, split, Found(CHOSEN, 0.85, 0.81), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "QUICK", ("karate",))
    monkeypatch.setattr(appendix_search, "search", found)
    for _ in range(2):
        appendix_search.collect(tmp_path, QUICK, None)
    assert calls == [appendix_search.QUICK_TRIALS]
    (block,) = appendix_search.build(tmp_path, QUICK).blocks
    assert block.columns[0] == "dropout"
    assert [row.cells[0] for row in block.rows] == ["0.7", "0.4"]
    assert [row.cells[-2:] for row in block.rows] == [("85.00", "81.00"), ("90.00", "80.00")]
    assert "2 trials, 1 given up early" in block.heading


def test_options_and_datasets_are_checked() -> None:
    with pytest.raises(ConfigError, match="runs must be at least 1; got 0"):
        Options(runs=0)
    with pytest.raises(ConfigError, match="did you mean 'cora'"):
        at_hand(["coar"])


def test_reproduce_all_goes_through_every_target(tmp_path: Path, monkeypatch) -> None:
    from graphfilter.cli import reproduce as command

    small = {name: TARGETS[name] for name in ("table5", "fig-dynamics")}

    def refuse(*_: object) -> list[str]:
        raise ConfigError("not here.")

    small["table4"] = replace(TARGETS["table4"], collect=refuse)
    monkeypatch.setattr(command, "TARGETS", small)
    done = reproduce("all", "--out", tmp_path, "--quick", "--device", "cpu", "--quiet")
    assert done.exit_code == 1
    assert "table4: not here." in done.stderr
    assert (tmp_path / "table5-quick.md").is_file()
    assert (tmp_path / "fig-dynamics-quick.png").is_file()

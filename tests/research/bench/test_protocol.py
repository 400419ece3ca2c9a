from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.npz import write_npz
from graphfilter.splits import Split, fraction, per_class, stratified
from graphfilter.util.errors import ConfigError, DataFileError, GraphError
from graphfilter_research.bench.protocol import (
    GraphLoader,
    check_split_rule,
    dataset_name,
    draw_split,
    split_index,
)


def parts(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


@pytest.mark.parametrize(
    ("rule", "draw"),
    [
        ("stratified", stratified),
        ("per_class", per_class),
        ("fraction:0.1", lambda labels, seed: fraction(labels, seed, 0.1)),
    ],
)
def test_draw_split_is_the_rules_own_with_the_index_as_seed(rule: str, draw) -> None:
    graph = make_csbm(60)
    for index in (0, 3):
        assert parts(draw_split(graph, rule, index)) == parts(draw(graph.labels, index))


def test_draw_split_counts_fixed_and_public_splits_apart() -> None:
    graph = make_csbm(60)
    own = [
        Split([0], [1], [2], rule="fixed"),
        Split([3], [4], [5], rule="public"),
        Split([6], [7], [8], rule="fixed"),
    ]
    graph = graph.replace(splits=own)
    assert draw_split(graph, "fixed", 1) is own[2]
    assert draw_split(graph, "public", 0) is own[1]
    with pytest.raises(GraphError, match="split number 2; it has 2 fixed"):
        draw_split(graph, "fixed", 2)


def test_split_index_is_the_runs_except_for_the_one_public_split() -> None:
    assert [split_index(rule, 7) for rule in ("stratified", "fixed", "public")] == [7, 7, 0]


def test_split_rule_is_written_one_way_or_refused() -> None:
    assert check_split_rule("fraction:.10") == "fraction:0.1"
    for wrong in ("fraction:1.5", "fraction:x", "fraction:nan"):
        with pytest.raises(ConfigError, match=r"in \(0, 1\)"):
            check_split_rule(wrong)
    with pytest.raises(ConfigError, match="did you mean 'stratified'"):
        check_split_rule("stratifed")


def test_fixed_splits_of_a_dataset_are_its_own(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    graph, _ = GraphLoader()("cora")
    fixed = [split for split in graph.splits if split.rule == "fixed"]
    assert draw_split(graph, "fixed", 9) is fixed[9]
    assert len(draw_split(graph, "public", 0).train) == 140


def test_graph_loader_names_a_graph_as_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    write_npz(make_csbm(40).replace(name="cora"), path)
    graph, checksum = GraphLoader()(dataset_name(path))
    assert graph.name == str(path)
    assert checksum == graph.checksum()


def test_graph_loader_fails_again_without_trying_again(tmp_path: Path) -> None:
    load = GraphLoader()
    path = tmp_path / "later.npz"
    with pytest.raises(DataFileError):
        load(str(path))
    write_npz(make_csbm(40), path)
    with pytest.raises(DataFileError):
        load(str(path))
    assert GraphLoader()(str(path))[0].n_vertices == 40


def test_data_checksum_sees_every_part_of_the_data() -> None:
    graph = make_csbm(40)
    changed = [
        make_csbm(40, seed=1),
        graph.replace(features=np.asarray(graph.features) + 1),
        graph.replace(labels=np.roll(np.asarray(graph.labels), 1)),
        graph.replace(splits=[Split([0], [1], [2])]),
    ]
    checksums = [g.checksum() for g in (graph, *changed)]
    assert len(set(checksums)) == 5
    assert graph.replace(name="other").checksum() == checksums[0]

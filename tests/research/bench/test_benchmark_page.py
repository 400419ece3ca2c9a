"""The page of a benchmark: from records alone, self-contained, deaf to HTML in names."""

from __future__ import annotations

import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.benchmark_page import (
    commands,
    page_of,
    render_benchmark,
    time_table,
)
from graphfilter_research.bench.record import Record

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


def test_page_shows_each_split_rule_and_scaling_by_itself(records: list[Record]) -> None:
    other = [replace(record, scaling="row") for record in records]
    text = Reader(render_benchmark([*records, *other])).text
    assert "Splits stratified, features auto" in text
    assert "Splits stratified, features row" in text


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

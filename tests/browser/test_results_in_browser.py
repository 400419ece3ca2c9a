"""The pages of bench and reproduce in a real browser, made from the committed records."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("graphfilter_research")

from graphfilter_research.bench.benchmark_page import write_benchmark
from graphfilter_research.bench.learned_filters import learned_filters
from graphfilter_research.bench.record import read_records

RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, rebuilt: Path) -> dict[str, str]:
    bench = tmp_path_factory.mktemp("pages") / "bench.html"
    write_benchmark(bench, read_records(RESULTS / "systems.jsonl.gz"), name="systems.jsonl.gz")
    return {"bench": bench.as_uri(), "reproduce": (rebuilt / "report.html").as_uri()}


@pytest.mark.parametrize("name", ["bench", "reproduce"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_page_opens_for_everyone(name: str, width: int, dark: bool, made, visit_once) -> None:
    seen = visit_once(made[name], width=width, dark=dark)
    seen.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    seen.check_no_sideways_scroll()
    seen.check_contrast()
    seen.check_structure()
    seen.keep(f"{name}{'-phone-dark' if dark else ''}")
    seen.check()


def column(page, table: str, number: int) -> list[str]:
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def test_table_of_a_benchmark_is_sorted_by_a_click(made, visit_once) -> None:
    seen = visit_once(made["bench"], width=1280, dark=False)
    table, head = "#table-1-matrix", seen.page.locator("#table-1-matrix thead th").nth(1)
    dataset = head.inner_text().split()[0]
    assert dataset == "cora"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    means = [float(text.split()[0]) for text in column(seen.page, table, 2)]
    assert means == sorted(means, reverse=True)
    assert column(seen.page, table, 1)[0] == "PPNP"
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text.split()[0]) for text in column(seen.page, table, 2)] == means[::-1]
    seen.page.locator(f"{table} thead button").first.click()
    names = column(seen.page, table, 1)
    assert names == sorted(names, key=str.lower)
    assert head.get_attribute("aria-sort") is None
    seen.check()


def test_pictures_of_a_benchmark_are_there_and_have_words(made, visit_once) -> None:
    seen = visit_once(made["bench"], width=1280, dark=False)
    first = seen.page.locator(".dots").first
    dataset = first.locator("caption").inner_text()
    records = [r for r in read_records(RESULTS / "systems.jsonl.gz") if r.ok]
    n_systems = len({r.model for r in records if r.dataset == dataset})
    dots = first.locator(".track i")
    assert dots.count() == n_systems > 20
    places = [box["x"] for box in (dots.nth(i).bounding_box() for i in range(n_systems)) if box]
    # The best first: the dots go to the left, up to rounding.
    assert all(a >= b - 1 for a, b in pairwise(places))
    n_filters = sum(map(len, learned_filters(records).values()))
    assert seen.page.locator(".filters polyline:not(.run)").count() == n_filters
    assert 'img "SGF on cora: the mean response of 10 runs is low-pass"' in seen.tree
    assert 'table "Time per epoch"' in seen.tree


def test_reproduction_shows_the_printed_beside_ours(made, visit_once) -> None:
    seen = visit_once(made["reproduce"], width=1280, dark=False)
    row = seen.page.locator("#table3 tbody tr", has=seen.page.locator("th", has_text="SGF")).nth(2)
    assert row.locator("th").inner_text() == "SGF"
    cells = row.locator("td").all_inner_texts()
    ours = float(cells[3].split()[0])
    assert "paper 58.77" in cells[3]
    assert f"{ours - 58.77:+.2f}" in cells[3]
    assert row.locator("td").nth(3).get_attribute("class") == "number above"
    loaded = "[...document.images].map((i) => i.complete && i.naturalWidth > 500)"
    # The committed picture of the network's blocks has no records and is not on the page.
    assert seen.page.evaluate(loaded) == [True] * (len(list(RESULTS.glob("*.png"))) - 1)
    seen.check()


@pytest.mark.parametrize("name", ["bench", "reproduce"])
def test_pages_on_paper_lose_no_column(name: str, made, visit) -> None:
    seen = visit(made[name], width=760, dark=True)
    seen.page.emulate_media(media="print", color_scheme="dark")
    ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    seen.check_no_sideways_scroll()
    assert not seen.page.locator("#theme").is_visible()
    assert seen.page.pdf(format="A4").startswith(b"%PDF")
    seen.check()

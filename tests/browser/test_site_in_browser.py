"""The documentation site in a real browser: two widths, two themes, opened from disk."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

PAGES = (
    "index",
    "docs/index",
    "docs/tutorial-sklearn",
    "docs/concepts/filters",
    "docs/gallery_pages/plot_three_graphs",
    "docs/api/splits",
    "docs/reproduction",
    "results/table5",
)


HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((h) => Number(h.tagName[1]))"


@pytest.mark.parametrize(
    ("width", "dark", "n_pages"),
    [(1280, False, 99), (390, True, 99), (1280, True, 4), (390, False, 4)],
)
def test_pages_open_for_everyone(width: int, dark: bool, n_pages: int, site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/index.html", root=root, width=width, dark=dark)
    for name in PAGES[:n_pages]:
        seen.page.goto(f"{root}/{name}.html")
        levels = seen.page.evaluate(HEADINGS)
        assert levels.count(1) == 1, name
        assert all(after <= before + 1 for before, after in pairwise(levels)), name
        seen.check_no_sideways_scroll()
        seen.check_contrast()
    seen.check()


def test_theme_can_be_changed_and_stays(site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/index.html", root=root)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(ground)
    for _ in range(2):
        seen.page.locator(".theme-toggle-content .theme-toggle").click()
        if seen.page.evaluate(ground) != light:
            break
    dark = seen.page.evaluate(ground)
    assert dark != light
    seen.page.goto(f"{root}/docs/index.html")
    assert seen.page.evaluate(ground) == dark
    seen.check()


def test_first_page_plays_what_was_recorded(site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/index.html", root=root)
    page = seen.page
    assert page.locator(".gf-panel").count() == 3
    slider = page.locator(".gf-controls input")
    slider.fill("0")
    before = page.locator(".gf-panel .gf-curve").first.get_attribute("d")
    assert before == page.locator(".gf-panel .gf-start").first.get_attribute("d")
    words = page.locator(".gf-panel .gf-words")
    # The words are of the curve above them: the start is the same on all graphs.
    assert {"At the start: a weak low-pass"} == {
        said.partition(":")[0] + ":" + said.split(":")[1] for said in words.all_inner_texts()
    }
    slider.fill("1")
    shapes = [said.split(":")[1].strip() for said in words.all_inner_texts()]
    assert shapes == ["low-pass", "nearly flat", "high-pass"]
    assert page.locator(".gf-panel .gf-curve").first.get_attribute("d") != before
    assert "Epoch 182; 99.2 % right" in page.locator(".gf-epoch").first.inner_text()
    # Pressed at the end it begins again, and can be paused.
    page.get_by_role("button", name="Play again").click()
    page.get_by_role("button", name="Pause").click()
    assert float(slider.input_value()) < 1
    seen.check()


def test_nothing_moves_for_those_who_ask_for_it(site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/docs/index.html", root=root)
    seen.page.emulate_media(reduced_motion="reduce")
    seen.page.goto(f"{root}/index.html")
    assert seen.page.locator(".gf-controls input").input_value() == "1"
    assert seen.page.get_by_role("button", name="Play again").is_visible()


def test_live_plots_of_the_concepts_answer(site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/docs/concepts/frequency.html", root=root)
    page = seen.page
    said = page.locator(".gf-said")
    assert "4 of 16 edges" in said.inner_text()
    page.get_by_role("button", name="Alternate").click()
    assert "16 of 16 edges" in said.inner_text()
    assert "frequency 1.9" in said.inner_text()
    page.locator(".gf-graph circle").first.press("Enter")
    assert "13 of 16 edges" in said.inner_text()
    page.goto(f"{root}/docs/concepts/filters.html")
    low = page.locator(".gf-curve").first.get_attribute("d")
    page.get_by_role("button", name="High-pass").click()
    assert page.locator(".gf-curve").first.get_attribute("d") != low
    seen.check()


def test_search_finds_a_page_from_disk(site: Path, visit) -> None:
    root = site.as_uri()
    seen = visit(f"{root}/index.html", root=root, width=1280)
    seen.page.locator(".sidebar-search").fill("imbalanced classes")
    seen.page.locator(".sidebar-search").press("Enter")
    found = seen.page.locator("#search-results li a")
    found.first.wait_for()
    assert any("imbalanced" in link for link in found.evaluate_all("all => all.map((a) => a.href)"))
    seen.check()

"""The studio in a real browser, from choosing a graph to taking the run away."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
HOSTILE = "<img src=x onerror='hacked=1'>"
VERTICES = f"id,{HOSTILE},label\n" + "".join(f"v{i},{i},{'ab'[i % 2]}\n" for i in range(12))


@pytest.fixture
def studio() -> Iterator[Any]:
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    from graphfilter.studio import Studio

    with Studio(upload_limit_mb=1) as running:
        yield running


def choose(page, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"#{name}").fill(value)


def test_run_is_started_watched_compared_and_downloaded(studio, visit) -> None:
    seen = visit(studio.url)
    page = seen.page
    assert page.locator("#train").is_disabled()
    page.locator("#dataset").select_option("karate")
    page.locator("#train:not([disabled])").wait_for()
    choose(page, max_epochs="400")
    page.locator("#baselines").uncheck()
    page.locator("#train").click()
    page.locator("#run-1").wait_for()
    page.locator("#operator").select_option("laplacian")
    choose(page, n_layers="6", max_epochs="40")
    page.locator("#train").click()
    page.locator("#run-1[data-state=training]").wait_for()
    page.locator("#run-1[data-state=done]").wait_for()
    page.locator("#run-2[data-state=done]").wait_for()
    drawn = "document.getElementById('response-plot').data.filter((t) => t.name).length"
    assert page.evaluate(drawn) == 2
    page.locator("#run-1 input[type=checkbox]").uncheck()
    assert page.evaluate(drawn) == 1
    page.locator("#run-1 input[type=checkbox]").check()
    accuracies = page.evaluate(
        """document.getElementById("accuracy-plot").data
           .map((t) => [t.line.dash, t.y.length, Math.max(...t.y) <= 1])"""
    )
    assert [kind for kind, _, _ in accuracies] == ["dot", "solid"] * 2
    assert all(n > 1 and shares for _, n, shares in accuracies)
    assert "training" in page.locator("#run-1 .said").inner_text()
    seen.check_contrast()
    seen.check_structure()
    seen.keep("studio")
    with page.expect_download() as download:
        page.locator("#run-2 >> text=Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"run-2/report.html", "run-2/predictions.csv"} <= set(names)
    seen.check()


def test_closing_the_tab_does_not_lose_the_run(studio, visit) -> None:
    first = visit(studio.url)
    # Slow enough to be met again while it trains.
    first.page.locator("#dataset").select_option("bipartite")
    first.page.locator("#train:not([disabled])").wait_for()
    choose(first.page, max_epochs="9999")
    first.page.locator("#train").click()
    first.page.locator("#run-1[data-state=training]").wait_for()
    first.page.close()
    again = visit(studio.url, width=390, dark=True)
    again.page.locator("#run-1 >> text=Pause").click()
    again.page.locator("#run-1[data-state=paused]").wait_for()
    again.page.locator("#run-1 >> text=Resume").click()
    again.page.locator("#run-1 >> text=Stop").click()
    again.page.locator("#run-1[data-state=stopped]").wait_for()
    assert "best weights kept" in again.page.locator("#run-1 .said").inner_text()
    with again.page.expect_download() as download:
        again.page.locator("#run-1 >> text=Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"run-1/report.html", "run-1/model.safetensors", "run-1/config.json"} <= set(names)
    again.check_no_sideways_scroll()
    again.check_contrast()
    again.keep("studio-phone-dark")
    again.check()


def test_uploads_are_read_or_refused_with_reasons(studio, visit, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "v.csv").write_text(VERTICES)
    (tmp_path / "v.png").write_bytes(b"\x89PNG")
    (tmp_path / "bad.csv").write_text(EDGES + "v0,ghost\n")
    (tmp_path / "large.csv").write_bytes(b"x" * (100 << 20))
    seen = visit(studio.url)
    page = seen.page
    page.locator("#own summary").click()

    def try_tables(edges: str, vertices: str) -> None:
        page.locator("#edges").set_input_files(tmp_path / edges)
        page.locator("#vertices").set_input_files(tmp_path / vertices)
        page.locator("#upload").click()

    for edges, vertices, words in (
        ("e.csv", "v.png", "v.png: must be a table"),
        ("bad.csv", "v.csv", "bad.csv, line 14: vertex 'ghost'"),
        ("large.csv", "v.csv", "large.csv: must be at most 1 MB"),
    ):
        try_tables(edges, vertices)
        page.locator("#problem", has_text=words).wait_for()
        seen.check_contrast()
        assert page.locator("#train").is_disabled()
    # What was refused is in the console of any browser; nothing else may be.
    assert all("Failed to load resource" in error for error in seen.errors)
    seen.errors.clear()
    try_tables("e.csv", "v.csv")
    page.locator("#train:not([disabled])").wait_for()
    assert "12 vertices" in page.locator("#graph").inner_text()
    assert page.locator("main img").count() == 0
    seen.check()


def test_wrong_token_shows_nothing(studio, visit) -> None:
    seen = visit(studio.url[:-5] + "AAAA/")
    assert "not right" in seen.page.content()
    assert seen.page.locator("#train").count() == 0

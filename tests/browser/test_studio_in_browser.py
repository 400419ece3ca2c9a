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


def started() -> Any:
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    from graphfilter.web.studio import Studio

    return Studio(upload_limit_mb=1)


@pytest.fixture
def studio() -> Iterator[Any]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def shared_studio() -> Iterator[Any]:
    """One for tests that look at no run but the one they start: the browser knows its scripts."""
    with started() as running:
        yield running


# The states that the first run's row has had: a run may end between two looks at it.
WATCHED = """
window.states = new Set();
new MutationObserver(() => {
    const row = document.getElementById("run-1");
    if (row) window.states.add(row.dataset.state);
}).observe(document.body, {subtree: true, childList: true, attributes: true});
"""


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
    page.evaluate(WATCHED)
    page.locator("#train").click()
    page.locator("#run-1").wait_for()
    page.locator("#operator").select_option("laplacian")
    choose(page, n_layers="6", max_epochs="40")
    page.locator("#train").click()
    page.locator("#run-1[data-state=done]").wait_for()
    assert page.evaluate("states.has('training')")
    page.locator("#run-2[data-state=done]").wait_for()
    drawn = """document.getElementById('response-plot').data
        .filter((t) => t.name && t.type !== "bar").length"""
    assert page.evaluate(drawn) == 2
    energy = "document.getElementById('response-plot').data.find((t) => t.type === 'bar')?.y.length"
    for _ in range(100):
        if page.evaluate(energy) == 40:
            break
        page.wait_for_timeout(50)
    assert page.evaluate(energy) == 40
    assert page.locator("#run-1 .name").inner_text() == (
        "1. augmented_adjacency, 16 layers, at most 400 epochs"
    )
    assert page.locator("#run-2 .name").inner_text() == "2. laplacian, 6 layers, at most 40 epochs"
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
    assert "weights of the best epoch" in again.page.locator("#run-1 .said").inner_text()
    with again.page.expect_download() as download:
        again.page.locator("#run-1 >> text=Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"run-1/report.html", "run-1/model.safetensors", "run-1/config.json"} <= set(names)
    again.check_no_sideways_scroll()
    again.check_contrast()
    again.keep("studio-phone-dark")
    again.check()


def test_uploads_are_read_or_refused_with_reasons(shared_studio, visit, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "v.csv").write_text(VERTICES)
    (tmp_path / "one.csv").write_text(VERTICES.replace(",b\n", ",a\n"))
    (tmp_path / "v.png").write_bytes(b"\x89PNG")
    (tmp_path / "bad.csv").write_text(EDGES + "v0,ghost\n")
    (tmp_path / "large.csv").write_bytes(b"x" * (100 << 20))
    seen = visit(shared_studio.url)
    page = seen.page
    page.locator("#own summary").click()

    def try_tables(edges: str, vertices: str) -> None:
        page.locator("#edges").set_input_files(tmp_path / edges)
        page.locator("#vertices").set_input_files(tmp_path / vertices)
        page.locator("#upload").click()

    page.locator("#upload").click()
    page.locator("#edges-problem", has_text="Choose the file of the edges first").wait_for()
    for edges, vertices, place, words in (
        ("e.csv", "v.png", "vertices", "v.png: must be a table"),
        ("bad.csv", "v.csv", "edges", "bad.csv, line 14: vertex 'ghost'"),
        ("large.csv", "v.csv", "edges", "large.csv: must be at most 1 MB"),
        ("e.csv", "one.csv", "label", "every label is 'a'"),
    ):
        try_tables(edges, vertices)
        page.locator(f"#{place}-problem", has_text=words).wait_for()
        assert page.locator(f"#{place}").get_attribute("aria-invalid") == "true"
        for _ in range(400):  # the problem before it goes a moment later
            if page.locator(".problem:not(:empty)").count() == 1:
                break
            page.wait_for_timeout(50)
        assert page.locator(".problem:not(:empty)").count() == 1
        seen.check_contrast()
        assert page.locator("#train").is_disabled()
    seen.keep("studio-errors")
    # What was refused is in the console of any browser; nothing else may be.
    assert all("Failed to load resource" in error for error in seen.errors)
    seen.errors.clear()
    try_tables("e.csv", "v.csv")
    page.locator("#train:not([disabled])").wait_for()
    assert "12 vertices" in page.locator("#graph").inner_text()
    assert page.locator("main img").count() == 0
    assert page.locator(".problem:not(:empty)").count() == 0
    seen.check()


def test_answer_that_comes_after_another_choice_changes_nothing(
    shared_studio, visit, tmp_path: Path
) -> None:
    """Neither its error is shown nor its table read."""
    for name, content in (("e.csv", EDGES), ("v.csv", VERTICES), ("bad.csv", "not a table")):
        (tmp_path / name).write_text(content)
    seen = visit(shared_studio.url)
    page, held = seen.page, []

    def hold_the_first(route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/uploads", hold_the_first)
    page.locator("#own summary").click()
    with page.expect_request("**/api/uploads"):
        page.locator("#edges").set_input_files(tmp_path / "bad.csv")
    page.locator("#edges").set_input_files(tmp_path / "e.csv")
    page.locator("#vertices").set_input_files(tmp_path / "v.csv")
    for role in ("source", "label"):  # the columns of the tables chosen last are offered
        page.locator(f"#{role}:not([disabled])").wait_for()
    with page.expect_response("**/api/uploads"):
        held[0].continue_()
    page.wait_for_timeout(200)
    page.locator("#upload").click()
    page.locator("#train:not([disabled])").wait_for()
    assert "12 vertices" in page.locator("#graph").inner_text()
    assert page.locator(".problem:not(:empty)").count() == 0


def test_columns_are_chosen_from_those_of_the_tables(shared_studio, visit, tmp_path: Path) -> None:
    ring = "".join(f"{i},v{i},v{(i + 1) % 12}\n" for i in range(12))
    (tmp_path / "e.csv").write_text("key,from_one,to_other\n" + ring)
    rows = "".join(f"{i / 7:.3f},v{i},{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(12))
    (tmp_path / "v.csv").write_text("size,name,kind,colour\n" + rows)
    page = visit(shared_studio.url).page
    page.locator("#own summary").click()
    page.locator("#edges").set_input_files(tmp_path / "e.csv")
    page.locator("#vertices").set_input_files(tmp_path / "v.csv")
    chosen = {"source": "from_one", "target": "to_other", "id": "name", "label": "colour"}
    for role, name in chosen.items():
        page.locator(f"#{role} option", has_text=name).wait_for(state="attached")
        page.locator(f"#{role}").select_option(name)
    page.locator("#upload").click()
    page.locator("#graph", has_text="3 classes").wait_for()
    page.locator("#label").select_option("size")
    page.locator("#upload").click()
    page.locator("#label-problem", has_text="must be a few classes").wait_for()
    page.locator("#label").select_option("kind")
    assert page.locator(".problem:not(:empty)").count() == 0
    page.locator("#upload").click()
    page.locator("#graph", has_text="2 classes").wait_for()


def test_errors_of_a_setting_stand_at_their_field_until_mended(shared_studio, visit) -> None:
    seen = visit(shared_studio.url)
    page = seen.page
    page.locator("#dataset").select_option("karate")
    page.locator("#train:not([disabled])").wait_for()
    for field, wrong, right, words in (
        ("n_layers", "65", "4", "n_layers must be a whole number from 1 to 64"),
        ("filter_init", "half", "0.5", "a number or 'uniform'"),
        ("dropout", "", "0.5", "dropout must be a finite number"),
    ):
        choose(page, **{field: wrong})
        page.locator("#train").click()
        page.locator(f"#{field}-problem", has_text=words).wait_for()
        assert page.locator(f"#{field}").get_attribute("aria-invalid") == "true"
        choose(page, **{field: right})
        assert page.locator(".problem:not(:empty)").count() == 0
        assert page.locator(f"#{field}").get_attribute("aria-invalid") is None
    choose(page, max_epochs="5")
    page.locator("#baselines").uncheck()
    page.locator("#train").click()
    page.locator("#run-1[data-state=done]").wait_for()
    assert page.locator("#run-1 .name").inner_text() == "1. karate"
    seen.check_structure()


def test_wrong_token_shows_nothing(shared_studio, visit) -> None:
    seen = visit(shared_studio.url[:-5] + "AAAA/")
    assert "is wrong" in seen.page.content()
    assert seen.page.locator("#train").count() == 0

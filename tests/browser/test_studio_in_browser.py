"""The studio in a real browser, from dropping tables to opening the report."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 40}\n" for i in range(40))
HOSTILE = "<img src=x onerror='hacked=1'>"
ROWS = "".join(f"v{i},{i % 9},{'red' if i % 3 else ''},{'ab'[i % 2]}\n" for i in range(40))
VERTICES = f"id,{HOSTILE},colour,label\n{ROWS}"


def started() -> Any:
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    from graphfilter.web.studio import Studio

    return Studio(upload_limit_mb=1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    contents = {
        "e.csv": EDGES,
        "v.csv": VERTICES,
        "one.csv": VERTICES.replace(",b\n", ",a\n"),
        "v.png": "\x89PNG",
        "bad.csv": EDGES + "v0,ghost\n",
        "large.csv": "x" * (100 << 20),
        "unnamed.csv": VERTICES.replace("label", "kind"),
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return folder


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


def drop(page, folder: Path, *names: str) -> None:
    page.locator("#files").set_input_files([folder / name for name in names])


def fit_a_filter(page, dataset: str = "karate") -> None:
    """Choose an example and train the paper's filter on it."""
    page.locator("#dataset").select_option(dataset)
    page.locator("#effort").select_option("filter")
    page.locator("#start-fit:not([disabled])").click()


def kind(page, table: str, column: str):
    """The list that says how a column is read."""
    return page.locator(f"#{table}").get_by_label(f"Read {column} as", exact=True)


def test_two_tables_are_dropped_fitted_watched_and_their_report_opened(
    studio, visit, tables: Path
) -> None:
    seen = visit(studio.url)
    page = seen.page
    assert page.locator("#start-fit").is_disabled()
    assert page.locator("#columns").is_hidden()
    drop(page, tables, "e.csv", "v.csv")
    page.locator("#start-fit:not([disabled])").wait_for()
    assert page.locator("#names").inner_text() == "Rows: v.csv. Connections: e.csv."
    assert "40 rows, 40 connections" in page.locator("#graph").inner_text()
    assert kind(page, "vertices", "id").input_value() == "id"
    assert kind(page, "vertices", HOSTILE).input_value() == "number"
    assert kind(page, "vertices", "colour").input_value() == "category"
    assert kind(page, "edges", "source").input_value() == "source"
    row = page.locator("#vertices tbody tr", has_text="colour")
    assert row.locator("td").all_inner_texts()[1:] == ["red", "14 of 40"]
    assert page.locator("main img").count() == 0
    page.locator("#effort").select_option("low")
    page.locator("#baselines").uncheck()
    page.evaluate(WATCHED)
    page.locator("#start-fit").click()
    page.locator("#run-1[data-state=done]").wait_for()
    assert page.evaluate("states.has('training')")
    assert page.locator("#run-1 .name").inner_text() == "1. v: low effort"
    page.locator("#run-1 .said", has_text="The model is right for").wait_for()
    seen.check_contrast()
    seen.check_structure()
    seen.keep("studio")
    with page.expect_popup() as popup:
        page.locator("#run-1 >> text=Open the report").click()
    popup.value.wait_for_load_state()
    assert "v: what graphfilter learned" in popup.value.title()
    popup.value.close()
    with page.expect_download() as download:
        page.locator("#run-1 >> text=Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"run-1/report.html", "run-1/predictions.csv"} <= set(names)
    seen.check()


def test_progress_says_which_model_learns(shared_studio, visit) -> None:
    page = visit(shared_studio.url).page
    run = {
        "state": "training", "kept": False, "setting": {"model": "committee"},
        "progress": {
            "stage": "deep network (3 of 9)", "epoch": 12, "max_epochs": 1500, "score": 0.5,
            "score_name": "accuracy", "pool_score": 0.912, "seconds_left": 200,
        },
    }  # fmt: skip
    assert page.evaluate("describe", run) == (
        "Model 3 of 9: deep network, epoch 12 of at most 1500, all models so far are right for "
        "91.2 % of the validation part, about 3 min left."
    )
    run["progress"] |= {"score_name": "average precision", "seconds_left": 0.2}
    assert page.evaluate("describe", run) == (
        "Model 3 of 9: deep network, epoch 12 of at most 1500, validation average precision 0.500."
    )


def test_columns_are_read_as_they_are_changed(shared_studio, visit, tables: Path) -> None:
    page = visit(shared_studio.url).page
    drop(page, tables, "unnamed.csv")
    page.locator("#tables-problem", has_text="choose “label” beside the column").wait_for()
    assert page.locator("#start-fit").is_disabled()
    kind(page, "vertices", "kind").select_option("label")
    page.locator("#start-fit:not([disabled])").wait_for()
    assert page.locator(".problem:not(:empty)").count() == 0
    kind(page, "vertices", "colour").select_option("drop")
    page.locator("#graph", has_text="40 rows, 2 classes").wait_for()
    kind(page, "vertices", "colour").select_option("detected")
    page.locator("#graph", has_text="40 rows, 2 classes").wait_for()
    # A label is one column.
    kind(page, "vertices", HOSTILE).select_option("label")
    page.locator("#graph", has_text="9 classes").wait_for()
    assert kind(page, "vertices", "kind").input_value() == "category"
    # The edges are dropped later.
    drop(page, tables, "e.csv")
    page.locator("#names", has_text="Rows: unnamed.csv. Connections: e.csv.").wait_for()
    kind(page, "vertices", "kind").wait_for()
    page.locator("#swap").click()
    page.locator("#names", has_text="Rows: e.csv. Connections: unnamed.csv.").wait_for()


def test_every_column_is_shown_on_a_phone(shared_studio, visit, tables: Path) -> None:
    """None below the edge of a box: the label is often the last."""
    page = visit(shared_studio.url, width=390).page
    drop(page, tables, "unnamed.csv")
    kind(page, "vertices", "kind").wait_for()
    hidden = "box => box.scrollHeight - box.clientHeight"
    assert page.locator("#columns .scroll").first.evaluate(hidden) <= 0


def test_closing_the_tab_does_not_lose_the_run(studio, visit) -> None:
    first = visit(studio.url)
    # Slow enough to be met again while it trains.
    fit_a_filter(first.page, "bipartite")
    first.page.locator("#run-1[data-state=training]").wait_for()
    first.page.close()
    again = visit(studio.url, width=390, dark=True)
    again.page.locator("#run-1 >> text=Pause").click()
    again.page.locator("#run-1[data-state=paused]").wait_for()
    again.page.locator("#run-1 >> text=Resume").click()
    again.page.locator("#run-1 >> text=Stop").click()
    again.page.locator("#run-1[data-state=stopped]").wait_for()
    assert "The model is right for" in again.page.locator("#run-1 .said").inner_text()
    with again.page.expect_download() as download:
        again.page.locator("#run-1 >> text=Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"run-1/report.html", "run-1/model.safetensors", "run-1/config.json"} <= set(names)
    again.check_no_sideways_scroll()
    again.check_contrast()
    again.keep("studio-phone-dark")
    again.check()


def test_tables_are_refused_with_reasons(shared_studio, visit, tables: Path) -> None:
    seen = visit(shared_studio.url)
    page = seen.page
    for names, words in (
        (("e.csv", "v.png"), "v.png: must be a table"),
        (("bad.csv", "v.csv"), "bad.csv, line 42: row 'ghost'"),
        (("large.csv", "v.csv"), "large.csv: must be at most 1 MB"),
        (("e.csv", "one.csv"), "every label is 'a'"),
        (("e.csv", "v.csv", "one.csv"), "Give one table, or two"),
    ):
        drop(page, tables, *names)
        page.locator("#tables-problem", has_text=words).wait_for()
        assert page.locator(".problem:not(:empty)").count() == 1
        seen.check_contrast()
        assert page.locator("#start-fit").is_disabled()
    seen.keep("studio-errors")
    # What was refused is in the console of any browser; nothing else may be.
    assert all("Failed to load resource" in error for error in seen.errors)
    seen.errors.clear()
    drop(page, tables, "e.csv", "v.csv")
    page.locator("#start-fit:not([disabled])").wait_for()
    assert page.locator(".problem:not(:empty)").count() == 0
    seen.check()


def test_answer_that_comes_after_another_choice_changes_nothing(
    shared_studio, visit, tables: Path
) -> None:
    """Neither its error is shown nor its table read."""
    seen = visit(shared_studio.url)
    page, held = seen.page, []

    def hold_the_first(route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/uploads", hold_the_first)
    with page.expect_request("**/api/uploads"):
        drop(page, tables, "v.png")
    drop(page, tables, "e.csv", "v.csv")
    page.locator("#start-fit:not([disabled])").wait_for()
    with page.expect_response("**/api/uploads"):
        held[0].continue_()
    page.wait_for_timeout(200)
    assert "40 rows, 40 connections" in page.locator("#graph").inner_text()
    assert page.locator("#start-fit").is_enabled()
    assert page.locator(".problem:not(:empty)").count() == 0


def test_wrong_token_shows_nothing(shared_studio, visit) -> None:
    seen = visit(shared_studio.url[:-5] + "AAAA/")
    assert "is wrong" in seen.page.content()
    assert seen.page.locator("#start-fit").count() == 0

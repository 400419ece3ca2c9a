"""Reports in a real browser: no errors, no requests, plots that move, any screen and theme."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from graphfilter import SGFClassifier, SystemClassifier, load_dataset
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import Source, plan_fit

PLOTS = ("filter", "coefficient", "training", "degree", "frequency", "confusion", "calibration")
HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1"><b>'


def make_report(graph: Graph, folder: Path, **parameters) -> str:
    parameters = {"max_epochs": 25, "random_state": 0, **parameters}
    fit_folder(plan_fit(Source(graph), 0), SGFClassifier(**parameters), folder, draw=draw_run)
    return (folder / REPORT_FILE).as_uri()


def moving_curve(page) -> list[float]:
    return page.evaluate(
        """Array.from(document.getElementById("filter-plot").data
           .find((trace) => trace.name === "at the slider's epoch").y)"""
    )


@pytest.mark.research
@pytest.mark.parametrize("name", ["digits", "csbm", "bipartite", "karate", "cora"])
def test_report_of_each_embedded_graph_and_of_cora_opens(
    name: str, visit, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch
) -> None:
    if name == "cora":
        monkeypatch.setenv("GRAPHFILTER_DATA", str(request.getfixturevalue("data_folder")))
    url = make_report(load_dataset(name), tmp_path, n_members=2 if name == "karate" else 1)
    report = visit(url)
    for plot in PLOTS:
        assert report.page.locator(f"#{plot}-plot .main-svg").count() > 0, plot
    report.check_no_sideways_scroll()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert report.page.evaluate(ground) == "rgb(255, 255, 255)"
    report.keep(f"report-{name}")
    report.check()
    report.check_contrast()
    report.check_structure()
    phone = visit(url, width=390, dark=True)
    phone.check_no_sideways_scroll()
    phone.check_contrast()
    assert phone.page.evaluate(ground) != "rgb(255, 255, 255)"
    phone.keep(f"report-{name}-phone-dark")
    phone.check()


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=120, frequency=1.8, mean_degree=8, n_features=6)


@pytest.fixture(scope="module")
def url(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_report(graph, tmp_path_factory.mktemp("report"))


def test_slider_moves_the_curve_through_training(url: str, visit_once) -> None:
    report = visit_once(url)
    slider = report.page.locator("#epoch")
    kept = moving_curve(report.page)
    slider.focus()
    slider.press("Home")
    start = moving_curve(report.page)
    # Before training all of α and β are 1/2: f(1) = 1, whatever the depth.
    assert start[0] == pytest.approx(1, abs=1e-3)
    assert report.page.locator("#epoch-shown").inner_text() == "before training"
    slider.press("ArrowRight")
    assert moving_curve(report.page) != start
    slider.press("End")
    assert report.page.locator("#epoch-shown").inner_text().startswith("epoch 25")
    assert kept != start
    report.check()


def test_tables_are_searched_and_downloaded(graph: Graph, visit, tmp_path: Path) -> None:
    named = graph.replace(vertex_names=[f"vertex-{v:03}" for v in range(120)])
    report = visit(make_report(named, tmp_path, max_epochs=3))
    rows = report.page.locator("#least-sure tbody tr:visible")
    wanted = rows.nth(3).locator("th").inner_text()
    report.page.locator("input[data-table=least-sure]").fill(wanted.upper())
    assert rows.count() == 1
    with report.page.expect_download() as download:
        report.page.locator("button[data-table=least-sure]").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith('"Vertex","Predicted","Label"')
    assert [line.split(",")[0] for line in lines[1:]] == [f'"{wanted}"']
    report.check()


def test_html_in_names_is_shown_and_never_run(graph: Graph, visit, tmp_path: Path) -> None:
    hostile = graph.replace(
        vertex_names=[f"{HOSTILE}{v}" for v in range(120)],
        labels=np.array([HOSTILE, "<i>b</i>"], dtype=object)[graph.labels],
        name=HOSTILE,
        notes=(f"column {HOSTILE} was guessed.",),
    )
    report = visit(make_report(hostile, tmp_path, max_epochs=3))
    page = report.page
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("main img, main b:not(.bar b)").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE
    assert "<i>b</i>" in page.locator("#classes table").inner_text()
    shown = page.locator("#confusion-plot .ytick text").all_text_contents()
    assert "<i>b</i>" in shown
    report.keep("report-hostile")
    report.check()


def test_theme_button_turns_the_page_and_its_plots(url: str, visit_once) -> None:
    page = visit_once(url, dark=True).page
    ink = "getComputedStyle(document.querySelector('#training-plot .xtick text')).fill"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    on_dark = page.evaluate(ink)
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(ink) != on_dark
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ink) == on_dark


def test_report_on_paper_is_light_and_without_controls(
    url: str, visit_once, tmp_path: Path
) -> None:
    report = visit_once(url, dark=True)
    page = report.page
    page.emulate_media(media="print", color_scheme="dark")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    for control in ("#epoch", "#theme", "nav", "input[data-table]", "button[data-copy]"):
        assert not page.locator(control).first.is_visible(), control
    assert page.locator("#most-likely tbody tr:visible").count() == 10
    assert not page.locator("#made").is_visible()
    # Printed from the screen, the plots are drawn again in ink for paper, and put back.
    page.emulate_media(media="screen", color_scheme="dark")
    ink = "getComputedStyle(document.querySelector('#training-plot .xtick text')).fill"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {ink}; }})")
    before = page.evaluate(ink)
    pdf = page.pdf(format="A4", path=tmp_path / "report.pdf")
    assert pdf.startswith(b"%PDF")
    assert page.evaluate("printed") != before
    assert page.evaluate(ink) == before
    page.emulate_media(media="print")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    report.check()


def test_report_reads_well_aloud(graph: Graph, url: str, visit_once) -> None:
    tree = visit_once(url).tree
    # What holds a colon is quoted: it is YAML.
    lines = [line.strip().removeprefix("- ").removeprefix("'") for line in tree.splitlines()]
    for landmark in ("banner:", 'navigation "Sections":', "main:", "contentinfo:"):
        assert landmark in lines
    headings = [line for line in lines if line.startswith("heading")]
    assert headings[0] == f'heading "{graph.name}" [level=1]'
    assert headings[1].startswith('heading "Accuracy on 24 test vertices" [level=2]')
    assert any(line.startswith('slider "Training epoch"') for line in lines)
    pictures = [line for line in lines if line.startswith("img ")]
    # Two classes: precision and recall, and ROC, besides.
    assert len(pictures) == len(PLOTS) + 2
    assert any("Response of the filter over graph frequency:" in line for line in pictures)
    tables = [line for line in lines if line.startswith("table ")]
    for name in ("This model beside plain ones", "Each class on the test vertices", "Least sure"):
        assert any(line.startswith(f'table "{name}') for line in tables), name
    heads = [line for line in lines if line.startswith('columnheader "')]
    assert {'columnheader "Accuracy"', 'columnheader "Recall"'} <= set(heads)
    assert any(line.startswith('rowheader "this model"') for line in lines)


def test_report_is_worked_by_keyboard(url: str, visit) -> None:
    page = visit(url).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    assert page.locator(".skip").is_visible()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#answer"
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.type"))
    assert {"epoch", "search", "button"} <= reached


def test_every_plot_can_be_saved_as_png_and_svg(url: str, visit_once, tmp_path: Path) -> None:
    report = visit_once(url)
    assert report.page.locator(".save button").count() == 2 * report.page.locator(".plot").count()
    starts = {"png": b"\x89PNG", "svg": b"<svg"}
    for format, start in starts.items():
        with report.page.expect_download() as saved:
            label = f"Save the precision plot as {format.upper()}"
            report.page.get_by_label(label).click()
        assert saved.value.suggested_filename.endswith(f"precision-plot.{format}")
        path = tmp_path / f"saved.{format}"
        saved.value.save_as(path)
        assert path.read_bytes().startswith(start)
    report.check()


def test_nothing_is_cut_on_a_phone(visit, tmp_path: Path) -> None:
    """A table that is too wide becomes one block per row."""
    graph = make_csbm(n_vertices=200, frequency=0.4, n_features=6)
    labels = np.where(np.arange(200) % 3 == 0, -1, np.asarray(graph.labels))
    url = make_report(graph.replace(labels=labels), tmp_path)
    for width in (390, 1280):
        seen = visit(url, width=width)
        boxes = seen.page.locator(".scroll, .vertices").all()
        assert len(boxes) > 10
        for box in boxes:
            assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth + 1"), box
        seen.check_no_sideways_scroll()
        seen.check()
        seen.check_structure()


@pytest.mark.research
@pytest.mark.parametrize("model", ["gcn", "appnp", "gpr-gnn"])
def test_report_of_another_model_opens(graph: Graph, visit, tmp_path: Path, model: str) -> None:
    clf = SystemClassifier(model=model, max_epochs=10, random_state=0)
    fit_folder(plan_fit(Source(graph), 0), clf, tmp_path, baselines=False, draw=draw_run)
    report = visit((tmp_path / REPORT_FILE).as_uri())
    assert report.page.locator("#filter-plot").count() == (model != "gcn")
    assert report.page.locator("#epoch").count() == (model == "gpr-gnn")
    assert report.page.locator("#training-plot .main-svg").count() > 0
    report.check()
    report.check_structure()

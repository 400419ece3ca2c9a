"""Every number that the paper prints against its own text, and its answer in the records."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.research.paper.reproduction import RESULTS

from graphfilter.metrics import corrected_t_test
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.search import PAPER_AXES
from graphfilter_research.paper import answers, share_table
from graphfilter_research.paper.answers import Measured, in_words
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.published import (
    CHOSEN,
    DATASET_TITLES,
    DEPTHS,
    LITERATURE_2,
    LITERATURE_3,
    LITERATURE_TITLES,
    LOW,
    MIDDLE_AND_HIGH,
    RANDOM_DYNAMICS,
    RANDOM_TITLES,
    ROW_TITLES,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    Accuracy,
)
from graphfilter_research.paper.tables import ComparedAccuracy


@pytest.fixture(scope="module")
def paper(data_folder: Path) -> str:
    path = data_folder.parent / "paper.tex"
    if not path.is_file():
        pytest.skip("the paper's LaTeX source is not at hand")
    return path.read_text(encoding="utf-8")


def plain(text: str) -> str:
    """Take the type away: bold, mathematics and spaces."""
    text = text.replace(r"$\pm$", "±")
    while (bare := re.sub(r"\\(?:textbf|emph)\{([^{}]*)\}", r"\1", text)) != text:
        text = bare
    return " ".join(re.sub(r"[$()]", "", text).split())


def table_lines(paper: str, label: str) -> list[list[str]]:
    body = paper.split(rf"\label{{{label}}}")[1].split(r"\end{tabular}")[0]
    lines = [line.split(r"\\")[0] for line in body.splitlines() if "&" in line]
    return [[plain(cell) for cell in line.split("&")] for line in lines]


def number(cell: str) -> Accuracy | None:
    if cell == "not avail.":
        return None
    mean, _, deviation = cell.partition(" ± ")
    return Accuracy(float(mean), float(deviation) if deviation else None)


@pytest.mark.parametrize(
    ("label", "datasets", "experiments", "literature"),
    [
        ("tab:vertex_clf_low", LOW, TABLE_2, LITERATURE_2),
        ("tab:vertex_clf_mid", MIDDLE_AND_HIGH, TABLE_3, LITERATURE_3),
    ],
)
def test_published_tables_2_and_3_are_what_the_paper_prints(
    paper, label, datasets, experiments, literature
):
    head, *lines = [line for line in table_lines(paper, label) if "Datasets" not in str(line)]
    assert head[1:] == [DATASET_TITLES[d] for d in datasets]
    titles = [*ROW_TITLES.items(), *LITERATURE_TITLES.items()]
    assert len(lines) == len(titles) == len(experiments) + len(literature)
    for (title, *cells), (system, latex) in zip(lines, titles, strict=True):
        assert title == plain(latex)
        rows = experiments if system in experiments else literature
        assert [number(cell) for cell in cells] == [rows[system].get(d) for d in datasets]


def test_published_table_4_is_what_the_paper_prints(paper):
    lines = [line for line in table_lines(paper, "tab:stacking") if "±" in line[1]]
    rows = [(dataset, row) for table in TABLE_4.values() for dataset, row in table.items()]
    assert len(lines) == len(rows) == 8
    for (title, *cells, iterations, time), (dataset, row) in zip(lines, rows, strict=True):
        assert title == DATASET_TITLES[dataset]
        assert [number(cell) for cell in cells] == [row.accuracies[k] for k in DEPTHS]
        assert (float(iterations), time) == (row.iterations, f"{row.milliseconds} ms")


def test_published_table_5_is_what_the_paper_prints(paper):
    lines = [line for line in table_lines(paper, "tab:random_init") if "±" in line[1]]
    expected = [(s, group) for group in (LOW, MIDDLE_AND_HIGH) for s in RANDOM_TITLES]
    for (title, *cells), (system, group) in zip(lines, expected, strict=True):
        assert title == plain(RANDOM_TITLES[system])
        assert [number(cell) for cell in cells] == [TABLE_5[system][d] for d in group]


def test_published_search_set_and_accuracies_in_the_text_are_the_papers(paper):
    names = {
        "Dropout rate": "dropout",
        "Weight decay ": "weight_decay",
        "Learing rate": "learning_rate",
        "Number of layers": "n_layers",
    }
    for printed, name in names.items():
        found = re.search(rf"\\item {printed}: \$\\{{(.+?)\\}}\$", paper)
        assert found, printed
        values = found[1].split(", ")
        assert tuple(float(plain(v)) for v in values) == PAPER_AXES[name]
        (bold,) = [float(plain(v)) for v in values if "textbf" in v]
        assert bold == CHOSEN[name]
    found = re.search(r"cases are ([\d.]+)\\% for Cora nd ([\d.]+)\\% for Wisconsin", paper)
    assert found
    assert [float(x) for x in found.groups()] == list(RANDOM_DYNAMICS.values())


def ours(mean: float, system: str, setting: str) -> Measured:
    cell = ComparedAccuracy(mean, 1.0, 10, published=Accuracy(80.0, 1.0))
    return Measured(cell, system, setting)


def test_answer_is_the_first_setting_within_noise_or_the_nearest() -> None:
    near, far = ours(80.2, "SGF", "raw"), ours(70.0, "SGF", "row")
    assert in_words([far, near], "SGF") == "≈ 80.2 (raw)"
    assert in_words([far, ours(84.0, "sgf@dropout=0.5", "raw")], "SGF") == (
        "▲ 84.0, +4.0 (sgf@dropout=0.5, raw)"
    )
    assert in_words([], "SGF") == "not run"
    other = replace(near, cell=replace(near.cell, same_splits=False))
    assert in_words([other, far], "SGF") == "▼ 70.0, -10.0 (row)"
    assert in_words([other], "SGF") == "80.2 on other splits"


def test_every_printed_accuracy_is_answered() -> None:
    rendered = answers.TARGET.build(RESULTS, Options())
    cells = [c for block in rendered.blocks for row in block.rows for c in row.cells if c]
    tables = (TABLE_2, TABLE_3, LITERATURE_2, LITERATURE_3)
    n_printed = sum(len(row) for table in tables for row in table.values())
    n_printed += sum(3 * len(lines) for lines in TABLE_4.values()) + len(TABLE_5["sgf-random"])
    assert len(cells) == n_printed


Runs = dict[tuple[str, str, str], list[Record]]


@pytest.fixture(scope="module")
def runs() -> Runs:
    found: Runs = {}
    for record in read_target_records(RESULTS, share_table.FEW_LABELS_TARGET.name):
        found.setdefault((record.dataset, record.split_rule, record.model), []).append(record)
    return {key: sorted(own, key=lambda r: r.split_index) for key, own in found.items()}


def scores(runs: Runs, dataset: str, rule: str, model: str) -> np.ndarray:
    return 100 * np.array([r.scores["test"]["accuracy"] for r in runs[dataset, rule, model]])


def test_every_cell_has_ten_runs(runs: Runs) -> None:
    cells = [
        (dataset, rule, model)
        for dataset in share_table.FEW_LABELS_TARGET.datasets
        for rule in share_table.FEW_LABELS.rules_of(dataset)
        for model in share_table.FEW_LABELS.systems
    ]
    assert {cell: len(own) for cell, own in runs.items()} == dict.fromkeys(cells, 10)


def test_committee_is_nowhere_significantly_below_another(runs: Runs) -> None:
    for (dataset, rule, model), own in runs.items():
        if (dataset, rule, "committee") not in runs or rule == "public":
            continue
        gains = scores(runs, dataset, rule, "committee") - scores(runs, dataset, rule, model)
        sizes = [[r.scores[part]["n_vertices"] for part in ("test", "train")] for r in own]
        ratio = float(np.mean([n_test / n_train for n_test, n_train in sizes]))
        assert gains.mean() > 0 or corrected_t_test(gains, ratio) > 0.05 or model == "committee"


def test_differences_the_text_names_are_those_on_record(runs: Runs) -> None:
    text = " ".join((RESULTS.parent / "docs" / "reproduction.md").read_text("utf-8").split())

    def behind(dataset: str, rule: str) -> float:
        appnp, sgf = (scores(runs, dataset, rule, model).mean() for model in ("appnp", "sgf"))
        return float(appnp - sgf)

    assert (
        f"SGF is {behind('cora', 'few:0.01'):.1f} points below APPNP on Cora and "
        f"{behind('citeseer', 'few:0.01'):.1f} on Citeseer, level with it from 5 % on"
    ) in text
    for dataset in ("cora", "citeseer", "pubmed"):
        assert behind(dataset, "few:0.05") < 0.7
    sparse = [scores(runs, "bipartite_sparse", f"few:{x}", "sgf").mean() for x in (0.01, 0.025)]
    assert max(sparse) < 51
    few = scores(runs, "bipartite_sparse", "few:0.01", "committee").mean()
    assert f"{few:.1f} % there from 1 %" in text

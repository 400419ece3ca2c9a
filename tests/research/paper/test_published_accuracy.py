"""Every published number of Tables 2 to 5 against the paper's own LaTeX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphfilter_research.bench.search import PAPER_AXES
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

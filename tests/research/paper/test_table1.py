"""Table 1: the published numbers against the paper's own text, and ours against the published."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError
from graphfilter_research.paper.published import TABLE_1, Printed
from graphfilter_research.paper.table1 import PUBLISHED_AS, measure

# r(Y) signed, r(Y) one-hot and r(X), as printed with two digits.
MEASURED = {
    "cora": ("0.23 ± 0.04", "0.30 ± 0.05", "0.91 ± 0.10"),
    "citeseer": ("0.27 ± 0.04", "0.38 ± 0.12", "0.81 ± 0.19"),
    "pubmed": ("0.55 ± 0.02", "0.51 ± 0.03", "0.87 ± 0.07"),
    "photo": ("0.25 ± 0.04", "0.31 ± 0.14", "0.82 ± 0.04"),
    "computers": ("0.27 ± 0.05", "0.35 ± 0.12", "0.83 ± 0.04"),
    "wisconsin": ("0.76 ± 0.30", "0.87 ± 0.08", "0.89 ± 0.23"),
    "cornell_geomgcn": ("0.67 ± 0.23", "0.86 ± 0.11", "0.86 ± 0.32"),
    "cornell": ("0.80 ± 0.24", "0.91 ± 0.06", "0.88 ± 0.26"),
    "texas": ("0.84 ± 0.27", "0.98 ± 0.03", "0.84 ± 0.32"),
    "chameleon": ("0.71 ± 0.02", "0.81 ± 0.05", "0.99 ± 0.01"),
}
DIFFERS = {
    "citeseer": ("edges", "r(Y) deviation"),
    "pubmed": ("edges",),
    "cornell": ("r(Y)", "r(Y) deviation", "r(X)", "r(X) deviation"),
}


def read_graph(folder: Path, name: str) -> Graph:
    with np.load(folder / f"{name}.npz") as arrays:
        features = sp.csr_array(
            (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]),
            shape=tuple(arrays["x_shape"]),
        )
        return Graph.from_edges(arrays["edges"], features=features, labels=arrays["y"], name=name)


def make_bipartite() -> Graph:
    """The paper's: 1,000 + 1,000 vertices, each pair across with probability 0.05."""
    rng = np.random.default_rng(0)
    left, right = np.nonzero(rng.random((1000, 1000)) < 0.05)
    return Graph.from_edges(
        np.stack([left, right + 1000]),
        2000,
        features=rng.standard_normal((2000, 50)),
        labels=np.repeat(["left", "right"], 1000),
    )


def test_published_table_1_is_what_the_paper_prints(data_folder):
    paper = data_folder.parent / "paper.tex"
    if not paper.is_file():
        pytest.skip("the paper's LaTeX source is not at hand")
    table = paper.read_text(encoding="utf-8").split(r"\label{tab:datainfo}")[1]
    lines = table.split(r"\end{tabular}")[0].splitlines()
    printed = {}
    for line in lines:
        if match := re.match(r"\\emph\{(.+?)\} & (.+?)\\\\", line):
            printed[match[1]] = [cell.strip() for cell in match[2].split("&")]
    assert len(printed) == len(TABLE_1) == 10
    for row in TABLE_1.values():
        *sizes, r_y, r_x, kind = printed[row.printed_name]
        expected = [row.n_vertices, row.n_edges, row.n_features, row.n_classes]
        assert [int(size.replace(",", "")) for size in sizes] == expected
        assert r_y.replace(r"$\pm$", "±") == str(row.label_frequency)
        assert r_x.replace(r"$\pm$", "±") == str(row.feature_frequency)
        assert kind == row.kind


@pytest.mark.parametrize("name", MEASURED)
def test_table_1_comes_out_as_printed(data_folder, name):
    (row,) = measure({name: read_graph(data_folder, name)})
    got = tuple(f"{m:.2f} ± {s:.2f}" for m, s in (row.signed, row.onehot, row.features))
    assert got == MEASURED[name]
    assert row.differs == DIFFERS.get(name, ())


def test_table_1_holds_for_the_bipartite_graph_of_the_paper():
    (row,) = measure({"bipartite": make_bipartite()})
    assert not [what for what in row.differs if what.startswith("r(")]
    assert row.signed[0] == pytest.approx(2 - 1 / (4 * 50), abs=1e-3)
    assert row.onehot == pytest.approx((1, 0), abs=1e-12)


def test_table_1_skips_zero_features_only_at_the_cost_of_the_printed_value(data_folder):
    """The printed r(X) counts a feature that is zero everywhere as frequency 0."""
    from graphfilter.spectral import feature_frequency

    values = feature_frequency(read_graph(data_folder, "texas"))
    printed = TABLE_1["texas"].feature_frequency
    assert np.isnan(values).sum() == 203
    assert printed.same_mean(np.nan_to_num(values).mean())
    assert not printed.same_mean(float(np.nanmean(values)))


def test_table_1_keeps_the_order_of_the_paper_and_names_the_unknown():
    small = make_bipartite().subgraph(np.arange(900, 1100))
    graphs = dict.fromkeys(reversed(PUBLISHED_AS), small)
    names = [PUBLISHED_AS[row.dataset] for row in measure(graphs)]
    assert list(dict.fromkeys(names)) == list(TABLE_1)
    with pytest.raises(ConfigError, match="did you mean 'cora'"):
        measure({"Cora": small})


def test_printed_numbers_compare_in_their_own_digits():
    assert Printed(0.23, 0.04).same_mean(0.2254)
    assert not Printed(0.23, 0.04).same_mean(0.2249)
    assert Printed(2.0, 0.0, digits=1).same_mean(1.96)
    assert not Printed(2.0, 0.0, digits=1).same_deviation(0.006)

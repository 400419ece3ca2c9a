"""What docs/reproduction.md and docs/errata.md say in numbers is what the committed records say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from tests.research.paper.reproduction import RESULTS, check_said, page, records

from graphfilter.metrics import corrected_t_test
from graphfilter.util.records import convert
from graphfilter_research.bench.record import Record, read_records
from graphfilter_research.paper import answers, appendix_search, last_epoch, settings
from graphfilter_research.paper.accuracy_table import CHOSEN
from graphfilter_research.paper.collect import Options, read_json_lines
from graphfilter_research.paper.published import (
    DATASET_TITLES,
    LITERATURE_2,
    LITERATURE_3,
    LOW,
    MIDDLE_AND_HIGH,
    ROW_TITLES,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
)
from graphfilter_research.paper.tables import (
    FIXED,
    ComparedAccuracy,
    compare_chosen,
    compare_runs,
    select,
)

TEXAS, CORNELL, PHOTO, COMPUTERS = "texas", "cornell_geomgcn", "photo_lcc", "computers_lcc"
EVERY = (*LOW, *MIDDLE_AND_HIGH)
LITERATURE = {row: {**LITERATURE_2[row], **LITERATURE_3[row]} for row in LITERATURE_2}
WEB = ("wisconsin", CORNELL, TEXAS)


@dataclass(frozen=True)
class Quoted:
    """A cell of a table, whose format is its mark, then ``-`` for how far it is below the paper."""

    cell: ComparedAccuracy

    def __format__(self, spec: str) -> str:
        assert spec.rstrip("-") in ("", self.cell.mark)
        return f"{self.below if '-' in spec else self.mean:.1f}"

    @property
    def mean(self) -> float:
        assert self.cell.n == 10
        return self.cell.mean

    @property
    def below(self) -> float:
        assert self.cell.difference is not None
        return -self.cell.difference


def of(table: str, dataset: str, model: str, printed: object = None, **protocol: str) -> Quoted:
    runs = records(*table.split())
    return Quoted(compare_runs(runs, dataset, model, printed, **protocol))  # pyright: ignore[reportArgumentType]


def own(dataset: str, model: str, row: str = "", scaling: str = "row") -> Quoted:
    """Quote a row of Table 3 on the splits of its authors."""
    printed = TABLE_3[row or model][dataset]
    return of("table3", dataset, model, printed, scaling=scaling, split_rule="fixed")


def lit(dataset: str, model: str, row: str) -> Quoted:
    table = "table2" if dataset in LITERATURE_2[row] else "table3"
    return of(table, dataset, model, LITERATURE[row][dataset], split_rule="fixed")


def at(setting: str, dataset: str, scaling: str = "row") -> Quoted:
    return of("settings", dataset, setting, settings.printed(dataset), scaling=scaling)


def mean(table: str, dataset: str, model: str, **protocol: str) -> float:
    return of(table, dataset, model, **protocol).mean


def printed(dataset: str) -> float:
    value = settings.printed(dataset)
    assert value is not None
    return value.mean


def chosen(dataset: str, model: str) -> float:
    return compare_chosen(records("table2", "table3"), dataset, model, scalings=CHOSEN).mean


def marks(*cells: Quoted) -> str:
    return "".join(quoted.cell.mark for quoted in cells)


def test_text_on_the_splits_of_the_authors() -> None:
    t, c = partial(own, TEXAS), partial(own, CORNELL)
    raw = {"scaling": "none"}
    for name in ("sgf-cheby-1.5", "sgf-cheby-authors-1.5"):
        assert marks(t(name, "sgf-cheby-1.5"), c(name, "sgf-cheby-1.5")) == "▲≈"
        assert 5 < -t(name, "sgf-cheby-1.5").below < 6
    assert marks(t("sgf"), c("sgf"), t("sgf-cheby-1.5", **raw), c("sgf-cheby-1.5", **raw)) == "≈▼≈≈"
    assert [round(one("mlp").below) for one in (t, c)] == [10, 9]
    assert min(one("sgc").cell.n_cut for one in (t, c)) > 5
    check_said(
        f"raw features {t('sgf', **raw):≈} and {c('sgf', **raw):≈}, within noise of both",
        f"as their code does it, {t('sgf-authors', 'sgf'):≈} and {c('sgf-authors', 'sgf'):≈}",
        f"GCNII (0.5, 0.5) is as printed on both ({t('gcnii'):≈} on Texas and {c('gcnii'):≈} on "
        "Cornell)",
        f"APPNP on Texas ({t('appnp-0.2'):≈}) and {c('appnp-0.2'):▼-} below on Cornell",
        f"as printed on Cornell ({c('sgf-cheby'):≈}) and {t('sgf-cheby'):▼-} below on",
        f"it is as printed on both ({t('sgf-cheby-authors', 'sgf-cheby'):≈} and "
        f"{c('sgf-cheby-authors', 'sgf-cheby'):≈})",
        f"With raw features the MLP is as printed ({t('mlp', **raw):≈} and {c('mlp', **raw):≈}; "
        "row-normalised",
        f"and so is SGC ({t('sgc', **raw):≈} and {c('sgc', **raw):≈}; row-normalised it answers "
        "the largest class",
        f"SGF has {t('sgf')} on Texas (printed {printed(TEXAS):.1f}) and {c('sgf')} on Cornell "
        f"({printed(CORNELL):.1f})",
        f"and {t('sgf-every-layer', 'sgf'):≈} and {c('sgf-every-layer', 'sgf'):≈} with dropout on "
        "every layer",
        "gives the printed values of both columns, but APPNP on Cornell",
    )
    block = answers.TARGET.build(RESULTS, Options()).blocks[1]
    missed = {
        (row.label, column)
        for row in block.rows
        for column, cell in zip(block.columns, row.cells, strict=True)
        if column in ("Texas", "Cornell") and not str(cell).startswith("≈")
    }
    assert missed == {("APPNP (0.2)", "Cornell")}


def test_text_says_how_far_machines_are_apart() -> None:
    """The cells of Table 3 that were made on a CPU, and the same ones of the whole run on a GPU."""
    again = read_records(RESULTS / "fixed-own.jsonl.gz")
    cells = product((TEXAS, CORNELL), dict.fromkeys(r.model for r in again))
    gaps = [np.ptp([compare_runs(runs, d, m, split_rule="fixed").mean
                    for runs in (records("table3"), again)]) for d, m in cells]  # fmt: skip
    systems = read_records(RESULTS / "systems.jsonl.gz")
    check_said(
        f"they end up to {max(gaps):.1f} points elsewhere",
        f"SGF on raw Texas is {mean('table3', TEXAS, 'sgf', scaling='none'):.1f} here (CPU) and "
        f"{compare_runs(systems, TEXAS, 'sgf', scaling='none').mean:.1f} in",
    )


def accuracies(runs: list[Record], *cell: str) -> list[float]:
    found = [r for r in runs if (r.model, r.dataset, r.scaling) == cell]
    return [r.scores["test"]["accuracy"] for r in found]


def test_text_on_dropout_and_the_nearest_setting() -> None:
    half, every = partial(at, "sgf@dropout=0.5"), partial(at, "sgf-authors")
    less = partial(at, "sgf-authors@dropout=0.5")
    raw = {"scaling": "none"}

    def change(dataset: str) -> str:
        return f"from {at('sgf', dataset, **raw)} to {half(dataset, **raw)}"

    linear = [s for s in settings.SETTINGS if s == "sgf" or s.startswith("sgf@")]
    found = {
        (name, scaling): settings.distance([at(name, d, scaling).cell for d in settings.DATASETS])
        for name, scaling in product(linear, settings.BOTH)
    }
    nearest = "sgf@dropout=0.5@monitor=loss"
    assert min(found, key=found.__getitem__) == (nearest, "none")
    assert len(found) == 16
    away = settings.distance([every(d).cell for d in settings.DATASETS])
    pubmed = [at(s, "pubmed", b) for s, b in product(settings.SETTINGS, settings.BOTH)]
    assert {*marks(*pubmed)} == {"▼"}
    for name, dataset in (("sgf-authors", "bipartite_paper"),
                          ("sgf-authors@dropout=0.5", "bipartite_sparse")):  # fmt: skip
        runs = accuracies(records("settings"), name, dataset, "row")
        assert sum(accuracy < 0.55 for accuracy in runs) == 1
    assert marks(less("bipartite_paper"), less("bipartite_sparse")) == "≈≈"
    check_said(
        f"Pubmed goes {change('pubmed')} (printed {printed('pubmed'):.1f})",
        f"Photo {change(PHOTO)} ({printed(PHOTO):.1f})",
        f"Computers {change(COMPUTERS)} ({printed(COMPUTERS):.1f})",
        f"brings Chameleon from {half('chameleon', **raw)} down to "
        f"{at(nearest, 'chameleon', **raw)}",
        f"of all sixteen, {found[nearest, 'none']:.2f} points from the printed row on average",
        f"the setting the paper states is at {found[settings.PAPER]:.2f}",
        f"gives Cora {every('cora'):≈}, Citeseer {every('citeseer'):≈}, Wisconsin "
        f"{every('wisconsin'):≈} and Chameleon {every('chameleon'):≈} as printed",
        f"but Pubmed {every('pubmed'):-}, Photo {every(PHOTO):-} and Computers "
        f"{every(COMPUTERS):-} points less",
        f"{away:.2f} points over all columns",
        f"the nearest setting above has {found[nearest, 'none']:.2f}.",
        f"Cora {less('cora'):≈}, Citeseer {less('citeseer'):≈}, Wisconsin {less('wisconsin'):≈}, "
        f"Chameleon {less('chameleon'):≈} and both bipartite",
        f"Pubmed is {less('pubmed'):▼-} below ({less('pubmed')})",
        f"Pubmed has {less('pubmed', **raw):▼}, still below, and Photo {less(PHOTO, **raw):≈}",
        f"no setting brings Pubmed nearer than {min(cell.below for cell in pubmed):.1f}.",
    )
    counts = {
        model: marks(
            *(of("table2 table3", d, model, settings.printed(d),
                 split_rule="fixed" if d in FIXED else "stratified") for d in EVERY)
        ).count("≈")
        for model in ("sgf", "sgf-every-layer")
    }  # fmt: skip
    assert counts == {"sgf": 4, "sgf-every-layer": 7}
    check_said(
        "the first reading gives four within noise and the second seven",
        f"{mean('table3', TEXAS, 'sgf'):.1f} on Texas on our stratified splits and "
        f"{own(TEXAS, 'sgf')} on those",
        on="errata",
    )


def test_text_on_sgf_cheby_as_its_authors_coded_it() -> None:
    def cheby(dataset: str, largest: str = "", code: str = "-authors") -> Quoted:
        table, rows = ("table2", TABLE_2) if dataset in LOW else ("table3", TABLE_3)
        row = rows[f"sgf-cheby{largest}"][dataset]
        return of(table, dataset, f"sgf-cheby{code}{largest}", row)

    assert marks(cheby("cora", "-1.5", ""), cheby("citeseer", "-1.5", "")) == "≈≈"
    check_said(
        f"as printed on Chameleon ({cheby('chameleon'):≈}, printed 70.2), where the filter as "
        f"described has {cheby('chameleon', code=''):▼}, on Cora ({cheby('cora'):≈}) and on "
        f"Wisconsin ({cheby('wisconsin'):≈}); on Citeseer it is {cheby('citeseer'):▼-} below",
        f"on Cora ({cheby('cora', '-1.5'):≈} as coded, printed 30.1) and Citeseer "
        f"({cheby('citeseer', '-1.5'):≈}, 21.1)",
    )


def test_text_on_geom_gcn_and_the_models_of_pei_et_al() -> None:
    def geom(dataset: str, variant: str = "") -> Quoted:
        return lit(dataset, f"geom-gcn{variant}", "geom-gcn")

    pubmed = [geom("pubmed", v) for v in ("", "-s", "-p")]
    assert marks(*pubmed, geom("chameleon", "-s")) == "▼▼▼▲"
    trained = [r for r in records("table2") if r.dataset == "pubmed" and "geom-gcn" in r.model]
    for name in {r.model for r in trained}:
        accuracy = [100 * r.scores["train"]["accuracy"] for r in trained if r.model == name]
        assert 86 <= np.mean(accuracy) <= 87.5
    below = [geom(d, "-p").below for d in WEB]
    gat = {d: lit(d, "gat-pei", "gat") for d in LITERATURE["gat"]}
    assert {d for d, cell in gat.items() if marks(cell) == "≈"} == {"cora", TEXAS}
    assert {d for d, cell in gat.items() if marks(cell) == "▼"} == {"pubmed"}
    w, c, t = WEB
    check_said(
        f"-I is as printed ({geom('cora'):≈}, printed 85.3), -S above ({geom('cora', '-s'):▲}) and "
        f"-P below ({geom('cora', '-p'):▼})",
        f"above ({geom('chameleon'):▲} and {geom('chameleon', '-s'):▲}, printed 60.9) and -P is "
        f"below ({geom('chameleon', '-p'):▼})",
        f"({min(q.mean for q in pubmed):.1f} to {max(q.mean for q in pubmed):.1f}, printed 90.1)",
        f"Wisconsin {geom(w):≈} (printed 64.1), Cornell {geom(c):≈} (60.8) and Texas {geom(t):≈} "
        "(67.6)",
        f"all three are below: -S {geom('citeseer', '-s'):▼}, -P {geom('citeseer', '-p'):▼}, -I "
        f"{geom('citeseer'):▼} (printed 78.0)",
        f"so is -S ({geom(w, '-s'):≈}, {geom(c, '-s'):≈} and {geom(t, '-s'):≈})",
        f"-P is {min(below):.0f} to {max(below):.0f} below",
        f"GCN with Pei et al.'s own numbers {lit('chameleon', 'gcn-pei', 'gcn')}, and on Pubmed "
        f"{lit('pubmed', 'gcn-pei', 'gcn'):≈}, as printed",
        f"{gat['pubmed']:-} below on Pubmed and above on the others (Chameleon {gat['chameleon']})",
    )


def test_text_on_appnp_jknet_and_gcnii_of_the_literature() -> None:
    names = ("appnp", "appnp@alpha=0.2@dropout=0.5", "appnp@alpha=0.5", "appnp@alpha=0.9")

    def appnp(dataset: str) -> list[Quoted]:
        return [lit(dataset, name, "appnp") for name in names]

    def validated(dataset: str, name: str) -> float:
        cell = (dataset, name, "fixed", "row")
        runs = [r for r in records("table3")
                if (r.dataset, r.model, r.split_rule, r.scaling) == cell]  # fmt: skip
        return float(np.mean([r.scores["val"]["accuracy"] for r in runs]))

    plain, wide = "jknet-dropedge", "jknet-dropedge@hidden_size=64@learning_rate=0.01@n_layers=4"

    def jknet(dataset: str, model: str = f"{plain}@weight_decay=5e-6") -> Quoted:
        return lit(dataset, model, plain)

    def gcnii(dataset: str, variant: str) -> Quoted:
        return lit(dataset, f"gcnii-{variant}", "gcnii-authors")

    every = ("cora", "citeseer", "pubmed", *WEB, "chameleon")
    assert {d for d in every if marks(appnp(d)[0]) == "≈"} == {"cora", "citeseer", TEXAS}
    for dataset, best in (("pubmed", 2), ("chameleon", 1)):
        assert min(appnp(dataset), key=lambda quoted: quoted.below) == appnp(dataset)[best]
    assert all(max(names, key=partial(validated, d)) == names[-1] for d in WEB)
    w, c, t = (appnp(d)[-1] for d in WEB)
    gaps = [-quoted.below for quoted in (w, c, t)]
    same = {d for d in every if marks(jknet(d, plain)) == "≈"}
    assert same == {"cora", "wisconsin", TEXAS, "chameleon"}
    assert marks(jknet(CORNELL), jknet("citeseer")) == "≈≈"
    assert jknet(CORNELL).below < min(jknet(CORNELL, name).below for name in (plain, wide))
    for dataset in ("cora", "citeseer", *WEB):
        assert abs(jknet(dataset, wide).mean - jknet(dataset, plain).mean) < 1.2
    star = {d: gcnii(d, "star") for d in LITERATURE["gcnii-authors"]}
    assert [d for d, quoted in star.items() if marks(quoted) != "≈"] == ["chameleon"]
    assert gcnii("pubmed", "loss").cell.n_cut == 9
    assert all(8 < gcnii("chameleon", v).below < 9 for v in ("loss", "star"))
    check_said(
        f"it is as printed on Cornell too ({appnp(CORNELL)[1]:≈}), with 0.5 Pubmed is",
        f"Pubmed is {appnp('pubmed')[2]:▼-} below ({appnp('pubmed')[2]})",
        f"Chameleon is {appnp('chameleon')[1]:▼-} below at best ({appnp('chameleon')[1]})",
        f"Wisconsin has {w}, Cornell {c} and Texas {t}",
        f"{min(gaps):.0f} to {max(gaps):.0f} points *above*",
        f"gives Citeseer ({jknet('citeseer')}, printed 76.0)",
        f"Pubmed to {jknet('pubmed'):▼-} points ({jknet('pubmed')}, printed 89.5;",
        f"{jknet('pubmed', plain)} before, four of ten runs cut",
        f"Cornell stays {jknet(CORNELL):-} points below at best ({jknet(CORNELL)},",
        f"Cora ({gcnii('cora', 'loss'):≈} and {star['cora']:≈}, printed",
        f"Citeseer ({gcnii('citeseer', 'loss'):≈} and {star['citeseer']:≈}, printed",
        f"on Chameleon ({gcnii('chameleon', 'loss')} and {star['chameleon']}, printed 62.5)",
        f"stopping by accuracy has {gcnii('chameleon', 'authors')}",
        "So GCNII\\* gives six of the seven printed values",
        *(f"{title} {star[d]}, " for d, title in zip(WEB, ("Wisconsin", "Cornell", "Texas"),
                                                     strict=True)),
        f"on Pubmed ({star['pubmed']}, printed 90.3), where GCNII is "
        f"{gcnii('pubmed', 'loss'):▼-} below with nine runs of ten cut",
    )  # fmt: skip


def test_text_on_the_random_start() -> None:
    def cell(dataset: str, system: str) -> Quoted:
        rule = "fixed" if dataset in FIXED else "stratified"
        return of("table5", dataset, system, TABLE_5[system][dataset], split_rule=rule)

    found = {d: marks(cell(d, "sgf-random")) for d in TABLE_5["sgf-random"]}
    assert {d for d, mark in found.items() if mark == "≈"} == {
        "cora", "citeseer", "bipartite", TEXAS,
    }  # fmt: skip
    assert {d for d, mark in found.items() if mark == "▼"} == {"pubmed", "wisconsin", CORNELL}
    gains = [mean("table5", d, "sgf-random") - mean("table5", d, "sgf") for d in EVERY]
    assert min(gains) == pytest.approx(-2.0, abs=0.01)
    assert 0.5 < max(gains) < 1
    ends = {
        line["dataset"]: 100 * line["accuracy"]
        for line in read_json_lines(RESULTS, "fig-random-dynamics")
    }
    alphas = {
        d: [abs(a) for r in records("table5") if (r.dataset, r.model) == (d, "sgf")
            for a in r.filter["alpha"]]
        for d in found
    }  # fmt: skip
    large = {
        d: f"{np.mean([abs(a) > 1 for r in runs for a in r.filter['alpha']]):.0%}".replace(
            "%", " %"
        )
        for d in ("cora", PHOTO, CORNELL)
        for runs in [select(records("table5"), d, "sgf")]
    }
    assert max(alphas, key=lambda d: max(alphas[d])) == "chameleon"
    check_said(
        "Of the ten cells of the same splits four are within noise of the paper",
        f"its fixed start is too, by {cell(CORNELL, 'sgf'):-} in this setting",
        "costs at most two points and gains up to one elsewhere",
        f"{ends['cora']:.1f} % on Cora and {ends['wisconsin']:.1f} on Wisconsin",
        f"of those learned on Cora {large['cora']} exceed 1, on Photo {large[PHOTO]}, on Cornell "
        f"{large[CORNELL]}",
        f"the largest is {max(alphas['chameleon']):.1f}, on Chameleon",
    )


def test_text_on_theta_of_gcnii() -> None:
    def theta(dataset: str, value: float) -> float:
        return mean("theta", dataset, f"gcnii-star@theta={value}", split_rule="fixed")

    def lost(dataset: str, best: float, *others: float) -> list[str]:
        return [f"{theta(dataset, best) - theta(dataset, value):.1f}" for value in others]

    texas, cornell = lost(TEXAS, 1.5, 0.1, 0.5), lost(CORNELL, 1.0, 0.1, 0.5)
    far, near = lost("wisconsin", 1.0, 0.1, 0.5)
    chameleon = " and ".join(lost("chameleon", 1.5, 0.1, 0.5))
    gains = theta(TEXAS, 1.0) - theta(TEXAS, 1.5), theta(CORNELL, 1.5) - theta(CORNELL, 1.0)
    check_said(
        f"(1.5 and 1.0; {theta(TEXAS, 1.5):.1f} and {theta(CORNELL, 1.0):.1f})",
        f"with θ = 0.1 it loses {texas[0]} points on Texas and {cornell[0]} on Cornell",
        f"with 0.5 it loses {texas[1]} and {cornell[1]}",
        "it gains {:.1f} and {:.1f}".format(*gains),
        f"recommended, {theta('wisconsin', 1.0):.1f}) 0.1 loses {far} and 0.5 loses {near}",
        f"on Chameleon (1.5, {theta('chameleon', 1.5):.1f}) they lose {chameleon}",
    )


def test_text_on_bipartite_graphs_and_sgc() -> None:
    sparse = partial(of, "table3", "bipartite_sparse")
    runs = read_records(RESULTS / "sgc.jsonl.gz")
    decay, both = (
        compare_runs(runs, "pubmed", name, scaling=runs[0].scaling)
        for name in ("sgc@weight_decay=5e-06", "sgc@learning_rate=0.2@weight_decay=5e-06")
    )
    assert decay.n == both.n == decay.n_cut == 10
    check_said(
        f"SGC {sparse('sgc')} (printed 48.1), APPNP {sparse('appnp-0.2')} (50.9), MLP "
        f"{sparse('mlp')} (48.3) and SGF {sparse('sgf')},",
        f"it has {decay.mean:.1f} (every run cut)",
        f"learning rate of 0.2 besides {both.mean:.1f}",
    )
    check_said(
        f"SGC has {sparse('sgc')} there, APPNP (0.2) {sparse('appnp-0.2')} and SGF {sparse('sgf')}",
        on="errata",
    )


def test_text_on_the_best_scaling() -> None:
    systems = (*ROW_TITLES, "sgf-every-layer")
    gaps = {d: max(chosen(d, s) for s in systems) - chosen(d, "sgf") for d in EVERY}
    worst = gaps.pop("chameleon")
    theirs, ours = (
        "{:.1f}, {:.1f} and {:.1f}".format(*(chosen(d, s) for d in ("pubmed", PHOTO, COMPUTERS)))
        for s in ("gcnii", "sgf")
    )
    titles = dict(zip(WEB, ("Wisconsin", "Cornell", "Texas"), strict=True))
    level = ", ".join(
        f"{title} {chosen(d, 'sgf'):.1f} and {chosen(d, 'mlp'):.1f}" for d, title in titles.items()
    )
    leads = [mean("table3", d, "sgf") - mean("table3", d, "mlp") for d in WEB]
    assert min(leads) == pytest.approx(5.5, abs=0.1)
    assert max(leads) == pytest.approx(12.6, abs=0.1)
    assert chosen("cornell", "mlp") > chosen("cornell", "sgf")
    photo, computers = (mean("peers", d, "committee", scaling="auto") for d in (PHOTO, COMPUTERS))
    check_said(
        f"at most {max(gaps.values()):.1f} points behind the best system on nine of ten",
        f"and {worst:.1f} behind SGF-Cheby on Chameleon",
        f"({theirs} against {ours})",
        f"({level})",
        "SGF is 5 to 13 points above the MLP there",
        "on the corrected Cornell the MLP is ahead",
        f"The committee has {photo:.1f} and {computers:.1f} on these components of Photo and "
        "Computers",
    )


def test_text_on_stacking_and_starts() -> None:
    def depth(model: str, dataset: str = CORNELL) -> float:
        return mean(
            "table4", dataset, model, split_rule="fixed" if dataset == CORNELL else "stratified"
        )

    horizontal = "sgf-horizontal"
    before = TABLE_4[horizontal][CORNELL].accuracies[16].mean
    deep = [depth(f"sgf{n}") for n in ("", "-32", "-64")]
    cells = TABLE_4["sgf"][CORNELL].accuracies.values()
    gaps = [cell.mean - ours for cell, ours in zip(cells, deep, strict=True)]
    assert max(deep) == min(deep)
    assert (round(min(gaps)), round(max(gaps))) == (4, 6)
    above = [depth(f"{horizontal}{n}", d) - depth(f"sgf{n}", d)
             for d, n in product(("cora", "pubmed"), ("", "-32", "-64"))]  # fmt: skip
    assert {f"{depth(f'sgf{n}', 'pubmed'):.1f}" for n in ("", "-32", "-64")} == {"87.2"}
    start = partial(mean, "fig-filters")
    lost = [mean("table3", d, "sgf") - mean("table3", d, "sgf-laplacian") for d in WEB[1:]]
    wisconsin = depth(horizontal, "wisconsin") - depth(f"{horizontal}-64", "wisconsin")
    check_said(
        f"Wisconsin by {wisconsin:.1f} points from 16 to 64 filters",
        f"Cornell by {depth(horizontal) - depth(f'{horizontal}-64'):.1f} on the authors' splits "
        "(8.1)",
        f"from a level that is {depth(horizontal) - before:.0f} points above the printed one",
        f"all three are at {deep[0]:.1f}, four to six points below",
        f"*above* SGF at every depth, by {min(above):.1f} to {max(above):.1f} points",
        "on Pubmed all three are at 87.2",
        f"better, {start('cora', 'sgf-laplacian'):.1f} against {start('cora', 'sgf'):.1f})",
        f"{start('wisconsin', 'sgf-laplacian'):.1f} %, where a start from Ã has "
        f"{start('wisconsin', 'sgf'):.1f}",
        "costs {:.0f} points on Cornell and {:.0f} on Texas".format(*lost),
    )


def test_text_on_structural_noise() -> None:
    noisy = ("cora", "citeseer", "pubmed", PHOTO)
    runs, several = records("fig-noise"), records("noise-seeds")

    def curve(dataset: str, model: str) -> np.ndarray:
        names = [f"{dataset}~{share / 10:g}" for share in range(10)]
        return np.array([mean("fig-noise", name, model) for name in names])

    for dataset in ("cora", "citeseer"):
        gaps = np.abs(curve(dataset, "sgf-every-layer") - curve(dataset, "gcnii"))
        assert gaps.max() < 2
        assert (gaps < 1).sum() > len(gaps) / 2
        assert (curve(dataset, "sgf-every-layer") > curve(dataset, "mlp")).all()
    below = curve("citeseer", "mlp") - curve("citeseer", "sgf")
    assert below[2:8].min() > 3
    assert round(below.max()) == 10
    others = [curve(PHOTO, s) for s in ("mlp", "gcnii", "appnp-0.2", "appnp-0.8", "sgc")]
    assert (curve(PHOTO, "sgf") > np.max(others, axis=0))[1:].all()
    assert all(curve(d, "appnp-0.2")[-1] < curve(d, "mlp")[-1] for d in noisy)
    lost = [curve(d, "appnp-0.8")[0] - curve(d, "appnp-0.8")[-1] for d in noisy]
    moved = []
    for dataset, model in dict.fromkeys((r.dataset, r.model) for r in several):
        splits = {r.split_index for r in several if r.dataset == dataset}
        same = [r for r in runs if r.split_index in splits]
        if any((r.dataset, r.model) == (dataset, model) for r in same):
            pair = [compare_runs(some, dataset, model) for some in (several, same)]
            assert pair[0].n == 5
            moved.append(abs(pair[0].mean - pair[1].mean))
    for dataset in noisy:
        for name in {r.dataset for r in runs if r.dataset.startswith(f"{dataset}~")}:
            models = (
                {r.model for r in runs if r.dataset == name} if name.endswith("~0") else {"mlp"}
            )
            if any(r.model == "committee" for r in runs if r.dataset == name):
                best = compare_runs(runs, name, "committee").mean
                assert all(compare_runs(runs, name, m).mean < best for m in models - {"committee"})
    ends = [f"{mean('fig-noise', f'{d}~0.9', 'sgf'):.1f} on {title}, {word}"
            f"{mean('fig-noise', f'{d}~0.9', 'mlp'):.1f}"
            for d, title, word in zip(noisy, ("Cora", "Citeseer", "Pubmed", "Photo"),
                                      ("MLP ", "", "", ""), strict=True)]  # fmt: skip
    best = [compare_runs(runs, f"{d}~0.9", "committee").mean for d in noisy]
    check_said(
        f"APPNP (0.8) loses {min(lost):.0f} to {max(lost):.0f} points",
        f"the means move by at most {max(moved):.1f} points",
        f"at 90 % swapped {'; '.join(ends)}",
        "at 90 % swapped {:.1f} on Cora, {:.1f} on Citeseer, {:.1f} on Pubmed and {:.1f} on "
        "Photo".format(*best),
    )


def test_text_on_searches() -> None:
    block = settings.TARGET.build(RESULTS, Options()).blocks[-1]
    default, picked, _ = (
        {d: float(str(cell).split()[0])
         for d, cell in zip(settings.DATASETS, row.cells, strict=False) if str(cell).split()}
        for row in block.rows
    )  # fmt: skip
    p = {d: f"{picked[d]:.1f}" for d in picked}
    q = {d: f"{printed(d):.1f}" for d in picked}
    gains = {d: f"{picked[d] - default[d]:.1f}" for d in picked}
    check_said(
        f"gives {p['cora']} on Cora (printed {q['cora']}), {p['citeseer']} on Citeseer "
        f"({q['citeseer']}), {p['pubmed']} on Pubmed ({q['pubmed']}), {p[PHOTO]} on Photo "
        f"({q[PHOTO]}), {p[COMPUTERS]} on Computers ({q[COMPUTERS]}) and {p[CORNELL]} on Cornell "
        f"({q[CORNELL]})",
        f"Only Wisconsin ({p['wisconsin']}, printed {q['wisconsin']})",
        f"Chameleon ({p['chameleon']}, printed {q['chameleon']},",
        f"gains {gains['pubmed']} points on Pubmed, {gains[PHOTO]} on Photo and "
        f"{gains[COMPUTERS]} on Computers",
        f"{gains['citeseer']} on Citeseer",
    )
    lines = read_json_lines(RESULTS, "search")
    found = [convert(appendix_search.SearchRecord, line) for line in lines]
    assert len(found) == len({(record.dataset, record.split) for record in found}) == 50
    by = {d: [r for r in found if r.dataset == d] for d in EVERY}

    def gained(dataset: str, part: str) -> list[float]:
        name = f"{part}_accuracy"
        return [100 * (getattr(r.best, name) - getattr(r.default, name)) for r in by[dataset]]

    first = {d: gained(d, "test")[[r.split for r in by[d]].index(0)] for d in EVERY}
    others = [d for d in EVERY if d != "bipartite"]
    assert not any(gained("bipartite", "val"))
    looked = [np.mean(gained(d, "val")) for d in others]
    gain = {d: np.mean(gained(d, "test")) for d in others}
    p_value = {d: corrected_t_test(gained(d, "test"), 1 / 3) for d in others}
    assert max(p_value["pubmed"], p_value[COMPUTERS]) < 0.01
    rest = [d for d in others if d not in ("pubmed", COMPUTERS, PHOTO, "cora")]
    assert min(p_value[d] for d in rest) > 0.1
    made = [r.best.setting for d in others for r in by[d]]
    best = {d: 100 * np.mean([r.best.test_accuracy for r in by[d]]) for d in others}
    check_said(
        f"+{first['cora']:.1f} on Cora, −{-first['wisconsin']:.1f} on Wisconsin (two vertices) and "
        f"+{first['chameleon']:.1f} on Chameleon",
        f"the best setting gains {min(looked):.1f} to {max(looked):.1f} points",
        f"{gain['pubmed']:.1f} points on Pubmed and {gain[COMPUTERS]:.1f} on Computers (p below "
        f"0.01 each), {gain[PHOTO]:.1f} on Photo (p = {p_value[PHOTO]:.2f}) and "
        f"{gain['cora']:.1f} on Cora (p = {p_value['cora']:.2f}, not corrected for ten datasets)",
        f"elsewhere {min(gain[d] for d in rest):.1f} to {max(gain[d] for d in rest):.1f} that "
        "cannot be told from noise",
        f"Of the {len(made)} searches outside Bipartite {sum(s['dropout'] < 0.7 for s in made)} "
        f"choose less dropout than 0.7 and {sum(s['learning_rate'] > 0.01 for s in made)} a larger "
        "learning rate",
        f"Pubmed {best['pubmed']:.1f} (printed {q['pubmed']}), Photo {best[PHOTO]:.1f} "
        f"({q[PHOTO]}), Computers {best[COMPUTERS]:.1f} ({q[COMPUTERS]})",
    )


def test_text_says_how_far_proposition_3_as_printed_is_off() -> None:
    def estimate(dataset: str) -> float:
        cell = (dataset, "induced", 0.1)
        lines = read_json_lines(RESULTS, "fig-frequency")
        return float(np.nanmean([
            line["estimate"] for line in lines
            if (line["dataset"], line["method"], line["ratio"]) == cell
        ]))  # fmt: skip

    check_said(
        f"says −{-estimate('cora'):.1f} on Cora", f"and {estimate('bipartite'):.1f} on Bipartite"
    )


@cache
def weights_of(system: str) -> dict[str, dict[str, float]]:
    """Return what each dataset has with the last weights and with the best ones."""
    lines = [
        line
        for line in read_json_lines(RESULTS, "last-epoch")
        if line.get("system", last_epoch.SYSTEM) == system
    ]
    found = {}
    directed = {name: dataset for dataset, name in last_epoch.UNDIRECTED.items()}
    for name in (*directed, "cora", "citeseer"):
        mine = [line for line in lines if line["dataset"] in (directed.get(name), name)]
        assert len(mine) == 10
        found[name] = {
            key: 100 * float(np.mean([line[key] for line in mine])) for key in ("last", "best")
        }
    return found


@pytest.mark.parametrize(
    ("system", "row"), [(last_epoch.SYSTEM, "gcn"), ("gat-pei", "gat")], ids=["gcn", "gat"]
)
def test_text_says_what_the_last_weights_give(system: str, row: str) -> None:
    start = page().index("With its last weights GAT") if row == "gat" else 0
    for name, accuracy in weights_of(system).items():
        said = re.search(
            rf"{DATASET_TITLES[name]} ([\d.]+) "
            r"\((?:printed )?([\d.]+); (?:(?:with the )?best weights )?([\d.]+)\)",
            page()[start:],
        )
        assert said is not None
        given = [float(number) for number in said.groups()]
        wanted = [accuracy["last"], LITERATURE[row][name].mean, accuracy["best"]]
        assert given == pytest.approx(wanted, abs=0.051)


def test_text_says_that_the_last_weights_do_not_explain_geom_gcn() -> None:
    found = weights_of("geom-gcn")
    apart = max(abs(each["last"] - each["best"]) for each in found.values())
    below = LITERATURE["geom-gcn"]["citeseer"].mean - found["citeseer"]["best"]
    check_said(f"to {apart:.1f} points; that is not why its Citeseer is {below:.1f} below")


@pytest.mark.parametrize("name", ["settings", "table5", "answers", "last-epoch", "sgc"])
def test_text_links_to_the_tables_it_quotes(name: str) -> None:
    assert f"../results/{name}.md" in page()


def test_text_leaves_no_mark_to_be_filled() -> None:
    assert not re.findall(r"@[A-Z_]+@", page())

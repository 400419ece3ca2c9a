"""The numbers in the prose of docs/reproduction.md are those of the records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from tests.research.paper.reproduction import RESULTS, page, records, says

from graphfilter.metrics import corrected_t_test
from graphfilter.util.records import convert
from graphfilter_research.bench.record import read_records
from graphfilter_research.paper import appendix_search, last_epoch, settings
from graphfilter_research.paper.accuracy_table import CHOSEN
from graphfilter_research.paper.collect import read_json_lines
from graphfilter_research.paper.published import (
    DATASET_TITLES,
    LITERATURE_2,
    LITERATURE_3,
    LOW,
    MIDDLE_AND_HIGH,
    ROW_TITLES,
    TABLE_4,
)
from graphfilter_research.paper.tables import compare_chosen, compare_runs, select


def mean(name: str, dataset: str, model: str, **protocol: str) -> float:
    runs = select(records(name), dataset, model, **protocol)
    assert runs
    return 100 * float(np.mean([r.scores["test"]["accuracy"] for r in runs]))


def printed(dataset: str) -> float:
    value = settings.printed(dataset)
    assert value is not None
    return value.mean


def chosen(dataset: str, model: str) -> float:
    return compare_chosen(records("table2", "table3"), dataset, model, scalings=CHOSEN).mean


def test_text_says_what_dropout_does() -> None:
    def change(dataset: str) -> str:
        before = mean("settings", dataset, "sgf", scaling="none")
        after = mean("settings", dataset, "sgf@dropout=0.5", scaling="none")
        return f"from {before:.1f} to {after:.1f}"

    # 89.949 is written as 89.9.
    assert says(f"Pubmed goes {change('pubmed')} (printed {printed('pubmed'):.1f})")
    assert says(f"Photo {change('photo_lcc')} ({printed('photo_lcc'):.1f})")
    assert says(f"Computers {change('computers_lcc')} ({printed('computers_lcc'):.1f})")
    accuracy = mean("settings", "chameleon", "sgf@dropout=0.5", scaling="none")
    loss = mean("settings", "chameleon", "sgf@dropout=0.5@monitor=loss", scaling="none")
    assert says(f"brings Chameleon from {accuracy:.1f} down to {loss:.1f}")


def test_text_names_the_nearest_setting() -> None:
    linear = [name for name in settings.SETTINGS if name == "sgf" or name.startswith("sgf@")]
    found = {}
    for name in linear:
        for scaling in settings.BOTH:
            cells = [
                compare_runs(records("settings"), d, name, settings.printed(d), scaling=scaling)
                for d in settings.DATASETS
            ]
            found[name, scaling] = settings.distance(cells)
    assert min(found, key=found.__getitem__) == ("sgf@dropout=0.5@monitor=loss", "none")
    nearest, stated = found["sgf@dropout=0.5@monitor=loss", "none"], found[settings.PAPER]
    assert len(found) == 16
    assert says(f"of all sixteen, {nearest:.2f} points from the printed row on average")
    assert says(f"the setting the paper states is at {stated:.2f}")


def test_text_says_what_a_search_gives() -> None:
    block = settings.TARGET.build(RESULTS, settings.Options()).blocks[-1]
    default, picked, _ = ([str(c) for c in row.cells] for row in block.rows)
    at = {d: i for i, d in enumerate(settings.DATASETS)}

    def value(cells: Sequence[str], dataset: str) -> float:
        return float(cells[at[dataset]].split()[0])

    given = {d: value(picked, d) for d in settings.DATASETS}
    assert says(
        f"gives {given['cora']:.1f} on Cora (printed {printed('cora'):.1f}), "
        f"{given['citeseer']:.1f} on Citeseer ({printed('citeseer'):.1f}), "
        f"{given['pubmed']:.1f} on Pubmed ({printed('pubmed'):.1f}), "
        f"{given['photo_lcc']:.1f} on Photo ({printed('photo_lcc'):.1f}), "
        f"{given['computers_lcc']:.1f} on Computers ({printed('computers_lcc'):.1f}) and "
        f"{given['cornell_geomgcn']:.1f} on Cornell ({printed('cornell_geomgcn'):.1f})"
    )
    assert says(f"Only Wisconsin ({given['wisconsin']:.1f}, printed {printed('wisconsin'):.1f})")
    assert says(f"Chameleon ({given['chameleon']:.1f}, printed {printed('chameleon'):.1f},")
    gains = {d: given[d] - value(default, d) for d in settings.DATASETS}
    assert says(
        f"gains {gains['pubmed']:.1f} points on Pubmed, {gains['photo_lcc']:.1f} on Photo and "
        f"{gains['computers_lcc']:.1f} on Computers"
    )
    assert says(f"{gains['citeseer']:.1f} on Citeseer")


def test_text_says_how_sgf_stands_with_the_best_scaling() -> None:
    gaps = {}
    for dataset in (*LOW, *MIDDLE_AND_HIGH):
        systems = (*ROW_TITLES, "sgf-every-layer")
        best = max(chosen(dataset, system) for system in systems)
        gaps[dataset] = best - chosen(dataset, "sgf")
    worst = gaps.pop("chameleon")
    assert says(f"at most {max(gaps.values()):.1f} points behind the best system on nine of ten")
    assert says(f"and {worst:.1f} behind SGF-Cheby on Chameleon")
    low = ("pubmed", "photo_lcc", "computers_lcc")
    theirs = "{:.1f}, {:.1f} and {:.1f}".format(*(chosen(d, "gcnii") for d in low))
    own = "{:.1f}, {:.1f} and {:.1f}".format(*(chosen(d, "sgf") for d in low))
    assert says(f"({theirs} against {own})")
    web = {"Wisconsin": "wisconsin", "Cornell": "cornell_geomgcn", "Texas": "texas"}
    level = ", ".join(
        f"{title} {chosen(d, 'sgf'):.1f} and {chosen(d, 'mlp'):.1f}" for title, d in web.items()
    )
    assert says(f"({level})")


def test_text_says_how_figure_3_ends() -> None:
    ends = {
        d: (mean("fig-noise", f"{d}~0.9", "sgf"), mean("fig-noise", f"{d}~0.9", "mlp"))
        for d in ("cora", "citeseer", "pubmed", "photo_lcc")
    }
    assert says(
        "at 90 % swapped {:.1f} on Cora, MLP {:.1f}; {:.1f} on Citeseer, {:.1f}; {:.1f} on Pubmed, "
        "{:.1f}; {:.1f} on Photo, {:.1f}".format(*(x for pair in ends.values() for x in pair))
    )


def test_text_says_what_horizontal_stacking_loses() -> None:
    def at(dataset: str, depth: str, rule: str = "stratified") -> float:
        return mean("table4", dataset, f"sgf-horizontal{depth}", split_rule=rule)

    lost = at("wisconsin", "") - at("wisconsin", "-64")
    assert says(f"Wisconsin by {lost:.1f} points from 16 to 64 filters")
    lost = at("cornell_geomgcn", "", "fixed") - at("cornell_geomgcn", "-64", "fixed")
    assert says(f"Cornell by {lost:.1f} on the authors' splits (8.1)")
    above = (
        at("cornell_geomgcn", "", "fixed")
        - TABLE_4["sgf-horizontal"]["cornell_geomgcn"].accuracies[16].mean
    )
    assert says(f"from a level that is {above:.0f} points above the printed one")


def test_text_says_what_depth_gives_on_the_authors_splits() -> None:
    deep = ("sgf", "sgf-32", "sgf-64")
    means = [mean("table4", "cornell_geomgcn", name, split_rule="fixed") for name in deep]
    assert says(f"all three are at {means[0]:.1f}, four to six points below")
    printed_there = TABLE_4["sgf"]["cornell_geomgcn"].accuracies
    gaps = [cell.mean - ours for cell, ours in zip(printed_there.values(), means, strict=True)]
    assert max(means) == min(means)
    assert (round(min(gaps)), round(max(gaps))) == (4, 6)


def test_text_counts_the_large_alphas() -> None:
    def share(dataset: str) -> float:
        runs = select(records("table5"), dataset, "sgf")
        return float(np.mean([abs(a) > 1 for r in runs for a in r.filter["alpha"]]))

    assert says(
        f"of those learned on Cora {share('cora'):.0%} exceed 1, on Photo "
        f"{share('photo_lcc'):.0%}, on Cornell {share('cornell_geomgcn'):.0%}".replace("%", " %")
    )
    every = [
        (abs(a), r.dataset)
        for r in records("table5")
        if r.model == "sgf"
        for a in r.filter["alpha"]
    ]
    assert says(f"the largest is {max(every)[0]:.1f}, on Chameleon")
    assert max(every)[1] == "chameleon"


def test_text_says_how_far_proposition_3_as_printed_is_off() -> None:
    lines = read_json_lines(RESULTS, "fig-frequency")

    def estimate(dataset: str) -> float:
        mine = [
            line["estimate"]
            for line in lines
            if (line["dataset"], line["method"], line["ratio"]) == (dataset, "induced", 0.1)
        ]
        return float(np.nanmean(mine))

    assert says(f"says −{-estimate('cora'):.1f} on Cora")
    assert says(f"and {estimate('bipartite'):.1f} on Bipartite")


@cache
def searches() -> dict[str, list[appendix_search.SearchRecord]]:
    lines = read_json_lines(RESULTS, "search")
    found = [convert(appendix_search.SearchRecord, line) for line in lines]
    assert len(found) == len({(record.dataset, record.split) for record in found}) == 50
    return {d: [r for r in found if r.dataset == d] for d in (*LOW, *MIDDLE_AND_HIGH)}


def search_gains(dataset: str, part: str) -> list[float]:
    return [
        100 * (getattr(r.best, f"{part}_accuracy") - getattr(r.default, f"{part}_accuracy"))
        for r in searches()[dataset]
    ]


def test_text_says_what_the_search_of_one_split_finds() -> None:
    first = {d: next(r for r in found if r.split == 0) for d, found in searches().items()}
    gains = {d: 100 * (r.best.test_accuracy - r.default.test_accuracy) for d, r in first.items()}
    assert says(
        f"+{gains['cora']:.1f} on Cora, −{-gains['wisconsin']:.1f} on Wisconsin (two vertices) and "
        f"+{gains['chameleon']:.1f} on Chameleon"
    )


def test_text_says_what_the_search_of_five_splits_finds() -> None:
    others = [d for d in searches() if d != "bipartite"]
    looked = [float(np.mean(search_gains(d, "val"))) for d in others]
    assert says(f"the best setting gains {min(looked):.1f} to {max(looked):.1f} points")
    assert not any(search_gains("bipartite", "val"))
    gain = {d: float(np.mean(search_gains(d, "test"))) for d in others}
    p = {d: corrected_t_test(search_gains(d, "test"), 1 / 3) for d in others}
    assert max(p["pubmed"], p["computers_lcc"]) < 0.01
    assert says(
        f"{gain['pubmed']:.1f} points on Pubmed and {gain['computers_lcc']:.1f} on Computers (p "
        f"below 0.01 each), {gain['photo_lcc']:.1f} on Photo (p = {p['photo_lcc']:.2f}) and "
        f"{gain['cora']:.1f} on Cora (p = {p['cora']:.2f}, not corrected for ten datasets)"
    )
    rest = [d for d in others if d not in ("pubmed", "computers_lcc", "photo_lcc", "cora")]
    assert min(p[d] for d in rest) > 0.1
    low, high = min(gain[d] for d in rest), max(gain[d] for d in rest)
    assert says(f"elsewhere {low:.1f} to {high:.1f} that cannot be told from noise")
    settings_found = [r.best.setting for d in others for r in searches()[d]]
    less = sum(setting["dropout"] < 0.7 for setting in settings_found)
    faster = sum(setting["learning_rate"] > 0.01 for setting in settings_found)
    assert says(
        f"Of the {len(settings_found)} searches outside Bipartite {less} choose less dropout than "
        f"0.7 and {faster} a larger learning rate"
    )
    best = {d: 100 * np.mean([r.best.test_accuracy for r in searches()[d]]) for d in others}
    assert says(
        f"Pubmed {best['pubmed']:.1f} (printed {printed('pubmed'):.1f}), Photo "
        f"{best['photo_lcc']:.1f} ({printed('photo_lcc'):.1f}), Computers "
        f"{best['computers_lcc']:.1f} ({printed('computers_lcc'):.1f})"
    )


def test_text_says_where_cpu_and_gpu_end() -> None:
    here = mean("table3", "texas", "sgf", scaling="none")
    runs = [r for r in read_records(RESULTS / "systems.jsonl.gz") if r.dataset == "texas"]
    there = np.mean([100 * r.scores["test"]["accuracy"] for r in runs if r.model == "sgf"])
    assert says(f"SGF on raw Texas is {here:.1f} here (CPU) and {there:.1f} in")


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
    printed_of = {**LITERATURE_2[row], **LITERATURE_3[row]}
    start = page().index("With its last weights GAT") if row == "gat" else 0
    for name, accuracy in weights_of(system).items():
        said = re.search(
            rf"{DATASET_TITLES[name]} ([\d.]+) "
            r"\((?:printed )?([\d.]+); (?:(?:with the )?best weights )?([\d.]+)\)",
            page()[start:],
        )
        assert said is not None
        given = [float(number) for number in said.groups()]
        wanted = [accuracy["last"], printed_of[name].mean, accuracy["best"]]
        assert given == pytest.approx(wanted, abs=0.051)


def test_text_says_that_the_last_weights_do_not_explain_geom_gcn() -> None:
    found = weights_of("geom-gcn")
    apart = max(abs(each["last"] - each["best"]) for each in found.values())
    below = LITERATURE_2["geom-gcn"]["citeseer"].mean - found["citeseer"]["best"]
    assert says(f"to {apart:.1f} points; that is not why its Citeseer is {below:.1f} below")


def test_text_says_what_the_geom_gcn_splits_give() -> None:
    def value(dataset: str, model: str) -> float:
        return mean("table3", dataset, model, split_rule="fixed")

    web = ("texas", "cornell_geomgcn")
    assert says(
        f"SGF has {value(web[0], 'sgf'):.1f} on Texas (printed {printed(web[0]):.1f}) and "
        f"{value(web[1], 'sgf'):.1f} on Cornell ({printed(web[1]):.1f})"
    )
    both = [value(dataset, "sgf-every-layer") for dataset in web]
    assert says("and {:.1f} and {:.1f} with dropout on every layer".format(*both))
    for dataset in web:
        cell = compare_runs(
            records("table3"), dataset, "sgf-every-layer", settings.printed(dataset),
            split_rule="fixed",
        )  # fmt: skip
        assert cell.mark == "≈"


def test_text_says_what_sgc_needs_on_pubmed() -> None:
    runs = [r for r in read_records(RESULTS / "sgc.jsonl.gz") if r.dataset == "pubmed"]
    decay, both = (
        [r for r in runs if r.model == name]
        for name in ("sgc@weight_decay=5e-06", "sgc@learning_rate=0.2@weight_decay=5e-06")
    )
    assert len(decay) == len(both) == sum(r.cut for r in decay) == 10
    first, second = (
        100 * np.mean([r.scores["test"]["accuracy"] for r in m]) for m in (decay, both)
    )
    assert says(f"it has {first:.1f} (every run cut)")
    assert says(f"learning rate of 0.2 besides {second:.1f}")


@pytest.mark.parametrize("name", ["settings", "table5", "answers", "last-epoch", "sgc"])
def test_text_links_to_the_tables_it_quotes(name: str) -> None:
    assert f"../results/{name}.md" in page()


def test_text_leaves_no_mark_to_be_filled() -> None:
    assert not re.findall(r"@[A-Z_]+@", page())

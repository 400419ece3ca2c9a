"""The committee beside the best others on record: a table, few lines of a page, one of README."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from graphfilter.runs.comparing import corrected_t_test, mean_interval
from graphfilter.systems import get_system
from graphfilter.systems.registry import COMMITTEE
from graphfilter.util.words import listed
from graphfilter_research.bench.pair import Pair, divide_name
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import Options, known_records, pairs_of, read_target_records
from graphfilter_research.paper.settings import printed
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_accuracy,
)
from graphfilter_research.paper.target import RunTable

SYSTEM, LOW = "committee", "committee-low"
# Its forms and its members alone are no other systems.
OWN = (SYSTEM, "only-")
# With the rule of their splits: those that have their own are compared on them.
STRATIFIED = (
    "cora", "citeseer", "pubmed", "photo", "computers", "wisconsin", "cornell", "cornell_geomgcn",
    "texas", "chameleon", "squirrel", "actor", "bipartite_paper", "bipartite_sparse",
)  # fmt: skip
FIXED = ("chameleon_filtered", "squirrel_filtered", "minesweeper", "tolokers")
DATASETS = {**dict.fromkeys(STRATIFIED, "stratified"), **dict.fromkeys(FIXED, "fixed")}
# Datasets of two classes, one of them rare.
BY_AUC = ("minesweeper", "tolokers")
SCALING = "auto"
SCORES = ("Committee", "Best other system", "SGF, as printed", "Low effort")
CHECKS = (
    "Against all others on record", "Against its best single member", "Calibration error in %",
    "Worst single member's",
)  # fmt: skip
SIGNIFICANT, LEAST_RUNS, LEAST_RANKED = 0.05, 10, 3
# Where runs of other systems are on record.
ELSEWHERE = ("table2", "table3", "table5", "systems", "settings", "others", "peers")
NOTES = (
    "Ten runs each; features scaled as the data ask (auto), stratified 60/20/20 splits; on the "
    "datasets filtered, Minesweeper and Tolokers their own splits. Minesweeper and Tolokers: ROC "
    "AUC in %, by which the committee and its peers choose their epochs there; all others accuracy "
    "in %. photo and computers are the whole graphs; the paper's tables are of their largest "
    "components.",
    "chameleon and squirrel hold copies of vertices that leak labels from training to test "
    "(Platonov et al. 2023); the filtered graphs are without them.",
    "Best other: of all systems on record on the same splits (in the paper's tables, `settings`, "
    "`systems`, `others` and `peers`), the one with the best mean *test* score, which no user "
    "could choose; empty where none is on record. Another setting: one of `settings` or `peers`.",
    "Against all others: of the same systems, how many it is better than, level with and worse "
    "than, in pairs of runs on the same split (t-test corrected for overlapping splits, p < 0.05 "
    "each, not corrected for their number); those it is worse than are named. A run that is on "
    "record twice counts as it was recorded last. On the web graphs (wisconsin, cornell, texas), "
    "with 36 to 51 test vertices, such a test does not see differences of five points.",
    "Its best single member: of the best mean *test* score, by the same test. Members of small "
    "graphs are averages of up to five networks, as in the committee; other systems are single "
    "runs.",
    "On the web graphs, of up to 1,000 vertices, each network of a member holds a fifth of the "
    "training and validation vertices out and learns from the others. Other systems learn from the "
    "training vertices alone.",
    "One member is told the labels of training vertices, but the one it answers for. Of the other "
    "systems only C&S and label propagation see labels.",
    "Rank: by mean test score, 1 is best, of the systems on record on every dataset here; of two "
    "scalings of features the one with the better validation score.",
    "Low effort: `committee-low`, of the members that take least time.",
    "Without: what is lost or gained, in points, when a member is left out and the others are "
    "weighed again; the members were chosen with these datasets in view.",
)


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return [
        pair
        for dataset in datasets
        for pair in pairs_of(
            [dataset], [SYSTEM, LOW], options, scaling=SCALING, split_rule=_rule(dataset)
        )
    ]


def show(records: Sequence[Record], datasets: Sequence[str], others: Sequence[Record]) -> Rendered:
    """Show the committee beside the others on record, and what its members add."""
    records = [r for r in records if r.ok]
    datasets = [d for d in datasets if runs_of(records, d, SYSTEM)]
    members = [m for m in COMMITTEE.members if any(m.name in r.members for r in records)]
    scores, checks, lost, shares = [], [], [], []
    for dataset in datasets:
        runs, low = (runs_of(records, dataset, system) for system in (SYSTEM, LOW))
        metric = metric_of(dataset)
        ours = compare_accuracy(runs, metric=metric)
        cells = (
            ours,
            best_other(others, dataset),
            printed(dataset) or "",
            compare_accuracy(low, metric=metric) if low else "",
        )
        scores.append(Row(dataset, cells))
        held = (
            against_all(runs, others, dataset),
            against_best_member(runs, metric),
            _calibration(runs),
            _worst_calibration(runs),
        )
        checks.append(Row(dataset, held))
        lost.append(Row(dataset, tuple(without(runs, m.name, metric) for m in members)))
        shares.append(Row(dataset, tuple(_share(runs, m.name) for m in members)))
    titles = tuple(m.title for m in members)
    return Rendered(
        "The committee: one setting on every dataset",
        (
            Block("Test score", SCORES, tuple(scores), "Dataset"),
            Block("Beside all systems on record; calibration", CHECKS, tuple(checks), "Dataset"),
            *_ranked(records, others, datasets),
            Block("Without a member", titles, tuple(lost), "Dataset"),
            Block("Share of a member, in %", titles, tuple(shares), "Dataset"),
        ),
        None,
        NOTES,
    )


def best_other(records: Sequence[Record], dataset: str) -> ComparedAccuracy | str:
    """Return the cell of the other system with the best mean test score, and its name."""
    cells = [
        replace(compare_accuracy(runs, metric=metric_of(dataset)), scaling=short_title(model))
        for (model, _), runs in _others(records, dataset).items()
    ]
    return max(cells, key=lambda cell: cell.mean, default="")


def _ranked(
    records: Sequence[Record], others: Sequence[Record], datasets: Sequence[str]
) -> list[Block]:
    """Return how the systems that are on record on every dataset rank on them, the best first."""
    scores = []
    for dataset in datasets:
        runs = [r for r in runs_of(records, dataset, SYSTEM) if "test" in r.scores]
        ours = {SYSTEM: _mean_score(runs, "test")} if runs else {}
        scores.append(ours | scores_of_others(others, dataset))
    shared = [
        m
        for m in dict.fromkeys((SYSTEM, *(r.model for r in others)))
        if all(m in found for found in scores)
    ]
    if not scores or len(shared) < LEAST_RANKED:
        return []
    ranks = np.array([rankdata([-found[m] for m in shared]) for found in scores])
    rows = [
        Row(short_title(shared[i]), (f"{ranks[:, i].mean():.1f}", str((ranks[:, i] == 1).sum())))
        for i in np.argsort(ranks.mean(0), kind="stable")
    ]
    heading = f"Rank among {len(shared)} systems, {len(datasets)} datasets"
    return [Block(heading, ("Mean rank", "Times first alone"), tuple(rows), "System")]


def scores_of_others(records: Sequence[Record], dataset: str) -> dict[str, float]:
    """Return the mean test score of every other system, in the scaling validation chose."""
    found: dict[str, list[Sequence[Record]]] = {}
    for (model, _), runs in _others(records, dataset).items():
        found.setdefault(model, []).append(runs)
    return {
        model: _mean_score(max(groups, key=lambda runs: _mean_score(runs, "val")), "test")
        for model, groups in found.items()
    }


def _mean_score(runs: Sequence[Record], part: str) -> float:
    metric = metric_of(runs[0].dataset)
    return float(np.mean([r.scores[part][metric] for r in runs if part in r.scores]))


def short_title(model: str) -> str:
    """Return the title of a system, whatever its setting."""
    whole, n_seeds = divide_name(model)
    name, at, _ = whole.partition("@")
    averaged = f", {n_seeds} seeds" if n_seeds > 1 else ""
    return get_system(name).title + (", another setting" if at else "") + averaged


def verdicts(
    runs: Sequence[Record], records: Sequence[Record], dataset: str
) -> dict[tuple[str, str], str]:
    """Return whether these runs are better than, level with or worse than each other system.

    Systems go by name and scaling; they are compared split by split.
    """
    metric = metric_of(dataset)
    ours = {r.split_index: r.scores["test"][metric] for r in runs}
    ratio = _test_per_train(runs)
    found: dict[tuple[str, str], str] = {}
    for other, theirs in _others(records, dataset).items():
        gains = [
            ours[r.split_index] - r.scores["test"][metric] for r in theirs if r.split_index in ours
        ]
        if len(gains) >= LEAST_RUNS:
            found[other] = _verdict(gains, ratio)
    return found


def against_all(runs: Sequence[Record], records: Sequence[Record], dataset: str) -> str:
    """Return how many other systems are below, level with and above these runs, and which above."""
    found = verdicts(runs, records, dataset)
    counts = Counter(found.values())
    above = [short_title(model) for (model, _), word in found.items() if word == "worse"]
    named = f" ({', '.join(dict.fromkeys(above))})" if above else ""
    words = ", ".join(f"{word} {counts[word]}" for word in ("better", "level", "worse"))
    return f"{words}{named}" if found else ""


def against_best_member(runs: Sequence[Record], metric: str) -> str:
    """Return whether these runs are better than those of their best member on test vertices."""
    names = dict.fromkeys(name for r in runs for name in r.members)
    scores = {
        name: [r.members[name]["test"][metric] for r in runs if metric in r.members[name]["test"]]
        for name in names
        if all(name in r.members for r in runs)
    }
    scores = {name: found for name, found in scores.items() if len(found) == len(runs)}
    if not scores or len(runs) < LEAST_RUNS:
        return ""
    best = max(scores, key=lambda name: float(np.mean(scores[name])))
    ours = [r.scores["test"][metric] for r in runs]
    gains = np.subtract(ours, scores[best])
    titles = {m.name: m.title for m in COMMITTEE.members}
    word = _verdict(gains.tolist(), _test_per_train(runs))
    return f"{word} ({titles.get(best, best)} {100 * np.mean(scores[best]):.2f})"


def _verdict(gains: Sequence[float], ratio: float) -> str:
    if not corrected_t_test(gains, ratio) < SIGNIFICANT:
        return "level"
    return "better" if np.mean(gains) > 0 else "worse"


def _others(records: Sequence[Record], dataset: str) -> dict[tuple[str, str], list[Record]]:
    """Return the runs of each other system, by its name and scaling, where it has enough.

    A run that is on record twice, from another version of its code, counts as recorded last.
    """
    groups: dict[tuple[str, str], dict[tuple[int, int], Record]] = {}
    for record in records:
        same = (record.dataset, record.split_rule) == (dataset, _rule(dataset))
        if same and not record.model.startswith(OWN) and "test" in record.scores:
            group = groups.setdefault((record.model, record.scaling), {})
            group[record.split_index, record.seed] = record
    found = {key: list(group.values()) for key, group in groups.items()}
    return {key: runs for key, runs in found.items() if len(runs) >= LEAST_RUNS}


def without(runs: Sequence[Record], name: str, metric: str) -> str:
    """Return what leaving a member out changes, in points; empty where it was not trained."""
    changes = [
        100 * (r.members[name]["without"][metric] - r.scores["test"][metric])
        for r in runs
        if name in r.members and r.members[name]["without"]
    ]
    return f"{np.mean(changes):+.2f}" if changes else ""


def _share(runs: Sequence[Record], name: str) -> str:
    shares = [r.members[name]["share"] for r in runs if name in r.members]
    return f"{100 * np.mean(shares):.0f}" if shares else ""


def _calibration(runs: Sequence[Record]) -> str:
    """Return the mean calibration error in %, with its 95 % interval over splits that overlap."""
    errors = np.array([100 * r.scores["test"]["calibration_error"] for r in runs])
    mean, deviation = float(errors.mean()), float(errors.std())
    low, high = mean_interval(mean, deviation, len(errors), _test_per_train(runs))
    interval = "" if np.isnan(low) else f" ({max(low, 0):.1f} to {high:.1f})"
    parts = [r.scores["test"] for r in runs]
    chance = [
        100 * part["calibration_by_chance"] for part in parts if "calibration_by_chance" in part
    ]
    by_chance = f", by chance {np.mean(chance):.1f}" if len(chance) == len(runs) else ""
    return f"{errors.mean():.1f}{interval}{by_chance}"


def _test_per_train(runs: Sequence[Record]) -> float:
    sizes = [[r.scores[part]["n_vertices"] for part in ("test", "train")] for r in runs]
    return float(np.mean([n_test / n_train for n_test, n_train in sizes]))


def _worst_calibration(runs: Sequence[Record]) -> str:
    errors: dict[str, list[float]] = {}
    for record in runs:
        for name, member in record.members.items():
            errors.setdefault(name, []).append(100 * member["test"]["calibration_error"])
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    worst = max(means, key=means.__getitem__)
    titles: Mapping[str, str] = {m.name: m.title for m in COMMITTEE.members}
    return f"{means[worst]:.1f} ({titles.get(worst, worst)})"


def runs_of(records: Sequence[Record], dataset: str, system: str) -> list[Record]:
    """Return the runs of a committee on a dataset, each once."""
    wanted = (dataset, _rule(dataset), system)
    found = {r.asked: r for r in records if (r.dataset, r.split_rule, r.model) == wanted}
    return list(found.values())


def _rule(dataset: str) -> str:
    return DATASETS.get(dataset, "stratified")


def metric_of(dataset: str) -> str:
    """Return the score that a dataset is compared by."""
    return "roc_auc" if dataset in BY_AUC else "accuracy"


TARGET = RunTable(
    name="committee",
    summary="the committee on every dataset (beyond the paper)",
    datasets=tuple(DATASETS),
    quick=("cora",),
    pairs=pairs,
    show=show,
    beside=ELSEWHERE,
    is_variant=True,
)


# The columns of the table; the text counts all datasets.
SHOWN = {
    "cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "photo": "Photo",
    "computers": "Computers", "wisconsin": "Wisconsin",
    "cornell_geomgcn": "Cornell (Geom-GCN)", "texas": "Texas", "chameleon": "Chameleon",
    "squirrel": "Squirrel", "actor": "Actor",
}  # fmt: skip
FILTERED = ("chameleon_filtered", "squirrel_filtered")
# Graphs of up to 1,000 vertices: the committee learns from their validation labels too, in turns.
# Of the others only those that are given the same folds do.
FOLDS = "-folds"
FOLDED = ("wisconsin", "cornell", "cornell_geomgcn", "texas")
# Rows of systems that are on record on every dataset, beside which a reader knows where they are.
ROWS = {"sgf": "SGF, the paper's filter", "gcn": "GCN", "mlp": "MLP, without the graph"}


def summarise(folder: Path) -> str:
    """Return a table of the committee beside the best others, and what it does not say.

    Examples
    --------
    >>> from graphfilter_research.paper.committee_table import SHOWN
    >>> len(SHOWN)
    11
    """
    others, runs, ours, best, words = _compared(folder)
    known = {dataset: scores_of_others(others, dataset) for dataset in SHOWN}
    counts = sorted(len(found) for found in words.values())
    beside = [against_best_member(runs[d], metric_of(d)).split(" ")[0] for d in DATASETS]
    kept = {word: beside.count(word) for word in ("better", "level", "worse")}
    lines = [
        f"| | {' | '.join(SHOWN.values())} |",
        f"|:--|{'--:|' * len(SHOWN)}",
        _row("**Committee**", [_mean(ours[dataset]) for dataset in SHOWN]),
        _row("Best other on record", [_mean(best[dataset]) for dataset in SHOWN]),
        *(
            _row(title, [f"{100 * known[dataset][name]:.1f}" for dataset in SHOWN])
            for name, title in ROWS.items()
            if all(name in found for found in known.values())
        ),
        "",
        f"*Best other* is the best of {counts[0]} to {counts[-1]} systems and settings. "
        + _worse(words, ours, best)
        + f" {_above(ours, best)}",
        "Without the copies of vertices in Chameleon and Squirrel, which leak labels into the test "
        f"part, ({listed(_code(FILTERED))}, their own splits) the committee has "
        f"{listed([_mean(ours[d]) for d in FILTERED])}, the "
        f"best other {listed([_mean(best[d]) for d in FILTERED])}. Compared with its own best "
        f"member, picked on test, it is better on {kept['better']}, level on {kept['level']} and "
        f"worse on {kept['worse']} of the {len(DATASETS)} datasets.",
    ]
    return "\n".join(lines)


def in_one_line(folder: Path) -> tuple[str, str]:
    """Return on how many datasets the committee has the highest mean, and what else is there."""
    _, _, ours, best, words = _compared(folder)
    counts = sorted(len(found) for found in words.values())
    large = [found for dataset, found in words.items() if dataset not in FOLDED]
    worse = sum("worse" in found.values() for found in large)
    first = len(DATASETS) - len(_higher(ours, best))
    return (
        f"the highest mean on {first}, significantly below another on {worse} of {len(large)}",
        f"the best of {counts[0]} to {counts[-1]} systems and settings, per graph, picked on test",
    )


def _compared(folder: Path) -> tuple[list[Record], Any, Any, Any, Any]:
    """Return others' runs, and of each dataset: ours, their score, the best other, verdicts."""
    records = [r for r in read_target_records(folder, TARGET.name) if r.ok]
    others = list(known_records(folder, ELSEWHERE).values())
    runs = {dataset: runs_of(records, dataset, SYSTEM) for dataset in DATASETS}
    ours = {d: compare_accuracy(found, metric=metric_of(d)) for d, found in runs.items()}
    best = {dataset: best_other(others, dataset) for dataset in DATASETS}
    return others, runs, ours, best, {d: verdicts(runs[d], others, d) for d in DATASETS}


def _worse(
    words: dict[str, dict[tuple[str, str], str]],
    ours: dict[str, ComparedAccuracy],
    best: dict[str, ComparedAccuracy | str],
) -> str:
    """Say where the committee is significantly worse, and than what, where labels are equal."""
    comparable = {dataset: words[dataset] for dataset in words if dataset not in FOLDED}
    found = []
    for dataset, verdict in comparable.items():
        names = [short_title(model) for (model, _), word in verdict.items() if word == "worse"]
        if names:
            scores = f"{_mean(best[dataset])} at best, the committee {_mean(ours[dataset])}"
            found.append(f"{listed(list(dict.fromkeys(names)))} on `{dataset}` ({scores})")
    of = f"of the {len(comparable)} datasets above 1,000 vertices"
    n = len(comparable) - len(found)
    where = f"{n} {of}; better: {listed(found)}" if found else f"any {of}"
    return (
        f"Compared split by split, none of them is significantly better on {where}. On the other "
        f"{len(FOLDED)} ({listed(_code(FOLDED))}) the committee learns from validation labels too, "
        + _with_folds(words)
    )


def _with_folds(words: dict[str, dict[tuple[str, str], str]]) -> str:
    """Say how the committee stands beside those that were given the same folds."""
    turned = {"worse": "better", "better": "worse", "level": "level"}
    pairs = [(d, m, w) for d in FOLDED for (m, _), w in words[d].items() if m.endswith(FOLDS)]
    said = [(f"{short_title(m).partition(',')[0]} is {turned[w]} on ", d) for d, m, w in pairs]
    if not said:
        return "the others on record do not: no comparison of equals."
    begun = dict.fromkeys(begin for begin, _ in said)
    found = [b + listed(_code([d for other, d in said if other == b])) for b in begun]
    return f"the others only where they are given the same folds. Of these {listed(found)}."


def _above(ours: dict[str, ComparedAccuracy], best: dict[str, ComparedAccuracy | str]) -> str:
    """Name the datasets on which another system has the higher mean."""
    if not (found := _higher(ours, best)):
        return "No other has a higher mean."
    return f"Another has the higher mean on {len(found)}: {listed(_code(found))}."


def _higher(
    ours: dict[str, ComparedAccuracy], best: dict[str, ComparedAccuracy | str]
) -> list[str]:
    """Return the datasets on which another system has the higher mean."""
    return [
        dataset
        for dataset, other in best.items()
        if isinstance(other, ComparedAccuracy) and other.mean > ours[dataset].mean
    ]


def _mean(cell: ComparedAccuracy | str) -> str:
    return f"{cell.mean:.1f}" if isinstance(cell, ComparedAccuracy) else ""


def _row(title: str, cells: Sequence[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _code(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]

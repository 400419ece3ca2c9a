"""The committee in a few lines, as the README says them, from the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from graphfilter.util.words import listed
from graphfilter_research.paper.committee_table import (
    DATASETS,
    ELSEWHERE,
    SYSTEM,
    TARGET,
    against_best_member,
    best_other,
    metric_of,
    runs_of,
    scores_of_others,
    short_title,
    verdicts,
)
from graphfilter_research.paper.comparison import ComparedAccuracy, compare_accuracy
from graphfilter_research.paper.records import known_records, read_target_records

# The columns of the table; the text counts all datasets.
SHOWN = {
    "cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "photo": "Photo",
    "computers": "Computers", "wisconsin": "Wisconsin",
    "cornell_geomgcn": "Cornell (Geom-GCN)", "texas": "Texas", "chameleon": "Chameleon",
    "squirrel": "Squirrel", "actor": "Actor",
}  # fmt: skip
FILTERED = ("chameleon_filtered", "squirrel_filtered")
# Graphs of up to 1,000 vertices: the committee learns from their validation labels too, in turns.
# The others on record do not, so that a comparison of scores is none of methods.
FOLDED = ("wisconsin", "cornell", "cornell_geomgcn", "texas")
# Rows of systems that are on record on every dataset, beside which a reader knows where they are.
ROWS = {"sgf": "SGF, the paper's filter", "gcn": "GCN", "mlp": "MLP, without the graph"}


def summarise(folder: Path) -> str:
    """Return a table of the committee beside the best others, and what it does not say.

    Examples
    --------
    >>> from graphfilter_research.paper.committee_summary import SHOWN
    >>> len(SHOWN)
    11
    """
    records = [r for r in read_target_records(folder, TARGET.name) if r.ok]
    others = list(known_records(folder, ELSEWHERE).values())
    runs = {dataset: runs_of(records, dataset, SYSTEM) for dataset in DATASETS}
    ours = {d: compare_accuracy(found, metric=metric_of(d)) for d, found in runs.items()}
    best = {dataset: best_other(others, dataset) for dataset in DATASETS}
    words = {dataset: verdicts(runs[dataset], others, dataset) for dataset in DATASETS}
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
    n = len(comparable)
    where = f"{n - len(found)} of" if found else "any of"
    better = f"; better: {listed(found)}" if found else ""
    return (
        "Compared split by split, none of them is significantly better on "
        f"{where} the {n} datasets above 1,000 vertices{better}. On the other {len(FOLDED)} "
        f"({listed(_code(FOLDED))}) the committee learns from validation labels too, the others on "
        "record do not: no comparison of equals."
    )


def _above(ours: dict[str, ComparedAccuracy], best: dict[str, ComparedAccuracy | str]) -> str:
    """Name the datasets on which another system has the higher mean."""
    found = [
        f"`{dataset}`"
        for dataset, other in best.items()
        if isinstance(other, ComparedAccuracy) and other.mean > ours[dataset].mean
    ]
    if not found:
        return "No other has a higher mean."
    return f"Another has the higher mean on {len(found)}: {listed(found)}."


def _mean(cell: ComparedAccuracy | str) -> str:
    return f"{cell.mean:.1f}" if isinstance(cell, ComparedAccuracy) else ""


def _row(title: str, cells: Sequence[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _code(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]

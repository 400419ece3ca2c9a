"""The page of what was reproduced: every target on record, next to the paper's values."""

from __future__ import annotations

import base64
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from graphfilter.report.html import render_page, write_page
from graphfilter.runs.comparing import mean_interval
from graphfilter.systems import get_system
from graphfilter.util.errors import DataFileError, GraphFilterError
from graphfilter.util.words import count
from graphfilter_research.bench.benchmark_page import TEMPLATES, TimeTable, made_with, time_table
from graphfilter_research.bench.learned_filters import LearnedFilter, learned_filters
from graphfilter_research.bench.ranking import Axis, listed
from graphfilter_research.bench.record import Record
from graphfilter_research.lines import find_lines
from graphfilter_research.paper.collect import Options, read_json_lines, read_target_records
from graphfilter_research.paper.published import LITERATURE_TITLES, N_RUNS
from graphfilter_research.paper.tables import NOISE, VERDICTS, Block, ComparedAccuracy, Rendered
from graphfilter_research.paper.target import Target
from graphfilter_research.paper.targets import TARGETS

QUICK_WARNING = (
    "A quick look: a few runs of a few epochs. It shows that everything works; its differences to "
    "the paper mean nothing."
)


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of a target on one kind of splits with one scaling of the features."""

    title: str
    filters: dict[str, list[LearnedFilter]]
    times: TimeTable


@dataclass(frozen=True, eq=False)
class Shown:
    """A target on the page; ``problem`` says why one on record could not be drawn."""

    name: str
    title: str
    quick: bool
    command: str
    rendered: Rendered | None = None
    figure: str = ""
    groups: list[Group] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    n_records: int = 0
    problem: str = ""


def write_reproduction(
    path: str | PathLike[str],
    folder: str | PathLike[str],
    built: Mapping[str, Rendered] | None = None,
) -> None:
    """Write the page of every target on record in a folder, atomically.

    ``built`` are those that were made from it already, by the name of their records.
    """
    write_page(path, render_reproduction(folder, built))


def render_reproduction(
    folder: str | PathLike[str], built: Mapping[str, Rendered] | None = None
) -> str:
    """Return the page of every target on record in a folder."""
    shown = [
        _show(target, Path(folder), options, built or {})
        for target in TARGETS.values()
        for options in (Options(), Options(quick=True))
        if (target.has_quick or not options.quick) and target.is_on_record(Path(folder), options)
    ]
    full = [target.rendered for target in shown if target.rendered and not target.quick]
    return render_page(
        "reproduction.html.j2",
        folder=TEMPLATES,
        shown=shown,
        size=count(len(shown), "table or figure", "tables and figures"),
        headline=headline(full) if full or not shown else QUICK_WARNING,
        own_system=own_system(full),
        quick_warning=QUICK_WARNING,
        noise=NOISE,
        verdicts=VERDICTS,
        panels=panels,
        is_compared=lambda cell: isinstance(cell, ComparedAccuracy),
    )


def headline(rendered: Iterable[Rendered]) -> str:
    """Return how many of the printed accuracies came out as printed.

    Every printed number counts once, in the first block that measures it: the paper's own
    setting comes before all others.
    """
    held = [cell for _, _, cell in first_comparisons(rendered)]
    if not held:
        return "Nothing on record here is compared with a printed accuracy."
    n = {mark: sum(cell.mark == mark for cell in held) for mark in VERDICTS}
    return (
        f"Of {count(len(held), 'printed accuracy', 'printed accuracies')} measured again, "
        f"{n['≈']} came out within noise of the paper, {n['▲']} above it and {n['▼']} below."
    )


def own_system(rendered: Iterable[Rendered]) -> str:
    """Return where SGF, the paper's system, came out as printed, in words; empty if not run."""
    title = get_system("sgf").title
    places: dict[str, list[str]] = {mark: [] for mark in VERDICTS}
    for row, column, cell in first_comparisons(rendered):
        if row == title:
            places[cell.mark].append(column)
    verdicts = [
        f"{VERDICTS[mark]} on {listed(list(dict.fromkeys(names)), most=10)}"
        for mark, names in places.items()
        if names
    ]
    return f"{title}, the paper's own system, is {'; '.join(verdicts)}." if verdicts else ""


def first_comparisons(rendered: Iterable[Rendered]) -> list[tuple[str, str, ComparedAccuracy]]:
    """List each printed accuracy once, as (row, column, comparison) of where it comes first."""
    seen: set[int] = set()
    found = []
    for block in (block for target in rendered for block in target.blocks):
        for row in block.rows:
            for column, cell in zip(block.columns, row.cells, strict=True):
                # Two rows may print equal numbers: what is the same printed one is the object.
                if (
                    isinstance(cell, ComparedAccuracy)
                    and cell.mark
                    and id(cell.published) not in seen
                ):
                    seen.add(id(cell.published))
                    found.append((row.label, column, cell))
    return found


@dataclass(frozen=True)
class Dot:
    """A system in a picture: ours with its interval, and the paper's in % (NaN where none)."""

    title: str
    cell: ComparedAccuracy
    low: float
    high: float
    paper: float


def panels(block: Block) -> list[tuple[str, Axis, list[Dot]]]:
    """Return one picture per column of a block that has printed accuracies."""
    made = []
    for j, column in enumerate(block.columns):
        dots = [
            _dot(row.label, cell)
            for row in block.rows
            if isinstance(cell := row.cells[j], ComparedAccuracy) and cell.n
        ]
        if any(math.isfinite(dot.paper) for dot in dots):
            values = [x for d in dots for x in (d.low, d.cell.mean, d.high, d.paper)]
            made.append((column, Axis.around(values), dots))
    return made


def _dot(title: str, cell: ComparedAccuracy) -> Dot:
    paper = math.nan if cell.published is None else cell.published.mean
    low, high = mean_interval(cell.mean, cell.deviation, cell.n)
    return Dot(title, cell, 0.0 if low < 0 else low, 100.0 if high > 100 else high, paper)


def _show(target: Target, folder: Path, options: Options, built: Mapping[str, Rendered]) -> Shown:
    name = target.records(options)
    try:
        lines = read_json_lines(folder, name) if find_lines(folder, name) else []
        records = _records(folder, name) if lines else []
        rendered = built.get(name) or target.render(folder, options)
    except GraphFilterError as error:
        command = _command(target, options, [])
        return Shown(name, target.summary, options.quick, command, problem=str(error))
    command = _command(target, options, records)
    return Shown(
        name,
        rendered.title,
        options.quick,
        command,
        rendered,
        base64.b64encode(rendered.picture).decode(),
        # A figure of its own shows what a target is about; the others show their filters.
        _groups(records) if rendered.figure is None else [],
        made_with(lines),
        len(lines),
    )


def _records(folder: Path, name: str) -> list[Record]:
    """Return a target's benchmark records; none where its lines are of another kind."""
    try:
        return read_target_records(folder, name)
    except DataFileError:
        return []


def _groups(records: Sequence[Record]) -> list[Group]:
    kinds = dict.fromkeys((record.split_rule, record.scaling) for record in records)
    groups = []
    for rule, scaling in kinds:
        mine = [r for r in records if (r.split_rule, r.scaling) == (rule, scaling)]
        title = f"splits {rule}, features {scaling}"
        groups.append(Group(title, learned_filters(mine), time_table(mine)))
    return groups


def _command(target: Target, options: Options, records: Sequence[Record]) -> str:
    words = ["graphfilter", "reproduce", target.name, "--out", "results"]
    words += ["--quick"] if options.quick else []
    runs = max((record.seed + 1 for record in records), default=N_RUNS)
    words += ["--runs", str(runs)] if runs != N_RUNS and not options.quick else []
    words += ["--literature"] if any(r.model in LITERATURE_TITLES for r in records) else []
    return shlex.join(words)

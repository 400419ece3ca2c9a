"""What fit --dry-run prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfilter.cli.progress import duration
from graphfilter.cli.screen import say, show_table, waiting

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.dry_run import DryRun
    from graphfilter.runs.plan import Plan

_PARTS = {
    "program": "program and libraries",
    "structure": "structure of the graph",
    "features": "features, raw and as model inputs",
    "hidden": "hidden columns",
    "gradients": "gradients",
    "optimizer": "weights and optimizer",
    "answers": "predictions, after training",
}


def show_dry_run(
    found: DryRun,
    plan: Plan,
    estimator: VertexEstimator,
    *,
    baselines: bool = True,
    quiet: bool = False,
) -> None:
    """Print sizes, memory by part, disk, time, and whether it fits."""
    from graphfilter.runs.dry_run import time_fit
    from graphfilter.util.words import say_bytes

    graph, cost = plan.graph, found.cost
    largest = max(cost.members, key=lambda member: member[1].peak, default=None)
    of = "" if largest is None else f": largest member, {largest[0]!r}"
    rows = [[_PARTS[part], say_bytes(size)] for part, size in cost.memory.parts().items()]
    rows.append(["at the peak", say_bytes(cost.memory.peak)])
    what = f"{graph.n_classes} classes"
    if not plan.target.task.one_class:
        what = f"predicting {', '.join(plan.names[:3])}"
    title = (
        f"{graph.name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges, "
        f"{graph.n_features:,} features, {what}"
    )
    show_table([f"{cost.system.title}{of}", "memory"], rows, title=title)
    for name, memory in cost.members:
        say(f"Peak memory of {name}: {say_bytes(memory.peak)}.")
    width = cost.system.settings().get("hidden_size")
    if width and 0 < cost.at_once < width:
        say(f"Hidden columns are computed {cost.at_once} at a time, as memory is short.")
    say(f"Disk: about {say_bytes(found.disk)} for the run folder.")
    if cost.kept:
        hop_size = say_bytes(cost.kept)
        say(f"The store keeps {hop_size} of hops, and needs twice as much while they are computed.")
    if found.fits:
        with waiting("timing an epoch on a smaller graph", quiet=quiet):
            times = time_fit(plan, estimator, baselines=baselines)
        say(
            f"An epoch takes about {_seconds(times.epoch)}; there are at most "
            f"{found.max_epochs:,}, mostly fewer."
        )
        what = "baselines included" if baselines else "without baselines"
        say(
            f"The whole fit, {what}, takes from about {_seconds(times.least)}, if training stops "
            f"early, to {_seconds(times.most)}, if all epochs are trained."
        )
    fits = "It fits" if found.fits else "It does not fit"
    say(f"{fits}: there are {say_bytes(found.available)} of memory.")


def _seconds(seconds: float) -> str:
    return duration(seconds) if seconds >= 1 else f"{seconds:.2g} s"

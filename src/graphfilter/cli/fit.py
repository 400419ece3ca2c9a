"""graphfilter fit: learn from the labelled vertices of a graph, label the rest."""

from __future__ import annotations

import typer

from graphfilter.cli.fit_model import RunOptions, TrainingOptions, restarted
from graphfilter.cli.fit_start import read_start
from graphfilter.cli.options import given_words, takes
from graphfilter.cli.target_options import TargetOptions
from graphfilter.cli.together import join_processes
from graphfilter.errors import ConfigError


@takes(TargetOptions, TrainingOptions, RunOptions)
def fit(
    given: TargetOptions, how: TrainingOptions, run: RunOptions, context: typer.Context
) -> None:
    """Learn from the labelled vertices of a graph, label the others, show the filter.

    The table of vertices has one row per vertex: an id, features, and a label where it is known.
    The table of edges has one row per edge: two ids and, optionally, a weight. The type of each
    column (numbers, dates, categories, text) is detected, and missing values are filled in. A
    column named split may hold train, val or test; otherwise the labelled vertices are split
    60/20/20 at random.

    Example:  graphfilter fit --edges edges.csv --vertices vertices.csv --label kind --out run
    """
    given.check_target()
    words = set(given_words(context))
    how.check(words, of_values=given.of_values)
    if how.scale is not None and not given.number:
        raise ConfigError("--scale applies to --number only; leave it out.")
    out = run.out
    if out is None and not run.dry_run:
        raise ConfigError("fit needs a folder for the results: --out FOLDER.")
    if how.start_from is not None and out is not None and how.start_from.resolve() == out.resolve():
        raise ConfigError(
            f"--out must be another folder than that of --start-from; got {out} for both. "
            "The fit could not be repeated once its run to start from is replaced."
        )
    group = join_processes()
    start = None if how.start_from is None else read_start(how.start_from, given)
    found = given.read() if start is None else start.read(given)
    from graphfilter.cli.fit_run import run_fit
    from graphfilter.fits import plan_fit

    estimator = how.estimator(numbers=bool(given.number))
    if start is not None:
        estimator = restarted(start.estimator, estimator, words)
    target = given.read_target() if given.of_values else None
    earlier = None if start is None else start.earlier
    plan = plan_fit(found, how.seed, given.split_rule(), target, earlier)
    baselines = how.baselines and how.seconds is None
    run_fit(plan, estimator, given, run, baselines=baselines, group=group)

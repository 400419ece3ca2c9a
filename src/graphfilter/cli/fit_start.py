"""fit --start-from: an earlier run, and the graph read as its graph was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.cli.target_options import TargetOptions
    from graphfilter.estimators.starting import Earlier
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.loading import RunDescription
    from graphfilter.runs.plan import Source
    from graphfilter.tables.encoder import TableEncoder

# What the columns of a table are is settled by the run.
_COLUMNS = ("features", "categorical", "drop", "kinds", "vertex_kind")


@dataclass(frozen=True, eq=False)
class RunToStart:
    """A run to start from."""

    estimator: VertexEstimator
    earlier: Earlier
    about: RunDescription
    encoder: TableEncoder | None

    def read(self, given: TargetOptions) -> Source:
        """Read the graph that is named, its columns as those of the run."""
        if (self.encoder is None) != (given.vertices is None) and given.graph is None:
            what = "no tables" if self.encoder is None else "tables"
            raise ConfigError(
                f"{self.earlier.name}: the run was fitted on {what}; start from it on a graph of "
                "the same source, or fit without --start-from."
            )
        asked, settled = given.columns(), self.about.columns
        for name in _COLUMNS:
            own = getattr(asked, name)
            if own and own != getattr(settled, name, None):
                word = {"kinds": "column"}.get(name, name.replace("_", "-"))
                raise ConfigError(
                    f"--{word} must be as in the run to start from, whose columns are used. Leave "
                    "it out, or fit without --start-from."
                )
        found = given.read(encoder=self.encoder, like=settled)
        return replace(found, words=(*found.words, "--start-from", self.earlier.name))


def read_start(run: Path, given: TargetOptions) -> RunToStart:
    """Read the run to start from; options that would draw other splits are refused."""
    from graphfilter.runs.loading import read_earlier

    if given.repeats > 1:
        raise ConfigError(
            "--repeats trains on other splits, whose test vertices the run may have been trained "
            "on; leave it out with --start-from."
        )
    earlier, about, encoder = read_earlier(run)
    return RunToStart(cast("VertexEstimator", earlier.estimator), earlier, about, encoder)

"""How a run was made: the part of ``config.json`` that does not describe the model."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Any

from graphfilter.data import Columns
from graphfilter.fits import Fit
from graphfilter.metrics import Decision


@dataclass(frozen=True)
class RunDescription:
    """What a run was made from, so that it can be repeated and its tables read the same way.

    Attributes
    ----------
    command : str
        The command line that repeats it; empty where there was none.
    origin : dict
        The files, or the dataset.
    data_checksum : str
        Of the graph as it was fitted.
    encoder : dict or None
        Of the vertex table, as :meth:`TableEncoder.to_dict` gives it.
    columns : Columns or None
        Which columns of the tables are what, where the user said so.
    vertex_features : bool
        False where each vertex was its own feature for want of others.
    stopped : list of str
        Why each member stopped training.
    decision : Decision or None
        When the positive of two classes is answered; None where the more probable one is.
    coverage : float or None
        Of the sets or intervals that were asked for.
    graph_sha256 : str
        Of the file of the graph; empty where the graph is not kept.
    reference_sha256 : str
        Of what later graphs are compared with; empty where there is none.
    start_from : dict
        The folder of the run whose weights were begun with, and the checksum of its model; empty
        of a fresh fit.
    """

    command: str = ""
    seed: int = 0
    origin: dict[str, Any] = field(default_factory=dict)
    data_checksum: str = ""
    split_rule: str = ""
    encoder: dict[str, Any] | None = None
    columns: Columns | None = None
    vertex_features: bool = True
    python: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    decision: Decision | None = None
    coverage: float | None = None
    graph_sha256: str = ""
    reference_sha256: str = ""
    start_from: dict[str, str] = field(default_factory=dict)


def describe_run(
    fit: Fit, *, command: str, graph_sha256: str = "", reference_sha256: str = ""
) -> RunDescription:
    """Describe the run that is being made, on this machine."""
    plan, earlier = fit.plan, fit.plan.earlier
    encoder = plan.source.encoder
    return RunDescription(
        command=command,
        seed=plan.seed,
        origin=dict(plan.source.origin),
        data_checksum=plan.graph.checksum(),
        split_rule=plan.split.rule,
        encoder=None if encoder is None else encoder.to_dict(),
        columns=plan.source.columns,
        vertex_features=plan.has_features,
        python=platform.python_version(),
        libraries=_library_versions(),
        stopped=[result.stopped for result in fit.estimator.results_],
        decision=fit.asked,
        coverage=fit.coverage,
        graph_sha256=graph_sha256,
        reference_sha256=reference_sha256,
        start_from={}
        if earlier is None
        else {"run": earlier.name, "model_sha256": earlier.checksum},
    )


def _library_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")}

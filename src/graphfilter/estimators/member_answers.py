"""The outputs of an estimator's members for a graph, combined for some vertices at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.conformal import sets_at
from graphfilter.estimators.members import FittedMember, combine, unseen
from graphfilter.estimators.promises import Folded, check_promise, fold_outputs
from graphfilter.estimators.state import EstimatorState
from graphfilter.systems import Prepared
from graphfilter.systems.networks import predict_into
from graphfilter.training import TargetScale
from graphfilter.util.errors import GraphFilterError
from graphfilter.util.records import RowsFile

Array = NDArray[np.float64]
Rows = slice | NDArray[np.int64]

ALL = slice(None)
# What members say is kept in memory up to this many bytes.
IN_MEMORY = 1 << 26


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """The members' outputs for every vertex, in memory or on disk, and how they are combined.

    Attributes
    ----------
    estimator : EstimatorState
    graph : Graph
    members : sequence of FittedMember
    by_member : sequence of (n, C)
        What each says.
    shares : array (n,) or None
        How much is known of each vertex, where the graph is partly known.
    held : array (n,) or None
        The fold that each vertex was held out in, where some were.
    """

    estimator: EstimatorState
    graph: Graph
    members: Sequence[FittedMember]
    by_member: Sequence[Any]
    shares: Array | None
    held: NDArray[np.int8] | None = None

    @classmethod
    def of(
        cls,
        estimator: EstimatorState,
        prepared: Prepared,
        members: Sequence[FittedMember],
        held: NDArray[np.int8] | None,
        folder: Path | None = None,
    ) -> MemberAnswers:
        """Ask every member; where a folder is given, what is large is written to files in it."""
        n, width = prepared.graph.n_vertices, len(estimator.target_names_)
        large = folder is not None and 8 * n * width * len(members) > IN_MEMORY
        by_member: list[Any] = []
        for i, member in enumerate(members):
            if folder is None or not large:
                by_member.append(member.answer(prepared))
                continue
            rows = RowsFile(folder / f"member{i}")
            network = member.network_on(prepared.device)
            predict_into(prepared, member.system, network, rows.append, folder)
            by_member.append(rows)
        return cls(estimator, prepared.graph, members, by_member, prepared.shares, held)

    def outputs(self, rows: Rows = ALL) -> Array:
        """Return their combined outputs (m, C), in the units of y."""
        return _put_together(self.estimator, self.members, self._of(rows), self._shares(rows))

    def folds(self, rows: Rows = ALL) -> Folded:
        """Return the outputs of each fold, and how hard vertices are."""
        degrees = np.diff(self.graph.indptr)[rows]
        return fold_outputs(
            self._of(rows), self.members, self.estimator.task_, degrees, self._shares(rows)
        )

    def sets(self, rows: Rows, coverage: float) -> NDArray[np.bool_]:
        """Return which classes or labels are in the set of each vertex (m, C)."""
        promise = check_promise(self.estimator.promise_)
        if promise.is_diffused:
            p_values = self._diffused[rows]
        else:
            p_values = promise.p_values(self.folds(rows)[0], self.graph, rows)
        several = not self.estimator.task_.one_class
        return sets_at(p_values, self.outputs(rows), coverage, several=several)

    def intervals(self, rows: Rows, coverage: float) -> Array:
        """Return the ends (m, T, 2) of the interval of each number."""
        found = check_promise(self.estimator.promise_).bounds(*self.folds(rows), coverage)
        scaled = zip(self.estimator.target_scales_, np.moveaxis(found, 1, 0), strict=True)
        return np.stack([scale.undo_bounds(t) for scale, t in scaled], axis=1)

    @cached_property
    def _diffused(self) -> Array:
        """P-values of all vertices (n, C): the scores of neighbours count, wherever they are."""
        promise = check_promise(self.estimator.promise_)
        return promise.p_values(self.folds()[0], self.graph)

    def _of(self, rows: Rows) -> list[Array]:
        held = None if self.held is None else self.held[rows]
        return unseen([rows_of[rows] for rows_of in self.by_member], self.members, held)

    def _shares(self, rows: Rows) -> Array | None:
        return None if self.shares is None else self.shares[rows]


def outputs_of(
    estimator: EstimatorState,
    prepared: Prepared,
    members: Sequence[FittedMember],
    held: NDArray[np.int8] | None,
    rows: NDArray[np.int64],
) -> Array:
    """Return the combined outputs of members for a few vertices (m, C), in the units of y.

    Models whose answer depends on one row alone do not read those of the others.
    """
    answers = [member.answer(prepared, rows) for member in members]
    outputs = unseen(answers, members, None if held is None else held[rows])
    shares = None if prepared.shares is None else prepared.shares[rows]
    return _put_together(estimator, members, outputs, shares)


def _put_together(
    estimator: EstimatorState,
    members: Sequence[FittedMember],
    outputs: Sequence[Array],
    shares: Array | None,
) -> Array:
    combined = combine(outputs, members, estimator.task_, shares)
    found = in_units(combined, estimator.target_scales_)
    if not np.isfinite(found).all():
        raise GraphFilterError(
            "the model's answers must be finite; for these features they are not. Scale the "
            "features, or fit again with lower learning rates."
        )
    return found


def in_units(outputs: Array, scales: Sequence[TargetScale]) -> Array:
    """Return outputs (n, C) in the units of y; probabilities are as they are."""
    if not scales:
        return outputs
    columns = [scale.undo(t) for scale, t in zip(scales, outputs.T, strict=True)]
    return np.column_stack(columns)

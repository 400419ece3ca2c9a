"""AskedEstimator: what a fitted estimator says of a graph, and which of its vertices it knows."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from graphfilter.data.graph import Graph
from graphfilter.data.structure import links_checksum
from graphfilter.estimators.inputs import take_target
from graphfilter.estimators.member_answers import MemberAnswers, in_units, outputs_of
from graphfilter.estimators.members import FittedMember
from graphfilter.estimators.promises import Folded
from graphfilter.estimators.recognition import (
    MANY_CHANGED,
    NO_IDS,
    describe_changed,
    describe_known,
    named,
)
from graphfilter.estimators.state import EstimatorState
from graphfilter.models.views import Known
from graphfilter.splits import NO_FOLD
from graphfilter.systems import Prepared
from graphfilter.util.errors import ChangedVerticesWarning, GraphError
from graphfilter.util.machine import pick_device

# The id of every vertex.
Ids = Sequence[Any] | None


class AskedEstimator(EstimatorState):
    """Answers of a fitted estimator, of the graph it was fitted on or of another one."""

    def in_units(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return outputs (n, C) in the units of y; probabilities are as they are."""
        return in_units(outputs, self.target_scales_)

    def folds_of(
        self, X: Any, graph: Any
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], Graph, Any]:
        """Return the outputs of each fold, how hard vertices are, their graph and which rows."""
        check_is_fitted(self)
        target, rows = take_target(self, X, graph)
        held: Folded | None = getattr(self, "folded_", None)
        if held is None or target is not self.graph_:
            held = self.ask(target).folds()
        outputs, hardness = held
        return outputs, hardness, target, rows

    def answers(
        self,
        X: Any = None,
        graph: Any = None,
        vertices: Any = None,
        *,
        vertex_ids: Ids = None,
        only: NDArray[np.int64] | None = None,
        known: Known | None = None,
    ) -> NDArray[np.float64]:
        """Return the task's outputs (n, C) of all members combined, in the units of y.

        Of the fitted graph it is what training ended with.

        Parameters
        ----------
        X, graph, vertices, vertex_ids
            As in :meth:`graphfilter.SGFClassifier.predict_proba`.
        only : int array, optional
            The vertices to answer for; models whose answers depend on one row save the others.
        known : Known, optional
            Which vertices of the graph were there in the fit; found by their ids otherwise.
        """
        check_is_fitted(self)
        target, rows = take_target(self, X, graph, vertices)
        target = named(target, vertex_ids)
        held: NDArray[np.float64] | None = getattr(self, "outputs_", None)
        if only is not None:
            rows = only if rows is None else rows[only]
        if held is not None and target is self.graph_:
            return held.copy() if rows is None else held[rows]
        if only is not None and rows is not None:
            prepared = self.prepare(target, known)
            members = self.members_of(prepared)
            return outputs_of(self, prepared, members, self.held_in(prepared), rows)
        return self.ask(target).outputs(slice(None) if rows is None else rows)

    def ask(self, target: Graph, folder: Path | None = None) -> MemberAnswers:
        """Ask the members about a graph; large answers go to files, where a folder is given."""
        prepared = self.prepare(target)
        members, held = self.members_of(prepared), self.held_in(prepared)
        return MemberAnswers.of(self, prepared, members, held, folder)

    def members_of(self, prepared: Prepared) -> list[FittedMember]:
        """Return the members that answer for a graph, with their weights.

        As fitted, whatever ``set_params`` has changed since. On another graph than the fitted one
        those that know its vertices fall away, and the others have weights of their own; where the
        graph shares vertices with the fitted one all are used, each vertex with weights by what is
        known of it (:meth:`~graphfilter.estimators.members.FittedMember.at`).
        """
        target = prepared.graph
        if self.system_.keeps_graph and target.checksum() != self.graph_.checksum():
            raise GraphError(
                "this network is bound to the graph it was fitted on and cannot predict another "
                "one."
            )
        if prepared.known is not None:
            grown = (m for m in self.fitted_members_ if m.growing is not None and m.growing.any())
            return [dataclasses.replace(member, folds=None) for member in grown]
        here = self._is_fitted_graph(target)
        members = self.fitted_members_ if here else [m.elsewhere() for m in self.fitted_members_]
        used = [member for member in members if member.weight > 0]
        if not used:
            raise GraphError(
                "every member of this model is bound to the vertices of the graph it was fitted "
                "on; it cannot predict another graph."
            )
        return used

    def held_in(self, prepared: Prepared) -> NDArray[np.int8] | None:
        """Return the fold that each vertex was held out in by the fit; None where that is nothing.

        As fitted vertices are known again: by their place in the same graph, or by their ids.
        """
        if self.held_ is None:
            return None
        if prepared.known is not None:
            numbers = prepared.known.numbers
            return np.where(numbers >= 0, self.held_[numbers], NO_FOLD).astype(np.int8)
        same = len(self.held_) == prepared.graph.n_vertices
        return self.held_ if same and self._is_fitted_graph(prepared.graph) else None

    def prepare(self, target: Graph, known: Known | None = None) -> Prepared:
        """Return a graph ready for prediction; the fitted one has been made ready by ``fit``.

        ``known`` are the vertices that were there in the fit; found by their ids unless given.
        """
        device = pick_device(self.device)
        held: Prepared | None = getattr(self, "prepared_", None)
        if held is not None and target is self.graph_ and held.device == device:
            return held
        if known is None:
            known = self.recognise(target)
            if known is not None and (changed := self._changed(target, known)):
                warnings.warn(changed, ChangedVerticesWarning, stacklevel=3)
        return Prepared.of(
            target, scaling=self.scaler_, device=device, task=self.task_, known=known
        )

    def recognise(self, target: Graph) -> Known | None:
        """Return which vertices of a graph were there in the fit, by their ids.

        None where it is the fitted graph itself, where it shares no id with it, and where the model
        has no use for ids or has forgotten them.
        """
        if self.known_ is None or self._is_fitted_graph(target):
            return None
        return self.known_.recognise(target)

    def forget_ids(self) -> None:
        """Leave the ids of the fitted vertices out of the model: every other graph is then new."""
        check_is_fitted(self)
        self.known_ = None

    def describe_recognised(self, target: Graph) -> list[str]:
        """Say which vertices of a graph are known, and how many have changed; nothing otherwise.

        Nothing of the fitted graph itself, and of a model that has no use for ids.
        """
        if self._is_fitted_graph(target):
            return []
        if self.known_ is None:
            return [NO_IDS] if any(m.knows_vertices for m in self.fitted_members_) else []
        known = self.known_.recognise(target)
        changed = "" if known is None else self._changed(target, known)
        return [describe_known(known), *([f"{changed[0].upper()}{changed[1:]}"] if changed else [])]

    def _changed(self, target: Graph, known: Known) -> str:
        """Return what is to be said of known vertices whose features have changed, if so."""
        assert self.known_ is not None
        n_known = int(known.is_known.sum())
        n_changed = self.known_.n_changed(target, known, self.scaler_)
        many = n_changed >= max(1, MANY_CHANGED * n_known)
        return describe_changed(n_changed, n_known) if many else ""

    def _is_fitted_graph(self, target: Graph) -> bool:
        return self.links_checksum_ in ("", links_checksum(target))

"""VertexEstimator: what every estimator here does, whatever it learns and whatever its network."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.data.structure import links_checksum
from graphfilter.estimators.inputs import draw_seed, take_split, take_training
from graphfilter.estimators.learning import LearningEstimator, Trained
from graphfilter.estimators.member_answers import MemberAnswers
from graphfilter.estimators.members import FittedMember, describe_held, fitted_members
from graphfilter.estimators.promises import make_promise
from graphfilter.estimators.recognition import KnownVertices
from graphfilter.estimators.starting import Earlier
from graphfilter.estimators.targets import Target
from graphfilter.splits import Split, set_aside, stratified
from graphfilter.systems import Prepared
from graphfilter.systems.committee import Committee
from graphfilter.systems.networks import Start
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.training import Callback
from graphfilter.training.callbacks import SILENT, LoggedProgress, callback_from
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.machine import pick_device


class VertexEstimator(LearningEstimator):
    """Fit, predict, save and load on the vertices of a graph.

    A subclass annotates its parameters (:func:`~graphfilter.estimators.state.parameters`),
    implements ``build_system``, which turns them into a system, and ``read_target``, which reads y.
    Parameters that are left open (None, or 'auto') are settled by :meth:`choose` when it is known
    what is to be learned, and are then in ``chosen_``.
    """

    # scikit-learn's metadata routing passes ``vertices`` without being asked to.
    __metadata_request__fit: ClassVar = {"vertices": True}
    __metadata_request__predict: ClassVar = {"vertices": True}
    __metadata_request__predict_proba: ClassVar = {"vertices": True}
    __metadata_request__transform: ClassVar = {"vertices": True}
    __metadata_request__score: ClassVar = {"vertices": True}

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        graph: Any = None,
        *,
        split: Split | tuple[Any, Any, Any] | None = None,
        vertices: Any = None,
        callback: Callback | None = None,
        start_from: Any = None,
        **others: Any,
    ) -> Self:
        """Train on the labelled vertices.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n, d)
            Features of all vertices, labelled or not. None takes those of ``graph``. The rows of
            a DataFrame are matched with the vertices of a graph that names them (networkx) by its
            index; other rows are in the order of the vertices. Words, dates and gaps in a
            DataFrame are encoded as :func:`~graphfilter.read_tables` does; ``encoder_`` keeps how.
            For an estimator bound to a graph: the numbers of the vertices whose labels ``y``
            holds, or features of some vertices, as a step of a pipeline has them: with these
            vertices as the index of a DataFrame, or as ``vertices``.
        y : array (n,) or (n, T)
            The known labels or numbers; see the estimator.
        graph : edges (m, 2) or (2, m), scipy sparse, networkx, PyG Data or Graph, optional
            Without one the network is an MLP, with a ``NoGraphWarning``.
        split : Split or (train, val, test), optional
            Which vertices (rows of X) to train and to validate on; drawn from the labelled ones
            otherwise.
        vertices : array of vertex numbers, optional
            Of an estimator bound to a graph: which vertices the rows of X are. scikit-learn's
            metadata routing passes them through pipelines and cross-validation.
        callback : Callback, optional
            Watches the training, may end it, and says where its state is kept: see
            :class:`graphfilter.training.Callback`. The arguments of 0.2 (checkpoint, resume,
            on_epoch) are taken until 0.4.
        start_from : fitted estimator, optional
            Of an earlier state of the graph, with the same parameters, columns and classes:
            networks start from its weights and wait a quarter of their patience for a better
            score; features are scaled as they were. Vertices that are known by their ids, or
            numbers where there are none, stay in their part; the others are divided. Models
            without epochs are fitted again.
        """
        callback = callback_from(callback, others)
        if others:
            raise TypeError(_unknown_argument(type(self).__name__, next(iter(others))))
        self.check_parameters()
        earlier = Earlier.of(start_from)
        if earlier is not None and self.graph is not None:
            raise ConfigError("`start_from` is for fit(X, y, graph=...), not for a bound graph.")
        seed = draw_seed(self.random_state)
        with _as_it_was_on_error(self):
            fitted, target = take_training(self, X, y, graph, vertices)
            self.check_target(target)
            split = take_split(split, fitted, graph)
            split = split or self._draw_split(fitted, target.codes, seed, earlier)
            if earlier is not None:
                names = getattr(self, "feature_names_in_", None)
                self.check_start(earlier, target, split, self.n_features_in_, names)
                earlier.check_split(split, fitted)
            prepared = Prepared.of(
                # Not Graph.replace, which would renumber the classes.
                dataclasses.replace(fitted, labels=target.codes.copy(), classes=target.names),
                scaling=self.feature_scaling if earlier is None else earlier.estimator.scaler_,
                device=pick_device(self.device),
                task=self.task_for(target),
                targets=target.learned(self.scales_for(None, target, split)),
            )
            return self.fit_prepared(
                prepared, fitted, target, split, seed=seed, callback=callback, earlier=earlier
            )

    def check_start(
        self,
        earlier: Earlier,
        target: Target,
        split: Split,
        n_features: int,
        feature_names: Sequence[str] | None,
    ) -> None:
        """Raise unless the weights of an earlier fit can be begun with."""
        chosen = self.choose(target, split)
        if getattr(self, "operator", None) == "auto":  # Then either one is trained.
            chosen["operator"] = earlier.estimator.system_.operator
        system = self.build_system(**chosen)
        earlier.check(self, system, target, n_features, feature_names)

    def fit_prepared(
        self,
        prepared: Prepared,
        fitted: Graph,
        target: Target,
        split: Split,
        *,
        seed: int,
        callback: Callback = SILENT,
        earlier: Earlier | None = None,
    ) -> Self:
        """Learn from a graph that has been made ready, for this estimator or for another one."""
        seeds = np.random.SeedSequence(seed).generate_state(self.n_members).tolist()
        whole, aside = split, split.val[:0]
        if self.calibration_fraction:
            val, aside = set_aside(split.val, self.calibration_fraction, seeds[0])
            split = dataclasses.replace(split, val=val)
        scales = (
            self.scales_for(prepared, target, split)
            if earlier is None
            else earlier.estimator.target_scales_
        )
        if scales:
            prepared = dataclasses.replace(prepared, targets=target.learned(scales))
        chosen = self.choose(target, split)
        start = None if earlier is None else earlier.start(fitted)
        if start is not None and start.held is not None:
            system = self.build_system(**chosen)
            assert isinstance(system, Committee)
            # Without folds, earlier networks have learned from vertices that validate now.
            start = start if system.folding(prepared, split, start) else Start(())
        weights = self.class_weights(target, split)
        self.notes_ = ()
        callback = self.watching(callback)
        with LoggedProgress(callback) if self.verbose else nullcontext(callback) as callback:
            trained = self.train_on(
                prepared, split, seeds, chosen, class_weight=weights, callback=callback, start=start
            )
        members, outputs = fitted_members(trained.outcomes, prepared.past)
        if len(aside):  # No need of pools without a fold.
            members = [dataclasses.replace(member, folds=None) for member in members]
        results = [member.result for member in members if member.result is not None]
        if any(r.stopped == "diverged" and r.best_epoch == 0 for r in results):
            raise GraphFilterError(
                "training diverged before anything was learned; lower the learning rates, or "
                "scale the features."
            )
        # Only now: a fit that fails leaves the estimator as it was.
        self.set_target(target.task, target.names, target.is_column)
        self.target_scales_, self.class_weights_, self.split_ = scales, weights, whole
        self.results_, self.graph_, self.prepared_ = results, fitted, prepared
        self._keep_trained(trained, members)
        if earlier is not None and start is not None:
            self.notes_ = (*self.notes_, earlier.note(members, start))
        self._answer(members, outputs, target, split, aside, seeds[0])
        return self

    def _answer(
        self,
        members: Sequence[FittedMember],
        outputs: Sequence[Any],
        target: Target,
        split: Split,
        aside: NDArray[np.int64],
        seed: int,
    ) -> None:
        """Keep what the members say of every vertex, and what can be promised of it."""
        prepared, fitted = self.prepared_, self.graph_
        used = [i for i, member in enumerate(members) if member.weight > 0]
        answers = MemberAnswers(
            self, fitted, [members[i] for i in used], [outputs[i] for i in used], None
        )
        self.outputs_, self.folded_ = answers.outputs(), answers.folds()
        truth = target.codes if prepared.targets is None else prepared.targets
        # The folds are those of the pools, which have the seed of the first member.
        self.promise_ = make_promise(
            *self.folded_, truth, split.val, fitted, target.task, seed, aside
        )
        if prepared.past is not prepared:  # Trained on the past, asked with all that is known.
            del self.outputs_, self.folded_
            self.outputs_ = self.answers(graph=fitted)

    def _keep_trained(self, trained: Trained, members: Sequence[FittedMember]) -> None:
        """Keep the members, and what can be read of the training."""
        prepared, outcomes = self.prepared_, trained.outcomes
        self.chosen_, self.notes_ = trained.chosen, trained.notes
        self.system_ = self.build_system(**trained.chosen)
        self.has_edges_ = self.graph_.n_edges > 0
        self.scaler_ = prepared.scaler
        self.links_checksum_ = links_checksum(prepared.past.graph)
        self.n_epochs_ = max(outcome.n_epochs for outcome in outcomes)
        self.seconds_ = sum(outcome.seconds for outcome in outcomes)
        self.set_members(members)
        knows = prepared.past is prepared and any(member.knows_vertices for member in members)
        self.known_ = KnownVertices.of(self.graph_, prepared.scaler) if knows else None
        held = [outcome.held for outcome in outcomes if isinstance(outcome, CommitteeOutcome)]
        self.held_ = held[0] if held else None  # The same in all: it depends on the split alone.
        self.take_outcomes(outcomes)
        if self.held_ is not None:
            self.notes_ = (*self.notes_, describe_held(self.held_))
        self.filter_results_ = [self.results_[i] for i in self.drawn_members_]
        self.history_ = (self.filter_results_ or self.results_)[0].history

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _draw_split(
        self, graph: Graph, codes: NDArray[np.int64], seed: int, earlier: Earlier | None
    ) -> Split:
        share = self.validation_fraction
        if earlier is not None:
            return earlier.draw_split(graph, codes, seed, (1 - share, share, 0.0))
        return stratified(codes, seed, (1 - share, share, 0.0))


@contextmanager
def _as_it_was_on_error(estimator: VertexEstimator) -> Generator[None]:
    """Give an estimator back what it knew where its fit fails."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def _unknown_argument(name: str, given: str) -> str:
    """Say that fit does not take an argument, and what to do instead."""
    text = f"{name}.fit() takes no {given}"
    if given == "sample_weight":
        return f"{text}: all labelled vertices count the same. Weigh classes with class_weight."
    taken = "X, y, graph, split, vertices, callback and start_from"
    return f"{text}; it takes {taken}."

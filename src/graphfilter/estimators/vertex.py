"""VertexEstimator: what every estimator here does, whatever it learns and whatever its network."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from graphfilter.errors import (
    ChangedVerticesWarning,
    ConfigError,
    GraphError,
    GraphFilterError,
    check_count,
    check_number,
)
from graphfilter.estimators.drawing import filter_view, fitted_card
from graphfilter.estimators.inputs import draw_seed, take_split, take_target, take_training
from graphfilter.estimators.member_answers import MemberAnswers, in_units, outputs_of
from graphfilter.estimators.members import (
    FittedMember,
    combine,
    fitted_members,
)
from graphfilter.estimators.promises import Folded, fold_outputs, make_promise
from graphfilter.estimators.recognition import (
    MANY_CHANGED,
    KnownVertices,
    describe_changed,
    describe_known,
    named,
)
from graphfilter.estimators.saving import load_estimator, save_estimator
from graphfilter.estimators.starting import Earlier
from graphfilter.estimators.state import EstimatorState
from graphfilter.estimators.targets import Target
from graphfilter.graph import Graph, links_checksum
from graphfilter.inputs import FeatureScaler, Known
from graphfilter.metrics import is_rare
from graphfilter.plot import plot_view
from graphfilter.runtime import pick_device
from graphfilter.splits import Split, set_aside, stratified
from graphfilter.systems import Outcome, Prepared, train_system
from graphfilter.training import OnEpoch, TargetScale, Task, logged_progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Trained:
    """What training ended with: runs, the values of open parameters, and what to say of both."""

    outcomes: Sequence[Outcome]
    chosen: dict[str, Any]
    notes: tuple[str, ...] = ()


class VertexEstimator(EstimatorState):
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

    def choose(self, target: Target, split: Split) -> dict[str, Any]:
        """Return the values of parameters that were left open, for what is to be learned.

        Where one of two classes is rare, accuracy hardly sees it, and where one is looked for it
        is not what is asked: average precision then chooses the best epoch.
        """
        if self.monitor is not None:
            if self.monitor not in target.task.monitors:
                raise ConfigError(
                    f"monitor must be one of {', '.join(target.task.monitors)} for "
                    f"{target.task.name}; got {self.monitor!r}."
                )
            return {}
        codes, usual = target.codes, self.build_system().settings()["monitor"]
        asked = getattr(self, "positive", None) is not None
        rare = target.task.one_class and is_rare(codes[split.train], len(target.names))
        seen = len(np.unique(codes[split.val])) == 2
        watched = (rare or asked) and seen and usual == "accuracy"
        return {"monitor": "average_precision"} if watched else {}

    def task_for(self, target: Target) -> Task:
        """Return the task to be trained on a target."""
        return target.task

    def check_parameters(self) -> None:
        """Raise where a parameter is impossible, before any work; ``fit`` does so too."""
        check_count("n_members", self.n_members)
        pick_device(self.device)
        self.build_system()
        FeatureScaler.check(self.feature_scaling)
        share = check_number("calibration_fraction", self.calibration_fraction)
        if not 0 <= share < 1:
            raise ConfigError(f"calibration_fraction must be in [0, 1); got {share}.")

    def check_target(self, target: Target) -> None:
        """Raise where nothing can be learned from a target."""
        if not (target.codes >= 0).any():
            raise GraphError("y must be known for some vertices; it is known for none.")

    def watching(self, on_epoch: OnEpoch | None) -> OnEpoch | None:
        """Return what is called after every epoch of a fit that begins now."""
        return on_epoch

    def class_weights(self, target: Target, split: Split) -> NDArray[np.float64] | None:
        """Return the weight of each class in the loss; None where all are equal."""
        return None

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        graph: Any = None,
        *,
        split: Split | tuple[Any, Any, Any] | None = None,
        vertices: Any = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
        start_from: Any = None,
        **others: Any,
    ) -> Self:
        """Learn from the labelled vertices.

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
            What is known of the vertices, as the estimator says.
        graph : edges (m, 2) or (2, m), scipy sparse, networkx, PyG Data or Graph, optional
            Without one the network is an MLP, and a ``NoGraphWarning`` says so.
        split : Split or (train, val, test), optional
            Which vertices (rows of X) to train and to validate on; drawn from the labelled ones
            otherwise.
        vertices : array of vertex numbers, optional
            Of an estimator bound to a graph: which vertices the rows of X are. scikit-learn's
            metadata routing passes them through pipelines and cross-validation.
        checkpoint, resume
            Keep the state of training in a file, and resume from it.
        on_epoch : callable, optional
            Told of the :class:`~graphfilter.training.Progress` after every epoch.
        start_from : fitted estimator, optional
            Of an earlier state of the graph, with the same parameters, columns and classes:
            networks begin with its weights and wait a quarter of their patience for a better
            score; features are scaled as they were. Vertices that are known by their ids, or
            numbers where there are none, stay in their part; the others are divided. Models
            without epochs are fitted again.
        """
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
                prepared, fitted, target, split, seed=seed, checkpoint=checkpoint, resume=resume,
                on_epoch=on_epoch, earlier=earlier,
            )  # fmt: skip

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
        checkpoint: str | Path | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
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
        weights = self.class_weights(target, split)
        self.notes_ = ()
        watching = self.watching(on_epoch)
        with logged_progress(watching) if self.verbose else nullcontext(watching) as report:
            trained = self.train_on(
                prepared, split, seeds, chosen, class_weight=weights, on_epoch=report,
                checkpoint=checkpoint, resume=resume, start=start,
            )  # fmt: skip
        outcomes = trained.outcomes
        members, said = fitted_members(outcomes, prepared.past)
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
        self.target_scales_ = scales
        self.class_weights_ = weights
        self.split_ = whole
        self.chosen_, self.notes_ = trained.chosen, trained.notes
        self.system_ = self.build_system(**trained.chosen)
        self.graph_ = fitted
        self.has_edges_ = fitted.n_edges > 0
        self.scaler_ = prepared.scaler
        self.prepared_ = prepared
        self.links_checksum_ = links_checksum(prepared.past.graph)
        self.results_ = results
        self.n_epochs_ = max(outcome.n_epochs for outcome in outcomes)
        self.seconds_ = sum(outcome.seconds for outcome in outcomes)
        self.set_members(members)
        knows = prepared.past is prepared and any(member.knows_vertices for member in members)
        self.known_ = KnownVertices.of(fitted, prepared.scaler) if knows else None
        self.take_outcomes(outcomes)
        if earlier is not None and start is not None:
            self.notes_ = (*self.notes_, earlier.note(members, start))
        self.filter_results_ = [results[i] for i in self.drawn_members_]
        self.history_ = (self.filter_results_ or results)[0].history
        heard = [i for i, member in enumerate(members) if member.weight > 0]
        own = [members[i] for i in heard]
        heard_said = [said[i] for i in heard]
        self.outputs_ = self.in_units(combine(heard_said, own, target.task))
        degrees = np.diff(fitted.indptr)
        self.folded_ = fold_outputs(heard_said, own, target.task, degrees)
        truth = target.codes if prepared.targets is None else prepared.targets
        # The folds are those of the pools, which have the seed of the first member.
        self.promise_ = make_promise(
            *self.folded_, truth, split.val, fitted, target.task, seeds[0], aside
        )
        if prepared.past is not prepared:  # Trained on the past, asked with all that is known.
            del self.outputs_, self.folded_
            self.outputs_ = self.answers(graph=fitted)
        return self

    def train_on(
        self,
        prepared: Prepared,
        split: Split,
        seeds: Sequence[int],
        chosen: dict[str, Any],
        **options: Any,
    ) -> Trained:
        """Train the system; ``options`` are those of :func:`~graphfilter.systems.train_system`."""
        system = self.build_system(**chosen)
        outcomes = train_system(prepared, system, [split] * len(seeds), seeds, **options)
        return Trained(outcomes, chosen)

    def in_units(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return outputs (n, C) in the units of y; probabilities are as they are."""
        return in_units(said, self.target_scales_)

    def scales_for(
        self, prepared: Prepared | None, target: Target, split: Split
    ) -> tuple[TargetScale, ...]:
        """Return the scale of each number that is learned; none of classes and labels.

        ``prepared`` is None where the scale is not to be chosen yet.
        """
        return ()

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
        vertex_ids: Sequence[Any] | None = None,
        only: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the task's outputs (n, C) of all members combined, in the units of y.

        Of the fitted graph it is what training ended with.

        Parameters
        ----------
        X : array or sparse matrix (n, d), optional
            Features of a new graph's vertices. Without it, the fitted graph is predicted. For an
            estimator bound to a graph: vertex numbers.
        graph : as in `fit`, optional
            The graph of X. Without one, the fitted graph where X has a row for each of its
            vertices; vertices without edges where the estimator was fitted without a graph.
        vertices : as in `fit`, optional
        vertex_ids : sequence, optional
            The id of every vertex, by which a committee recognises those it was fitted on; those of
            a graph or DataFrame that names its vertices otherwise. Where the fit named none, the
            number of the vertex then.
        only : int array, optional
            The vertices to answer for; models whose answers depend on one row save the others.
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
            prepared = self.prepare(target)
            return outputs_of(self, prepared, self.members_of(prepared), rows)
        return self.ask(target).outputs(slice(None) if rows is None else rows)

    def ask(self, target: Graph, folder: Path | None = None) -> MemberAnswers:
        """Ask the members about a graph; large answers go to files, where a folder is given."""
        prepared = self.prepare(target)
        return MemberAnswers.of(self, prepared, self.members_of(prepared), folder)

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
        heard = [member for member in members if member.weight > 0]
        if not heard:
            raise GraphError(
                "every member of this model is bound to the vertices of the graph it was fitted "
                "on; it cannot predict another graph."
            )
        return heard

    def prepare(self, target: Graph) -> Prepared:
        """Return a graph ready for prediction; the fitted one has been made ready by ``fit``."""
        device = pick_device(self.device)
        held: Prepared | None = getattr(self, "prepared_", None)
        if held is not None and target is self.graph_ and held.device == device:
            return held
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
        if self.known_ is None or self._is_fitted_graph(target):
            return []
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed."""
        state = dict(super().__getstate__())
        for name in ("prepared_", "outputs_", "folded_"):
            state.pop(name, None)
        return state

    def save(self, folder: str | Path, *, run: dict[str, Any] | None = None) -> None:
        """Write ``model.safetensors`` and ``config.json`` to ``folder``.

        The graph is not saved: predicting with a loaded model takes X and a graph. ``run`` is
        anything JSON can hold that should be stored with the model; without it, the folder of a run
        of ``graphfilter fit`` is refused, whose report would no longer be of its model.
        """
        check_is_fitted(self)
        if self.build_system(**self._still_chosen()) != self.system_:
            raise ConfigError(
                "parameters must be those of the fit to be saved; they were changed since. Fit "
                "again, or restore them."
            )
        if self.system_.keeps_graph:
            raise ConfigError(
                "a network that is bound to its graph cannot be saved without it; most others "
                "can be: sgf, mlp, sgc, appnp, gcn, gat, gcnii, ..."
            )
        if run is None and (Path(folder) / "metrics.json").exists():
            raise ConfigError(f"{folder}: holds a run of graphfilter fit; save to another folder.")
        save_estimator(self, folder, run)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote. Nothing in the files can run code."""
        return load_estimator(cls, folder)

    def plot_filter(self, ax: Axes | None = None) -> Axes:
        """Draw the learned filter over graph frequency, and where the labels lie.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Drawn on; a new figure of pyplot's otherwise.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import graphfilter as gf
        >>> from matplotlib.figure import Figure
        >>> g = gf.data.make_bipartite(n_side=30, probability=0.3, n_features=4, seed=0)
        >>> clf = gf.SGFClassifier(max_epochs=10, random_state=0).fit(graph=g)
        >>> clf.plot_filter(Figure().subplots()).get_ylabel()
        'response f'
        """
        check_is_fitted(self)
        return plot_view(filter_view(self), ax)

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's picture of the parameters and, once fitted, the filter below it."""
        return super()._repr_html_inner() + self._fitted_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        return fitted_card(self) if self.__sklearn_is_fitted__() else ""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _draw_split(
        self, graph: Graph, codes: NDArray[np.int64], seed: int, earlier: Earlier | None
    ) -> Split:
        share = self.validation_fraction
        if not 0 <= check_number("validation_fraction", share) < 1:
            raise ConfigError(f"validation_fraction must be in [0, 1); got {share}.")
        if earlier is not None:
            return earlier.draw_split(graph, codes, seed, (1 - share, share, 0.0))
        return stratified(codes, seed, (1 - share, share, 0.0))

    def settled_parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit, those that were left open as they were chosen."""
        return {**self.get_params(deep=False), **self._still_chosen()}

    def _still_chosen(self) -> dict[str, Any]:
        """Return what was chosen for parameters that are open still."""
        given = self.get_params(deep=False)
        return {name: v for name, v in self.chosen_.items() if given[name] in (None, "auto")}

    def take_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Keep what else a subclass wants to know of the training."""


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
    said = f"{name}.fit() takes no {given}"
    if given == "sample_weight":
        return f"{said}: all labelled vertices count the same. Weigh classes with class_weight."
    taken = "X, y, graph, split, vertices, checkpoint, resume, on_epoch and start_from"
    return f"{said}; it takes {taken}."

"""VertexEstimator: what every estimator here does, from its parameters over fit to its answers.

What it is made of has a file each: how X, y and graph are read (:mod:`.inputs`), members and their
answers (:mod:`.members`), sets and intervals (:mod:`.calibration`), vertices known
from a fit (:mod:`.earlier`) and saved files (:mod:`.saving`).
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
)

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphfilter.data.graph import Graph, links_checksum
from graphfilter.estimators import inputs, members as membership
from graphfilter.estimators.calibration import Calibration, calibrate
from graphfilter.estimators.earlier import NO_IDS, KnownVertices, describe_known, named
from graphfilter.estimators.explanation import shuffled_importances
from graphfilter.estimators.saving import load_estimator, save_estimator, write_card
from graphfilter.estimators.targets import Target
from graphfilter.filters import Filter
from graphfilter.models.places import Known
from graphfilter.models.scaling import SCALINGS, ScalingName
from graphfilter.spectral.diagnosis import known_frequency
from graphfilter.spectral.plot import FilterView, plot_view
from graphfilter.splits import Split, set_aside, stratified
from graphfilter.systems import Outcome, Prepared, System
from graphfilter.systems.committee import train_request
from graphfilter.systems.networks import Request
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.prepared import NO_FOLD
from graphfilter.tables.encoder import TableEncoder
from graphfilter.training import Callback, FitResult, Monitor, TargetScale, Task
from graphfilter.training.callbacks import SILENT, callback_from, logged
from graphfilter.training.scores import is_rare
from graphfilter.util.errors import (
    ChangedVerticesWarning,
    ConfigError,
    GraphError,
    GraphFilterError,
    check_count,
    check_name,
    check_number,
)
from graphfilter.util.machine import pick_device

if TYPE_CHECKING:
    from matplotlib.axes import Axes

C = TypeVar("C", bound=type)
Ids = Sequence[Any] | None
OutputKind = Literal["default", "pandas", "polars"]
# What training ended with: runs, the values of open parameters, and what to say of both.
Trained = tuple[Sequence[Outcome], dict[str, Any], tuple[str, ...]]


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: C) -> C:
    """Make the annotated names of a class, and those of its bases, parameters of ``__init__``.

    ``__init__`` only assigns them, as scikit-learn wants it; what ``fit`` sets is a
    ``field(init=False)``.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@parameters
class VertexEstimator(BaseEstimator):
    """Fit, predict, save and load on the vertices of a graph.

    A subclass annotates its parameters (:func:`parameters`), implements ``build_system``, which
    turns them into a system, and ``read_target``, which reads y. Parameters that are left open
    (None, or 'auto') are settled by :meth:`choose` when it is known what is to be learned, and are
    then in ``chosen_``.
    """

    graph: Any = None
    feature_scaling: ScalingName = "auto"
    monitor: Monitor | None = None
    validation_fraction: float = 0.25
    calibration_fraction: float = 0.0
    device: str = "auto"
    random_state: Any = None
    verbose: bool = False

    n_members: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    # Which vertices of a bound graph were fitted, where X held their features.
    bound_rows_: NDArray[np.int64] | None = field(init=False, default=None)
    # The graph that ``fit`` was given, where X has rows of a part of it.
    whole_: Graph | None = field(init=False, default=None)
    # How a table with words, dates or gaps becomes features, where X was one.
    encoder_: TableEncoder | None = field(init=False, default=None)
    # Sets and intervals, and the scales of numbers.
    calibration_: Calibration | None = field(init=False)
    target_scales_: tuple[TargetScale, ...] = field(init=False)
    # The vertices of the fit, where members know them by their ids.
    known_: KnownVertices | None = field(init=False, default=None)
    # The fold of labelled vertices that each was in, where each network held one out.
    held_: NDArray[np.int8] | None = field(init=False, default=None)

    _predict_output = "default"
    # scikit-learn's metadata routing passes ``vertices``, and ``graph`` to ``fit``, unasked.
    __metadata_request__fit: ClassVar = {"vertices": True, "graph": True}
    __metadata_request__predict: ClassVar = {"vertices": True, "graph": False}
    __metadata_request__predict_proba: ClassVar = {"vertices": True, "graph": False}
    __metadata_request__transform: ClassVar = {"vertices": True, "graph": False}
    __metadata_request__score: ClassVar = {"vertices": True, "graph": False}

    @abstractmethod
    def build_system(self, **chosen: Any) -> System:
        """Return what is trained: the network, its operator and its training config.

        ``chosen`` are the values of parameters that were left open.
        """

    @abstractmethod
    def read_target(self, y: Any) -> Target:
        """Return what is to be learned, from y as it is given."""

    def target_of(self, graph: Graph) -> Target | None:
        """Return what the graph itself says is to be learned, for a fit without y."""
        return None

    def check_parameters(self) -> None:
        """Raise where a parameter is impossible, before any work; ``fit`` does so too."""
        check_count("n_members", self.n_members)
        pick_device(self.device)
        self.build_system()
        check_name("feature scaling", self.feature_scaling, SCALINGS)
        for name in ("validation_fraction", "calibration_fraction"):
            check_number(name, getattr(self, name), "[0, 1)")

    def check_target(self, target: Target) -> None:
        """Raise where nothing can be learned from a target."""
        if (target.codes >= 0).any():
            return
        if target.values is not None and len(target.names) > 1:
            raise GraphError("y must be known in all columns for some vertices; leave one out.")
        raise GraphError("y must be known for some vertices; it is known for none.")

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
        is_named = getattr(self, "positive", None) is not None
        rare = target.task.one_class and is_rare(codes[split.train], len(target.names))
        seen = len(np.unique(codes[split.val])) == 2
        watched = (rare or is_named) and seen and usual == "accuracy"
        return {"monitor": "average_precision"} if watched else {}

    @property
    def limits(self) -> dict[str, Any]:
        """The epochs, patience and score that the parameters say."""
        names = ("max_epochs", "patience", "monitor")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def task_for(self, target: Target) -> Task:
        """Return the task to be trained on a target."""
        return target.task

    def class_weights(self, target: Target, split: Split) -> NDArray[np.float64] | None:
        """Return the weight of each class in the loss; None where all are equal."""
        return None

    def scales_for(
        self, prepared: Prepared, target: Target, split: Split
    ) -> tuple[TargetScale, ...]:
        """Return the scale of each number that is learned; none of classes and labels."""
        return ()

    def train_on(self, request: Request, chosen: dict[str, Any]) -> Trained:
        """Train the system of the parameters, with the values of those that were left open."""
        request = dataclasses.replace(request, system=self.build_system(**chosen))
        return train_request(request), chosen, ()

    def take_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Keep what else a subclass wants to know of the training."""

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        graph: Any = None,
        *,
        split: Split | tuple[Any, Any, Any] | None = None,
        vertices: Any = None,
        sample_weight: Any = None,
        callback: Callback | None = None,
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
            Rows of some vertices of a Graph with names are fitted on their part of it.
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
            Which vertices of the graph the rows of X are. scikit-learn's metadata routing passes
            them, and ``graph``, through pipelines and cross-validation.
        sample_weight : array (n,), optional
            What each row of y counts in what members learn from, and in the weights of a
            committee's members; one that counts 0 has no label.
        callback : Callback, optional
            Watches the training, may end it, and says where its state is kept: see
            :class:`graphfilter.training.Callback`. The arguments of 0.2 (checkpoint, resume,
            on_epoch) are taken until 0.4.
        """
        callback = callback_from(callback, others)
        if others.pop("start_from", None) is not None:
            text = "start_from is ignored: a fit begins anew since 0.3; the argument goes in 0.4."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        if others:
            text = f"{type(self).__name__}.fit() takes no {next(iter(others))}; it takes X, y, "
            raise TypeError(text + "graph, split, vertices, sample_weight and callback.")
        self.check_parameters()
        seed, before = inputs.draw_seed(self.random_state), self.__dict__.copy()
        try:
            fitted, target = inputs.take_training(self, X, y, graph, vertices)
            weights = None
            if sample_weight is not None:
                weights = inputs.take_weights(self, sample_weight, X, target)
                codes = np.where(weights > 0, target.codes, -1)
                target = dataclasses.replace(target, codes=codes)
            self.check_target(target)
            task = self.task_for(target)
            split = inputs.take_split(split, fitted, graph)
            if split is None:
                fractions = (1 - self.validation_fraction, self.validation_fraction, 0.0)
                split = stratified(target.codes, seed, fractions)
            prepared = Prepared.of(
                # Not Graph.replace, which would renumber the classes.
                dataclasses.replace(fitted, labels=target.codes.copy(), classes=target.names),
                scaling=self.feature_scaling,
                device=pick_device(self.device),
                task=task,
                weights=weights,
            )
            return self.fit_prepared(prepared, fitted, target, split, seed=seed, callback=callback)
        except BaseException:
            self.__dict__ = before  # It knows what it knew before.
            raise

    def fit_prepared(
        self,
        prepared: Prepared,
        fitted: Graph,
        target: Target,
        split: Split,
        *,
        seed: int,
        callback: Callback = SILENT,
    ) -> Self:
        """Learn from a graph that has been made ready, for this estimator or for another one."""
        seeds = np.random.SeedSequence(seed).generate_state(self.n_members).tolist()
        whole, aside = split, split.val[:0]
        if self.calibration_fraction:
            val, aside = set_aside(split.val, self.calibration_fraction, seeds[0])
            split = dataclasses.replace(split, val=val)
        chosen = self.choose(target, split)
        scales = self.scales_for(prepared, target, split)
        if target.values is not None:
            prepared = dataclasses.replace(prepared, targets=target.learned(scales))
        weights = self.class_weights(target, split)
        with logged(callback) if self.verbose else nullcontext(callback) as callback:
            system, splits = self.build_system(**chosen), [split] * len(seeds)
            request = Request(prepared, system, splits, seeds, weights, callback)
            outcomes, chosen, notes = self.train_on(request, chosen)
        # The same in all: it depends on the split alone.
        held = outcomes[0].held if isinstance(outcomes[0], CommitteeOutcome) else None
        n_epochs = max(outcome.n_epochs for outcome in outcomes)
        members, outputs = membership.fitted_members(outcomes, prepared.past)
        if len(aside):  # No need of pools without a fold.
            members = [dataclasses.replace(member, folds=None) for member in members]
        results = [member.result for member in members if member.result is not None]
        if any(r.stopped == "diverged" and r.best_epoch == 0 for r in results):
            raise GraphFilterError("training diverged; lower the learning rates or scale features.")
        # Only now: a fit that fails leaves the estimator as it was.
        self.task_, self.target_names_ = target.task, target.names
        self.is_column_ = target.is_column
        self.target_scales_, self.class_weights_, self.split_ = scales, weights, whole
        self.results_, self.graph_, self.prepared_ = results, fitted, prepared
        self.chosen_, self.notes_ = chosen, notes
        self.system_ = self.build_system(**chosen)
        self.has_edges_ = fitted.n_edges > 0
        self.scaler_ = prepared.scaler
        self.links_checksum_ = links_checksum(prepared.past.graph)
        self.n_epochs_, self.seconds_ = n_epochs, sum(outcome.seconds for outcome in outcomes)
        self.set_members(members)
        self.filter_results_ = [results[i] for i in self.drawn_members_]
        self.history_ = (self.filter_results_ or results)[0].history
        knows = prepared.past is prepared and any(member.knows_vertices for member in members)
        self.known_ = KnownVertices.of(fitted, prepared.scaler) if knows else None
        self.held_ = held
        self.take_outcomes(outcomes)
        if self.held_ is not None:
            self.notes_ = (*self.notes_, membership.describe_held(self.held_, self.fitted_members_))
        if prepared.scaler.shift is None and getattr(fitted.features, "dtype", None) == np.float64:
            what = "features have more digits than float32 has, and are rounded"
            self.notes_ = (*self.notes_, f"{what}; feature_scaling='standardise' keeps them.")
        used = [i for i, member in enumerate(members) if member.weight > 0]
        members, outputs = [members[i] for i in used], [outputs[i] for i in used]
        answers = membership.MemberAnswers(fitted, target.task, scales, None, members, outputs)
        if target.values is not None and scales:
            known = split.val if self.held_ is None else np.flatnonzero(self.held_ != NO_FOLD)
            each = zip(scales, target.values[known].T, answers.outputs(known).T, strict=True)
            self.target_scales_ = tuple(scale.unbiased(y, said) for scale, y, said in each)
        answers = dataclasses.replace(answers, scales=self.target_scales_).kept()
        truth = target.codes if prepared.targets is None else prepared.targets
        # The folds are those of the pools, which have the seed of the first member.
        self.calibration_ = calibrate(
            *answers.folds(), truth, split.val, fitted, target.task, seeds[0], aside
        )
        if prepared.past is not prepared:  # Trained on the past, asked with all that is known.
            answers = self.answers_of(prepared).kept()
        self.answers_ = dataclasses.replace(answers, calibration=self.calibration_)
        outputs = self.answers_.outputs(split.val)
        truth = (target.codes if target.values is None else target.values)[split.val]
        decided = target.task.decide(outputs)
        self.validation_scores_ = target.task.measure(outputs, truth, decided) if len(truth) else {}
        self.validated_ = truth
        self.__dict__.pop("feature_importances_", None)
        return self

    @cached_property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much worse the answers for validation vertices are where a column is shuffled.

        By how much log loss rises, or R² of numbers falls: the mean of three shuffles among all
        vertices, so that what neighbours have counts, too. One per column of X, in the order of
        ``feature_names_in_``. Found when it is first asked for, which takes as long as three
        predictions per column.
        """
        check_is_fitted(self)
        return shuffled_importances(self, self.validated_)

    def set_members(self, members: Sequence[membership.FittedMember]) -> None:
        """Take trained members; ``fit`` and loading do so."""
        self.fitted_members_ = list(members)
        self.members_ = [member.network.eval() for member in members]
        self.drawn_members_ = membership.drawn_members(members)
        filters = (members[i].network.main_filter() for i in self.drawn_members_)
        self.filters_ = [one for one in filters if one is not None]
        if self.filters_:
            self.filter_ = self.filters_[0]
        elif hasattr(self, "filter_"):
            del self.filter_  # It is of an earlier fit of another system.

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
        target, rows = self.target(X, graph, vertices)
        target = named(target, vertex_ids)
        if only is not None:
            rows = only if isinstance(rows, slice) else rows[only]
            if not self._is_answered(target):
                return self.answers_of(self.prepare(target, known), only=rows).outputs()
        return self.ask(target).outputs(rows)

    @property
    def outputs_(self) -> NDArray[np.float64]:
        """What training ended with for the vertices of the fitted graph (n, C); not pickled."""
        return self.answers_.outputs()

    def target(self, X: Any, graph: Any, vertices: Any = None) -> tuple[Graph, membership.Rows]:
        """Return the graph that is to be predicted, and which of its vertices."""
        check_is_fitted(self)
        target, rows = inputs.take_target(self, X, graph, vertices)
        return target, membership.ALL if rows is None else rows

    def ask(self, target: Graph, folder: Path | None = None) -> membership.MemberAnswers:
        """Ask the members about a graph; large answers go to files, where a folder is given.

        Of the fitted graph it is what training ended with.
        """
        if self._is_answered(target):
            return self.answers_
        return self.answers_of(self.prepare(target), folder)

    def answers_of(
        self,
        prepared: Prepared,
        folder: Path | None = None,
        *,
        only: NDArray[np.int64] | None = None,
    ) -> membership.MemberAnswers:
        """Ask every member that answers for a graph that is ready.

        With ``only`` the rows are those of a few vertices: models whose answer depends on one row
        do not read the others.
        """
        members, held = self.members_of(prepared), self.held_in(prepared)
        shares = membership.shares_in(prepared)
        if only is None:
            each = membership.MemberAnswers.of_each(
                members, prepared, len(self.target_names_), folder
            )
        else:
            each = [member.answer(prepared, only) for member in members]
            held = None if held is None else held[only]
            shares = None if shares is None else shares[only]
        return membership.MemberAnswers(
            prepared.graph, self.task_, self.target_scales_, self.calibration_, members, each,
            shares, held,
        )  # fmt: skip

    def _is_answered(self, target: Graph) -> bool:
        return hasattr(self, "answers_") and target is self.graph_

    def members_of(self, prepared: Prepared) -> list[membership.FittedMember]:
        """Return the members that answer for a graph, with their weights.

        As fitted, whatever ``set_params`` has changed since. On another graph than the fitted one
        those that know its vertices fall away, and the others have weights of their own; where the
        graph shares vertices with the fitted one all are used, each vertex with weights by what is
        known of it (:meth:`~graphfilter.estimators.members.FittedMember.at`).
        """
        target = prepared.graph
        if self.system_.keeps_graph and target.checksum() != self.graph_.checksum():
            raise GraphError("this network is bound to its graph and cannot predict another one.")
        if prepared.known is not None:
            grown = (m for m in self.fitted_members_ if m.growing is not None and m.growing.any())
            return [dataclasses.replace(member, folds=None) for member in grown]
        here = self.is_fitted_graph(target)
        members = self.fitted_members_ if here else [m.elsewhere() for m in self.fitted_members_]
        used = [member for member in members if member.weight > 0]
        if not used:
            raise GraphError("every member is bound to its graph and cannot predict another one.")
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
        return self.held_ if same and self.is_fitted_graph(prepared.graph) else None

    def prepare(self, target: Graph, known: Known | None = None) -> Prepared:
        """Return a graph ready for prediction; the fitted one has been made ready by ``fit``.

        ``known`` are the vertices that were there in the fit; found by their ids unless given.
        """
        device = pick_device(self.device)
        ready: Prepared | None = getattr(self, "prepared_", None)
        if ready is not None and target is self.graph_ and ready.device == device:
            return ready
        # Nothing is recognised in the fitted graph itself, nor without ids.
        if known is None and self.known_ is not None and not self.is_fitted_graph(target):
            known = self.known_.recognise(target)
            if changed := self.known_.describe_changed(target, known, self.scaler_):
                warnings.warn(changed, ChangedVerticesWarning, stacklevel=3)
        return Prepared.of(
            target, scaling=self.scaler_, device=device, task=self.task_, known=known
        )

    def set_output(
        self, *, transform: OutputKind | None = None, predict: OutputKind | None = None
    ) -> Self:
        """Say in which form ``transform``, and ``predict`` and ``predict_proba``, answer.

        A frame of pandas has the names of the vertices as its index, one of polars as its first
        column. scikit-learn's own ``set_config(transform_output=...)`` holds for ``transform``; its
        scorers take arrays, so that clones do not keep ``predict``.

        Examples
        --------
        >>> import graphfilter as gf
        >>> g = gf.load_dataset("karate")
        >>> clf = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g)
        >>> clf.set_output(predict="pandas").predict_proba().columns.tolist()
        ['Mr. Hi', 'Officer']
        """
        for name in (transform, predict):
            check_name("output", name or "default", get_args(OutputKind))
        # ``clone`` keeps the first, whose name is scikit-learn's; its scorers take arrays only.
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        self._predict_output = predict or self._predict_output
        return self

    def output_of(self, method: str) -> str:
        """Return the form in which a method answers: 'default', 'pandas' or 'polars'."""
        if method == "predict":
            return self._predict_output
        usual = get_config()["transform_output"]
        return getattr(self, "_sklearn_output_config", {}).get("transform", usual)

    def forget_ids(self) -> None:
        """Leave the ids of the fitted vertices out of the model: every other graph is then new."""
        check_is_fitted(self)
        self.known_ = None

    def describe_recognised(self, target: Graph) -> list[str]:
        """Say which vertices of a graph are known, and how many have changed; nothing otherwise.

        Nothing of the fitted graph itself, and of a model that has no use for ids.
        """
        if self.is_fitted_graph(target):
            return []
        if self.known_ is None:
            return [NO_IDS] if any(m.knows_vertices for m in self.fitted_members_) else []
        known = self.known_.recognise(target)
        changed = self.known_.describe_changed(target, known, self.scaler_)
        return [describe_known(known), *([f"{changed[0].upper()}{changed[1:]}"] if changed else [])]

    def is_fitted_graph(self, target: Graph) -> bool:
        """Return whether a graph has the links of the fitted one."""
        return self.links_checksum_ in ("", links_checksum(target))

    def settled_parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit, those that were left open as they were chosen."""
        current = self.get_params(deep=False)
        return current | {
            name: v for name, v in self.chosen_.items() if current[name] in (None, "auto")
        }

    def save(self, folder: str | Path, *, run: dict[str, Any] | None = None) -> None:
        """Write ``model.safetensors``, ``config.json`` and a model card to ``folder``.

        The card, README.md, has the facts of the fit in the form that model hubs read; a README.md
        of another kind is kept. The graph is not saved: predicting with a loaded model takes X and
        a graph. ``run`` is anything JSON can hold that should be stored with the model; without it,
        the folder of a run of ``graphfilter fit`` is refused, whose report would no longer be of
        its model.
        """
        check_is_fitted(self)
        settled = self.settled_parameters()
        chosen = {name: settled[name] for name in self.chosen_}
        if self.build_system(**chosen) != self.system_:
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
        if run is None:
            write_card(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, model: Any = None) -> Self:
        """Read what :meth:`save` wrote. Nothing in the files can run code.

        Parameters
        ----------
        folder : path
        model : optional
            The filter or network that was fitted, where its class is not part of graphfilter and
            has not been imported: as given to :class:`~graphfilter.SystemClassifier`.
        """
        return load_estimator(cls, folder, model)

    @property
    def filter_operator(self) -> str:
        """The name of the operator that the drawn filters run on."""
        if not self.drawn_members_:
            return self.system_.operator
        return self.fitted_members_[self.drawn_members_[0]].system.operator

    def plot_filter(self, ax: Axes | None = None) -> Axes:
        """Draw the learned filter over graph frequency, with the label frequencies.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Drawn on; a new figure of pyplot's otherwise.

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
        return plot_view(self.filter_view(), ax)

    def filter_view(self, label_frequency: Mapping[Any, float] | None = None) -> FilterView:
        """Return what a picture of the learned filters shows.

        A loaded model knows neither how its filter started nor the labels it was fitted on.
        """
        if not self.filters_:
            raise GraphFilterError(
                "plot_filter needs a model with a graph filter; "
                f"{type(self).__name__} was fitted with {self.system_.title}, which has none."
            )
        if label_frequency is None:
            label_frequency = {}
            prepared: Prepared | None = getattr(self, "prepared_", None)
            if prepared is not None and self.task_.one_class and prepared.graph.n_edges:
                graph = prepared.graph
                frequency = known_frequency(graph, np.flatnonzero(prepared.labels >= 0)).value
                label_frequency = dict(zip(graph.classes.tolist(), frequency.tolist(), strict=True))
        results: list[FitResult] = getattr(self, "filter_results_", [])
        start = filter_at(self.filter_, results[0], 0) if results else None
        return FilterView(self.filter_operator, start, self.filters_, label_frequency)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed."""
        state = dict(super().__getstate__())
        for name in ("prepared_", "answers_"):
            state.pop(name, None)
        return state


def filter_at(learned: Filter, result: FitResult, epoch: int) -> Filter:
    """Return a filter as it was after an epoch; one that stopped earlier is as it ended."""
    made = copy.deepcopy(learned).double().cpu()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            rows = result.history[name]
            parameter.copy_(torch.as_tensor(rows[min(epoch, len(rows) - 1)]).view_as(parameter))
    return made

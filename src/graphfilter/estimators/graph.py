"""The estimators: a class, labels or numbers, learned by a committee, a filter or any system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from graphfilter.data.graph import Graph
from graphfilter.estimators import explanation
from graphfilter.estimators.contributions import embed_members
from graphfilter.estimators.inputs import align_target, in_frame
from graphfilter.estimators.members import in_units
from graphfilter.estimators.targets import Target, class_target, number_target
from graphfilter.estimators.vertex import Ids, Trained, VertexEstimator, parameters
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import ChannelNetworkConfig, FilterNetworkConfig, ModelConfig
from graphfilter.models.network import DropoutOn
from graphfilter.operators import OPERATORS
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, get_system
from graphfilter.systems.committee import for_task
from graphfilter.systems.networks import Request
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.outside import system_of
from graphfilter.systems.prepared import find_scale
from graphfilter.systems.registry import GROUPS
from graphfilter.systems.system import Committee
from graphfilter.tables.labels import match_labels
from graphfilter.training import CLASSIFICATION, REGRESSION, SCALES, TargetScale, Task, TrainConfig
from graphfilter.training.tasks import Classification
from graphfilter.util.errors import ConfigError, GraphError, check_name, check_number
from graphfilter.util.words import count

__all__ = [
    "GraphClassifier",
    "GraphRegressor",
    "SGFClassifier",
    "SGFRegressor",
    "SystemClassifier",
    "SystemRegressor",
]

AUTO = "auto"
ScaleName = Literal["auto", "identity", "log", "rank"]


@parameters
class VertexClassifier(ClassifierMixin, VertexEstimator):
    """Give the vertices of a graph their class, or each of them any of several labels.

    ``y`` of :meth:`fit` is an array (n,) of strings or numbers; -1, None, NaN or '' where
    unknown. None takes the labels of ``graph``. Where the only values are -1 and 1, both are
    classes. A table (n, L) of 0 and 1 says which of L labels a vertex has; rows with NaN or -1 are
    unknown. Each label then has its own probability, and is predicted where it is above one half.
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    positive: Any = None
    costs: Mapping[tuple[Any, Any], float] | None = None

    def read_target(self, y: Any) -> Target:
        return class_target(y)

    def target_of(self, graph: Graph) -> Target | None:
        if graph.labels is None:
            return None
        return Target(CLASSIFICATION, graph.labels, graph.classes)

    def check_target(self, target: Target) -> None:
        if not target.task.one_class:
            super().check_target(target)
            return
        if (n := len(target.names)) < 2:
            got = f"every label is {target.names[0]!r}" if n else "no vertex is labelled"
            raise GraphError(f"there must be at least two classes among the labels; {got}.")
        self.cost_table(target.names)

    def cost_table(self, classes: NDArray[Any]) -> NDArray[np.float64]:
        """Return what it costs to predict a class (columns) for one of another (rows)."""
        table = 1.0 - np.eye(len(classes))
        names = classes.tolist()
        for pair, cost in (self.costs or {}).items():
            if len(pair) != 2 or not set(pair) <= set(names):
                raise ConfigError(f"costs must be by (true, predicted) of {names}; got {pair!r}.")
            table[names.index(pair[0]), names.index(pair[1])] = check_number(
                "a cost", cost, "[0, inf)"
            )
        return table

    def decide(self, outputs: NDArray[np.float64]) -> NDArray[Any]:
        """Return the answers of the lowest expected cost; without costs, the most probable."""
        if self.costs is None or not self.task_.one_class:
            return self.task_.decide(outputs)
        return (outputs @ self.cost_table(self.classes_)).argmin(axis=1)

    def task_for(self, target: Target) -> Task:
        """Return the task; of two classes, with the one looked for where that is said."""
        if self.positive is None:
            return target.task
        names = [str(name) for name in target.names]
        if not target.task.one_class or len(names) != 2:
            raise ConfigError(f"positive is for two classes; there are {', '.join(names)}.")
        return Classification(names.index(check_name("class", str(self.positive), names)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, or the labels that a vertex may have, in the order of their outputs."""
        return self.target_names_

    def predict(
        self, X: Any = None, graph: Any = None, vertices: Any = None, *, vertex_ids: Ids = None
    ) -> NDArray[Any]:
        """Return the class of every vertex; arguments as in `predict_proba`.

        It is the most probable one or, with ``costs``, that of the lowest expected cost.
        Of several labels, which of them each vertex has: 0 and 1, (n, L).
        """
        check_is_fitted(self)
        answers = self.decide(self.answers(X, graph, vertices, vertex_ids=vertex_ids))
        answers = self.classes_[answers] if self.task_.one_class else answers
        return in_frame(self, "predict", answers, X, graph, self.classes_)

    def predict_proba(
        self, X: Any = None, graph: Any = None, vertices: Any = None, *, vertex_ids: Ids = None
    ) -> NDArray[np.float64]:
        """Return class probabilities (n, n_classes), averaged over the members.

        Of several labels, the probability of each (n, L).

        Parameters
        ----------
        X : array or sparse matrix (n, d), optional
            Features of a new graph's vertices. Without it, the fitted graph is predicted. Rows of
            the DataFrame that was fitted, known by their index or as ``vertices``, are answered in
            the fitted graph, with the features that they have now. For an estimator bound to a
            graph: vertex numbers.
        graph : as in `fit`, optional
            The graph of X. Without one, the fitted graph where X has a row for each of its
            vertices; vertices without edges where the estimator was fitted without a graph.
        vertices : as in `fit`, optional
        vertex_ids : sequence, optional
            The id of every vertex, by which a committee recognises those it was fitted on; those of
            a graph or DataFrame that names its vertices otherwise. Where the fit named none, the
            number of the vertex then.
        """
        answers = self.answers(X, graph, vertices, vertex_ids=vertex_ids)
        return in_frame(self, "predict", answers, X, graph, self.classes_)

    def predict_set(
        self, X: Any = None, graph: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.bool_]:
        """Return a prediction set of classes for every vertex, with the coverage asked for.

        Conformal: with a ``calibration_fraction``, of vertices drawn like the validation vertices
        at least a share ``coverage`` has its class in its set, whatever the model; without it they
        also choose epochs, and it may be a few points less. The more confident the model, the
        smaller the sets; each holds the most probable class. With several labels it holds all.

        Parameters
        ----------
        X, graph : as in `predict_proba`, optional
            Coverage is not guaranteed on another graph.
        coverage : float

        Returns
        -------
        bool array (n, n_classes)

        Examples
        --------
        >>> import graphfilter as gf
        >>> g = gf.data.make_csbm(n_vertices=200, n_features=8, frequency=0.3)
        >>> clf = gf.SGFClassifier(max_epochs=30, random_state=0).fit(graph=g)
        >>> sets = clf.predict_set(coverage=0.9)
        >>> sets.shape, bool(sets.any(axis=1).all())
        ((200, 2), True)
        """
        target, rows = self.target(X, graph)
        return self.ask(target).sets(rows, coverage)

    def transform(
        self, X: Any = None, graph: Any = None, vertices: Any = None
    ) -> NDArray[np.float32]:
        """Return an embedding of every vertex: the filtered hidden layer, of all members.

        Similar rows are vertices that the model takes for similar, by their features and those
        around them: for clustering, neighbours in meaning, or another model.

        Parameters
        ----------
        X, graph, vertices : as in `predict_proba`, optional

        Returns
        -------
        array (n, n_members * hidden_size)
        """
        target, rows = self.target(X, graph, vertices)
        values = embed_members(self, self.prepare(target))[rows]
        names = [f"embedding{i}" for i in range(values.shape[1])]
        return in_frame(self, "transform", values, X, graph, names)

    def fit_transform(self, X: Any = None, y: Any = None, **arguments: Any) -> NDArray[np.float32]:
        """Fit, and return the embedding of the fitted vertices; arguments as in `fit`."""
        return self.fit(X, y, **arguments).transform()

    def explain(
        self,
        vertex: Any,
        X: Any = None,
        graph: Any = None,
        *,
        against: Any = None,
        output: Any = None,
        most: int = 10,
    ) -> explanation.Explanation:
        """Explain the prediction for a vertex.

        Parameters
        ----------
        vertex : str or int
            Its name, or its number in a graph without names.
        X, graph : as in `predict_proba`, optional
        against : class, optional
            The class to compare the predicted one with; default: the second most probable.
        output : label, optional
            Of several labels, the one to explain; default: the most probable.
        most : int
            Number of vertices and features to list.

        Returns
        -------
        Explanation
            ``explanation.sentence`` in words; ``reasons`` in numbers, which add up to the score.

        Examples
        --------
        >>> import graphfilter as gf
        >>> g = gf.load_dataset("karate")
        >>> clf = gf.SGFClassifier(max_epochs=30, random_state=0).fit(graph=g)
        >>> why = clf.explain(0)
        >>> total = why.base + why.farther + sum(reason.contribution for reason in why.reasons)
        >>> why.predicted, bool(abs(why.score - total) < 1e-6)
        ('Mr. Hi', True)
        """
        check_is_fitted(self)
        if not self.task_.one_class and against is not None:
            raise ConfigError("against is a class; of several labels, name one as output.")
        if self.task_.one_class and output is not None:
            raise ConfigError("output is one of several labels; here a vertex has one class.")
        other = None if against is None else explanation.class_number(self, against)
        return _explain(self, vertex, X, graph, against=[other], output=output, most=most)

    def score(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        graph: Any = None,
        vertices: Any = None,
    ) -> float:
        """Return the accuracy on the vertices whose ``y`` is known.

        Of several labels, the share of vertices that have all of them right. Without ``y``,
        against the labels of ``graph`` or of the fitted graph.
        """
        check_is_fitted(self)
        y = align_target(X, y, graph)
        if y is None:
            target, rows = self.target(X, graph, vertices)
            if target.labels is None:
                raise GraphError("y must hold the labels to score against; got None.")
            y = [None if code < 0 else target.classes[code] for code in target.labels[rows]]
        answers = self.decide(self.answers(X, graph, vertices))
        if self.task_.one_class:
            truth, labelled = match_labels(y, self.classes_)
            if not labelled.any():
                raise GraphError("y must have at least one known label to score against; got none.")
        else:
            labels = class_target(y)
            if labels.values is None or labels.values.shape != answers.shape:
                raise GraphError(f"y must be a table of 0 and 1, {answers.shape}.")
            truth, labelled = labels.values, labels.codes >= 0
        weights = np.ones(len(labelled)) if sample_weight is None else np.asarray(sample_weight)
        if not (n := len(answers)) == len(labelled) == len(weights):
            raise GraphError(f"there must be one label and one weight per vertex ({n}).")
        if not weights[labelled].sum() > 0:
            raise GraphError("sample_weight must be positive on some vertex with a label.")
        right = (answers == truth).reshape(n, -1).all(axis=1)
        return float(np.average(right[labelled], weights=weights[labelled]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def class_weights(self, target: Target, split: Split) -> NDArray[np.float64] | None:
        """Return the weight of each class, by its training vertices where it is balanced."""
        if self.class_weight is None:
            return None
        if not target.task.one_class:
            raise ConfigError("class_weight must be None where a vertex may have several labels.")
        classes = target.names.tolist()
        if self.class_weight == "balanced":
            counts = np.bincount(target.codes[split.train], minlength=len(classes))
            return counts.sum() / (len(counts) * np.maximum(counts, 1))
        if not isinstance(self.class_weight, dict):
            text = "class_weight must be a dict, 'balanced' or None; got"
            raise ConfigError(f"{text} {self.class_weight!r}.")
        if unknown := set(self.class_weight) - set(classes):
            raise ConfigError(f"class_weight names no class of y: {sorted(map(str, unknown))}.")
        weights = [check_number("class_weight", self.class_weight.get(c, 1.0)) for c in classes]
        if min(weights) < 0 or not sum(weights) > 0:
            raise ConfigError(f"class weights must not be negative; got {self.class_weight}.")
        return np.array(weights)


@parameters
class VertexRegressor(RegressorMixin, VertexEstimator):
    """Predict numbers of the vertices of a graph.

    ``y`` of :meth:`fit` is an array (n,) or, of several numbers per vertex, (n, T); NaN where
    unknown.
    """

    scale: ScaleName | Sequence[ScaleName] = "identity"

    def read_target(self, y: Any) -> Target:
        return number_target(y)

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in self.scale if isinstance(self.scale, list | tuple) else [self.scale]:
            check_name("scale", name, (*SCALES, AUTO))

    def scales_for(
        self, prepared: Prepared, target: Target, split: Split
    ) -> tuple[TargetScale, ...]:
        assert target.values is not None
        n_numbers = target.values.shape[1]
        names = [self.scale] * n_numbers if isinstance(self.scale, str) else list(self.scale)
        if len(names) != n_numbers:
            raise ConfigError(f"scale must be one name, or one per number ({n_numbers}).")
        scales = list[TargetScale]()
        for name, y in zip(names, target.values.T, strict=True):
            numbers = y[split.train]
            if name == "log" and (least := float(numbers.min())) < 0:
                text = f"scale 'log' must have numbers from 0; got {least:g}."
                raise ConfigError(f"{text} Take 'rank', or 'auto'.")
            scale = find_scale(prepared, y, split) if name == AUTO else None
            scales.append(scale or TargetScale.fit(numbers, name))
        return tuple(scales)

    def predict(
        self, X: Any = None, graph: Any = None, vertices: Any = None, *, vertex_ids: Ids = None
    ) -> NDArray[np.float64]:
        """Return the number of every vertex, averaged over the members: (n,), or (n, T).

        Parameters
        ----------
        X, graph, vertices, vertex_ids : optional
            As in :meth:`graphfilter.SGFClassifier.predict_proba`.
        """
        values = self.answers(X, graph, vertices, vertex_ids=vertex_ids)
        values = values[:, 0] if self.is_column_ else values
        return in_frame(self, "predict", values, X, graph, self.target_names_)

    def explain(
        self, vertex: Any, X: Any = None, graph: Any = None, *, output: Any = None, most: int = 10
    ) -> explanation.Explanation:
        """Say what a predicted number is made of.

        Parameters
        ----------
        vertex : str or int
            Its name, or its number in a graph without names.
        X, graph : as in `predict`, optional
        output : name, optional
            Of several numbers, the one to explain; the first otherwise.
        most : int
            Vertices and features to name.

        Returns
        -------
        Explanation
            Its parts add up to the number, whatever scale it was learned on.

        Examples
        --------
        >>> import graphfilter as gf
        >>> g = gf.data.make_csbm(n_vertices=60, n_features=3)
        >>> y = g.adjacency @ g.features[:, 0]
        >>> model = gf.SGFRegressor(max_epochs=30, random_state=0).fit(g.features, y, graph=g)
        >>> why = model.explain(5)
        >>> bool(abs(why.score - model.predict()[5]) < 1e-3)
        True
        """
        check_is_fitted(self)
        return _explain(self, vertex, X, graph, output=output, most=most)

    def predict_interval(
        self, X: Any = None, graph: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.float64]:
        """Return an interval for every vertex that holds its number as often as asked for.

        Conformal: with a ``calibration_fraction``, of vertices drawn like the validation vertices
        at least a share ``coverage`` has its number inside, whatever the model; without it they
        also choose epochs, and it may be a few points less. Ends are infinite where validation
        vertices are too few for the coverage.

        Parameters
        ----------
        X, graph : as in `predict`, optional
            Coverage is not guaranteed on another graph.
        coverage : float

        Returns
        -------
        array (n, 2), or (n, T, 2) of several numbers
        """
        target, rows = self.target(X, graph)
        ends = self.ask(target).intervals(rows, coverage)
        return ends[:, 0] if self.is_column_ else ends

    def score(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        graph: Any = None,
        vertices: Any = None,
    ) -> float:
        """Return R² on the vertices whose ``y`` is known, averaged over several numbers."""
        check_is_fitted(self)
        if y is None:
            raise GraphError("y must hold the numbers to score against; got None.")
        y = align_target(X, y, graph)
        target, predicted = number_target(y), self.answers(X, graph, vertices)
        if len(target) != len(predicted):
            raise GraphError(f"there must be one number per vertex ({len(predicted)}).")
        from sklearn.metrics import r2_score

        assert target.values is not None
        known = target.codes >= 0
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(target.values[known], predicted[known], sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _explain(
    estimator: VertexEstimator, vertex: Any, X: Any, graph: Any, **options: Any
) -> explanation.Explanation:
    """Explain one vertex; ``X`` and ``graph`` as in ``predict``."""
    features = X if estimator.graph is None else None
    target, _ = estimator.target(features, graph)
    number, prepared = explanation.find_vertex(target, vertex), estimator.prepare(target)
    outputs = estimator.ask(target).outputs()
    return explanation.explain_vertices(estimator, prepared, outputs, [number], **options)[0]


@dataclass(frozen=True, eq=False)
class MemberNote:
    """What a member did in training.

    Attributes
    ----------
    name, title : str
    share : float
        Of the weights.
    seconds, epochs
        Of all its seeds.
    predicted : array (n,) or (n, T)
        What it alone answers: class numbers, labels, or numbers.
    remark : str
        What it did to its columns, or why it was stopped, where that is worth a note.
    second : float array (n,) or None
        Of two classes, the probability that it alone gives the second.
    """

    name: str
    title: str
    share: float
    seconds: float
    epochs: int
    predicted: NDArray[Any]
    second: NDArray[np.float64] | None = None
    remark: str = ""


EFFORTS = {"full": "committee", "low": "committee-low", "high": "committee-high"}


@parameters
class OfCommittee(VertexEstimator):
    """What an estimator that is a committee does, whatever it learns."""

    # Number of whole committees; on small graphs each member has several networks.
    n_members = 1

    effort: Literal["full", "low", "high"] = "full"
    seconds: float | None = None
    refit: bool | None = None
    max_epochs: int | None = None
    patience: int | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.seconds is not None and not check_number("seconds", self.seconds) >= 0:
            raise ConfigError(f"seconds must not be negative; got {self.seconds}.")

    def train_on(self, request: Request, chosen: dict[str, Any]) -> Trained:
        if self.seconds is not None:
            request = replace(request, callback=request.callback.within(self.seconds))
        return super().train_on(request, chosen)

    def build_system(self, **chosen: Any) -> System:
        name, limits = EFFORTS[check_name("effort", self.effort, EFFORTS)], self.limits
        system = get_system(name).with_(**limits).choosing_by(chosen.get("monitor"))
        if self.refit is None:
            return system
        return replace(system, refits=self.refit, refits_networks=self.refit)

    @property
    def weights_(self) -> dict[str, float]:
        """The share of each member in the answers on the fitted graph, the largest first."""
        sums: dict[str, float] = {}
        for member in self.fitted_members_:
            sums[member.system.name] = sums.get(member.system.name, 0.0) + member.share
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))

    def take_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        (outcome,) = outcomes
        assert isinstance(outcome, CommitteeOutcome)
        self.member_notes_ = [
            MemberNote(
                part.system.name,
                part.system.title,
                float(share),
                part.seconds,
                part.n_epochs,
                *self._answers_of_member(part.probabilities),
                part.remark,
            )
            for part, share in zip(outcome.parts, outcome.pool.shares, strict=True)
        ]
        without = {title: outcome.without(*names) for title, names in GROUPS.items()}
        self.without_ = {
            title: None if outputs is None else self._answers_of_member(outputs)
            for title, outputs in without.items()
        }
        graph, n_train = self.prepared_.graph, len(self.split_.train)
        committee = outcome.system
        assert isinstance(committee, Committee)
        self.absent_ = {
            member.title: reason
            for member in committee.members
            if (reason := committee.absence(member, graph, n_train))
        } | outcome.unused_members
        trained = {part.system.title for part in outcome.parts}
        for member in committee.members:
            if member.title not in trained:
                self.absent_.setdefault(member.title, "not started when training was stopped")
        self.notes_ = (
            *(f"{title} failed and is left out: {why}." for title, why in outcome.failed.items()),
            *(
                f"{part.system.title}: {part.remark}."
                for part in outcome.parts
                if part.remark and not part.superfluous
            ),
        )

    def _answers_of_member(
        self, outputs: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Return what is answered, and the probability of the second of two classes."""
        outputs = in_units(outputs, self.target_scales_)
        second = outputs[:, 1].copy() if self.task_.one_class and outputs.shape[1] == 2 else None
        return self.task_.decide(outputs), second


@parameters
class GraphClassifier(OfCommittee, VertexClassifier):
    """Label the vertices of a graph with a committee of models: one setting for any graph.

    A committee of members that each see the graph in another way (features alone, an adaptive
    filter, who is connected to whom, a deep network, trees, ...), weighted by their predictions for
    validation vertices. What the graph needed can be read from ``weights_``.

    Parameters
    ----------
    graph : Graph, optional
        As in :class:`~graphfilter.SGFClassifier`.
    effort : {'full', 'low', 'high'}
        'low' trains the three cheapest members; 'high' wider and deeper networks, from more seeds.
    seconds : float, optional
        Time limit in seconds: members that are not done by then predict with what they have
        learned. At least one is trained. Without it there is no limit.
    refit : bool, optional
        Whether members learn from validation vertices too in the end. None: those that are fitted
        in seconds do; True: networks, too, for as many epochs as were best, which takes about as
        long again. Where labels are few all are learned from in any case: of the five networks of a
        member each leaves a fifth out.
    feature_scaling : {'auto', 'none', 'row', 'standardise'}
        See :class:`~graphfilter.models.scaling.FeatureScaler`.
    max_epochs, patience, monitor : int, int and str, optional
        Override the members' own: 1500, 40 to 120 and 'accuracy', or 'average_precision' where
        one of two classes is rare. See :class:`~graphfilter.training.TrainConfig`.
    positive, validation_fraction, calibration_fraction, class_weight, costs, device, \
random_state, verbose
        As in :class:`~graphfilter.SGFClassifier`.

    Attributes
    ----------
    classes_ : array of the class names
    weights_ : dict of str to float
        The weight of each member in the predictions, the largest first.
    fitted_members_ : list of FittedMember
    member_notes_ : list of MemberNote
        What each member did in training; ``without_`` holds the predictions without each group of
        members, ``absent_`` why a member was not trained or is not used. Not saved.
    notes_ : tuple of str
        Remarks on the training: members that failed, columns left out.
    filter_, filters_ : Filter and list of Filter
        The learned filters, that of the member with the largest weight first.
    split_, graph_, system_, prepared_, encoder_
        As in :class:`~graphfilter.SGFClassifier`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_bipartite(n_side=60, probability=0.2, n_features=8, seed=0)
    >>> clf = gf.GraphClassifier(effort="low", max_epochs=60, random_state=0)
    >>> clf = clf.fit(g.features, g.labels, graph=g)
    >>> clf.predict().shape, round(sum(clf.weights_.values()), 6)
    ((120,), 1.0)
    """


@parameters
class GraphRegressor(OfCommittee, VertexRegressor):
    """Predict numbers of the vertices of a graph with a committee of models.

    The committee of :class:`~graphfilter.GraphClassifier`, whose members answer numbers: their
    means are weighed by a convex fit to validation vertices, with a spread for each member. The
    scale of the target is found, and undone in the answers, which are then medians; they stay
    within the range of the training vertices, widened by its deviation.

    Parameters
    ----------
    graph : Graph, optional
        As in :class:`~graphfilter.SGFClassifier`.
    effort : {'full', 'low'}
        'low' trains the three cheapest members.
    scale : {'auto', 'identity', 'log', 'rank'}, or one of them per number
        On which scale the numbers are learned: 'auto' takes the one on which boosted trees give
        validation vertices the highest likelihood (:class:`~graphfilter.training.TargetScale`).
    seconds, refit, feature_scaling, max_epochs, patience, monitor, validation_fraction, \
calibration_fraction, device, random_state, verbose
        As in :class:`~graphfilter.GraphClassifier`; ``monitor`` is 'r2' or 'loss'.

    Attributes
    ----------
    target_scales_ : tuple of TargetScale
        ``target_scales_[0].words`` says it in one line.
    weights_, fitted_members_, member_notes_, filter_, filters_, split_, graph_, system_, prepared_
        As in :class:`~graphfilter.GraphClassifier`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=120, n_features=4)
    >>> y = g.adjacency @ g.features[:, 0]
    >>> model = gf.GraphRegressor(effort="low", max_epochs=20, random_state=0)
    >>> model = model.fit(g.features, y, graph=g)
    >>> model.predict().shape, model.predict_interval(coverage=0.8).shape
    ((120,), (120, 2))
    """

    scale: ScaleName | Sequence[ScaleName] = "auto"


@parameters
class _OfSystem(VertexEstimator):
    """What a system, or what one is made of, is behind an estimator, whatever it learns."""

    model: Any = "sgf"
    max_epochs: int | None = None
    patience: int | None = None
    n_members: int = 1

    @property
    def operator(self) -> str:
        """The name of the operator the system runs on."""
        return self.build_system().operator

    def build_system(self, **chosen: Any) -> System:
        system = system_of(self.model)
        if not system.trained:
            raise ConfigError(
                f"{system.name} is not trained; compare with it in graphfilter bench."
            )
        return system.with_(**self.limits).choosing_by(chosen.get("monitor"))


@parameters
class SystemClassifier(_OfSystem, VertexClassifier):
    """Label the vertices of a graph with any of the systems that are compared, or your own.

    The same interface as :class:`~graphfilter.SGFClassifier`; what the network is and how it is
    trained comes with the system.

    Parameters
    ----------
    model : str, System, filter, config or torch.nn.Module
        A system by name: 'sgf', 'mlp', 'sgc', 'appnp', 'gcn', 'gat', 'gcnii', 'linkx', ...
        (``graphfilter bench models`` lists them), or a :class:`~graphfilter.systems.System`. A
        filter of :mod:`graphfilter.filters` or of a file of yours, or its config, takes SGF's
        place between encoder and head. A torch module is given as its class or as a function,
        called with n_features and n_classes, or as an instance, which each network begins as a
        copy of; it is called as those of :mod:`graphfilter.models`, ``module(operator, x)``, and
        returns the logits.
    max_epochs, patience, monitor : optional
        In place of the system's own; see :class:`~graphfilter.training.TrainConfig`.
    graph, feature_scaling, positive, validation_fraction, calibration_fraction, class_weight, \
costs, n_members, device, random_state, verbose
        As in :class:`~graphfilter.SGFClassifier`.

    Notes
    -----
    Some systems (LINKX, Geom-GCN, ...) are built on their graph: they predict that graph and no
    other one, and cannot be saved without it.

    A model of your own is loaded where its file has been imported, or with
    ``SystemClassifier.load(folder, model=...)``.

    Examples
    --------
    >>> from graphfilter.data import make_karate
    >>> clf = SystemClassifier(model="sgc", max_epochs=20, random_state=0).fit(graph=make_karate())
    >>> clf.predict().shape
    (34,)
    """


@parameters
class SystemRegressor(_OfSystem, VertexRegressor):
    """Predict a number for every vertex with any of the systems that are one network, or your own.

    As :class:`SystemClassifier`, with the interface of :class:`~graphfilter.SGFRegressor`.

    Parameters
    ----------
    model : str, System, filter, config or torch.nn.Module
        'sgf', 'mlp', 'sgc', 'appnp', 'gcn', 'gcnii', ..., or what :class:`SystemClassifier` takes.
    max_epochs, patience, monitor, graph, feature_scaling, validation_fraction, \
calibration_fraction, n_members, device, random_state, verbose
        As in :class:`SystemClassifier`.
    scale
        As in :class:`~graphfilter.SGFRegressor`.

    Notes
    -----
    The dropout of a system that is named is for classes: numbers get 0.2 at most, unless the name
    says another, ``'sgf@dropout=0.5'``.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=100, n_features=4)
    >>> y = g.adjacency @ g.features[:, 0]
    >>> model = gf.SystemRegressor(model="appnp", max_epochs=20, random_state=0)
    >>> model.fit(g.features, y, graph=g).predict().shape
    (100,)
    """

    def build_system(self, **chosen: Any) -> System:
        system = super().build_system(**chosen)
        stated = not isinstance(self.model, str) or "dropout=" in self.model
        return system if stated else for_task(system, REGRESSION)


# The paper's rate is for classes of texts: of a few columns of numbers it leaves too little.
DROPOUT_OF_CLASSES, DROPOUT = 0.7, 0.2
PLAIN, CHANNELS = "augmented_adjacency", "channels"
OperatorName = Literal[
    "auto", "augmented_adjacency", "adjacency", "laplacian", "coupling", "co_citation", "channels"
]


@parameters
class AdaptiveEstimator(VertexEstimator):
    """An estimator whose network is the stacked filter."""

    n_layers: int = 16
    hidden_size: int = 64
    operator: OperatorName = AUTO
    filter_init: float | Literal["uniform"] = 0.5
    dropout: float | None = None
    dropout_on: DropoutOn = "linear"
    filter_learning_rate: float = 0.01
    learning_rate: float = 0.0025
    filter_weight_decay: float = 5e-4
    weight_decay: float = 5e-4
    max_epochs: int = 1500
    patience: int = 200
    n_members: int = 1

    def build_system(self, **chosen: Any) -> System:
        settled = {**self.get_params(deep=False), **chosen}
        names = [f.name for f in fields(TrainConfig) if f.name in settled]
        training: dict[str, Any] = {name: settled[name] for name in names}
        if training["monitor"] is None:
            del training["monitor"]
        operator = PLAIN if settled["operator"] == AUTO else settled["operator"]
        return System(
            "sgf",
            "SGF",
            self._model(operator, settled["dropout"]),
            operator=check_name("operator", operator, (*OPERATORS, AUTO)),
            config=TrainConfig(**training),
        )

    def choose(self, target: Target, split: Split) -> dict[str, Any]:
        chosen = super().choose(target, split)
        if self.dropout is None:
            chosen["dropout"] = DROPOUT_OF_CLASSES if target.task.one_class else DROPOUT
        return chosen

    def train_on(self, request: Request, chosen: dict[str, Any]) -> Trained:
        """Train the filter; where edges have directions or types, with and without them.

        The operator 'auto' uses them where that is better on the validation vertices.
        """
        prepared, split = request.prepared, request.splits[0]
        graph = prepared.graph
        if self.operator == AUTO:
            chosen = {**chosen, "operator": PLAIN}
        plain, _, _ = super().train_on(request, chosen)
        parts = ["directions"] if graph.directed else []
        if graph.kinds is not None:
            parts.append(count(len(graph.kinds.names), "edge type"))
        what = " and ".join(parts)
        if not parts or self.operator == CHANNELS:
            return plain, chosen, ()
        if self.operator != AUTO or not len(split.val):
            return plain, chosen, (f"{what} not used; operator='channels' uses them.",)
        request = replace(request, callback=request.callback.part(CHANNELS))
        of_channels = {**chosen, "operator": CHANNELS}
        rich, _, _ = super().train_on(request, of_channels)
        monitor = prepared.task.resolve(self.build_system(**chosen).config.monitor)
        without, with_ = (_score(outcomes, monitor) for outcomes in (plain, rich))
        used = with_ > without
        shown = "{:.3f}" if monitor in ("loss", "r2") else "{:.1%}"
        note = (
            f"{what} {'used' if used else 'not used'}: {monitor.replace('_', ' ')} on "
            f"{len(split.val):,} validation vertices is {shown.format(abs(with_))} with and "
            f"{shown.format(abs(without))} without."
        )
        return (rich, of_channels, (note,)) if used else (plain, chosen, (note,))

    def _model(self, operator: str, dropout: float | None) -> ModelConfig:
        filter = StackedFilterConfig(self.n_layers, self.filter_init)
        rate = DROPOUT_OF_CLASSES if dropout is None else dropout
        if operator != CHANNELS:
            return FilterNetworkConfig(
                filter=filter, hidden_size=self.hidden_size, dropout=rate,
                dropout_on=self.dropout_on,
            )  # fmt: skip
        if self.dropout_on != "linear":
            raise ConfigError("dropout_on must be 'linear' with the operator 'channels'.")
        return ChannelNetworkConfig(filter=filter, hidden_size=self.hidden_size, dropout=rate)


@parameters
class SGFClassifier(AdaptiveEstimator, VertexClassifier):
    """Label the vertices of a graph with a filter that is learned, not assumed.

    One setting fits graphs whose neighbours agree, disagree or neither. The defaults are the
    paper's; nothing about the graph needs to be known. A vertex has one class, or any of several
    labels where ``y`` is a table of 0 and 1.

    Parameters
    ----------
    graph : Graph, or edges between names, optional
        Edges in a DataFrame, or in what else ``fit`` takes, join the rows of X that they name. A
        Graph with features binds the estimator to it. ``fit``, ``predict`` and ``score`` then take
        *vertex numbers* instead of X, so that ``cross_val_score`` and ``GridSearchCV`` can hide
        the labels of some vertices while the graph stays whole. Unknown labels are -1 there:
        scikit-learn itself refuses NaN when it stratifies (``np.nan_to_num(y, nan=-1)``).
    n_layers : int
        Depth of the stacked filter, the degree of its polynomial.
    hidden_size : int
        Width of the hidden layer.
    operator : {'auto', 'augmented_adjacency', 'adjacency', 'laplacian', 'coupling', \
'co_citation', 'channels'}
        The matrix of the graph that is filtered with. With 'channels' every edge type, and in a
        directed graph each direction, has a filter of its own
        (:class:`~graphfilter.models.ChannelNetwork`). 'auto' is 'augmented_adjacency'; where edges
        have directions or types both are trained, and the validation vertices decide.
    filter_init : float or 'uniform'
        Initial value of the filter's scalars, or drawn from [-1, 1].
    dropout : float, optional
        0.7, the paper's, for one class per vertex; 0.2 for several labels.
    dropout_on : {'linear', 'every_layer'}
        Dropout on the linear layers (the paper's text) or before every filter layer too (the
        authors' code).
    feature_scaling : {'auto', 'none', 'row', 'standardise'}
        See :class:`~graphfilter.models.scaling.FeatureScaler`.
    filter_learning_rate, learning_rate, filter_weight_decay, weight_decay : float
        For the filter's scalars and for the linear layers.
    max_epochs, patience, monitor
        See :class:`~graphfilter.training.TrainConfig`. The monitored score is otherwise accuracy,
        micro F1 of several labels, and average precision where one of two classes has less than a
        fifth of the training vertices, or ``positive`` is given.
    positive : class, optional
        The positive one of two classes, whose average precision may be monitored; default: the
        rarer one.
    validation_fraction : float
        Share of the labelled vertices set aside to choose the best epoch, where ``fit`` is given
        no split. 0 trains on all of them for ``max_epochs``.
    calibration_fraction : float
        Share of the validation vertices that choose nothing and only calibrate ``predict_set`` and
        ``predict_interval``, whose coverage is then at least what is asked for, on average. With 0
        all of them do both, and nothing is proven; with fewer than some hundred it is then a few
        points too low.
    class_weight : dict, 'balanced' or None
        Weights of the classes in the loss.
    costs : dict of (true, predicted) to float, optional
        What errors cost, ``{("fraud", "ok"): 10}``; others cost 1. ``predict`` then gives the class
        of the lowest expected cost; probabilities stay as they are.
    n_members : int
        Networks trained from different seeds, side by side, whose probabilities are averaged.
    device : str
        'auto' uses a GPU if there is one.
    random_state : int, RandomState or None
    verbose : bool
        Log progress every two seconds, to the logger ``graphfilter`` or to standard error.

    Attributes
    ----------
    classes_ : array of the class names
    filter_ : Filter
        The learned filter of the first member: ``filter_.response(lam)``, ``.coefficients()``.
    filters_ : list of Filter, one per member
    history_ : dict of arrays
        Loss, accuracies and the filter's scalars by epoch, of the first member.
    results_ : list of FitResult, one per member
    outputs_ : array (n, n_classes)
        What training ended with for the vertices of the fitted graph; not kept when pickled.
    chosen_ : dict
        The values of parameters that were left open; ``notes_`` says how they were chosen.
    class_weights_ : array (n_classes,) or None
        The weight of each class in the loss.
    split_ : Split
        Which vertices were trained and validated on.
    validation_scores_ : dict
        Scores on the validation vertices, which chose the best epoch.
    system_ : System
        What was trained: network, operator and training config.
    graph_ : Graph
        The fitted graph, on which ``predict()`` without arguments works.
    prepared_ : Prepared
        That graph with its features scaled, on its device; not kept when pickled.
    encoder_ : TableEncoder or None
        How words, dates and gaps became features, where X was a DataFrame that has such.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_bipartite(n_side=60, probability=0.2, n_features=8, seed=0)
    >>> clf = gf.SGFClassifier(max_epochs=60, random_state=0)
    >>> clf = clf.fit(g.features, g.labels, graph=g)
    >>> clf.predict().shape
    (120,)
    """


@parameters
class SGFRegressor(AdaptiveEstimator, VertexRegressor):
    """Predict a number for every vertex with a filter that is learned, not assumed.

    The network and filter of :class:`~graphfilter.SGFClassifier`, trained on squared errors of
    the standardised numbers; the epoch of the lowest validation error is kept. ``y`` of ``fit`` is
    an array (n,) or, of several numbers per vertex, (n, T); NaN where unknown.

    Parameters
    ----------
    dropout : float, optional
        0.2, lower than the classifier's: what dropout takes from a hidden layer, it takes from the
        number that is predicted.
    monitor : {'r2', 'loss'}, optional
        The validation score that chooses the best epoch: R², unless given.
    graph, n_layers, hidden_size, operator, filter_init, dropout_on, feature_scaling, \
filter_learning_rate, learning_rate, filter_weight_decay, weight_decay, max_epochs, patience, \
validation_fraction, calibration_fraction, n_members, device, random_state, verbose
        As in :class:`~graphfilter.SGFClassifier`.
    scale : {'identity', 'log', 'rank', 'auto'}, or one of them per number
        The scale on which the numbers are learned: see :class:`~graphfilter.training.TargetScale`.

    Attributes
    ----------
    target_scales_ : tuple of TargetScale
        The scale each number was learned on.
    filter_, filters_, history_, results_, split_, system_, graph_, prepared_
        As in :class:`~graphfilter.SGFClassifier`; ``history_`` has R² in place of accuracy.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=100, n_features=4)
    >>> y = g.adjacency @ g.features[:, 0]
    >>> model = gf.SGFRegressor(max_epochs=50, random_state=0).fit(g.features, y, graph=g)
    >>> model.predict().shape
    (100,)
    """


def has_channels(graph: Graph) -> bool:
    """Return whether the edges of a graph have directions or types."""
    return graph.directed or graph.kinds is not None


def _score(outcomes: Sequence[Outcome], monitor: str) -> float:
    """Return the mean validation score of the runs' kept weights; larger is better."""
    results = [outcome.result for outcome in outcomes]
    kept = [r.history[f"val_{monitor}"][r.best_epoch - 1] for r in results if r.best_epoch]
    sign = -1.0 if monitor == "loss" else 1.0
    return sign * float(np.mean(kept)) if kept else -np.inf

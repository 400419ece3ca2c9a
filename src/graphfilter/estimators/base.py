"""VertexClassifier and VertexRegressor: what is predicted, a class, labels or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from graphfilter.estimators.targets import Target, class_target, number_target
from graphfilter.estimators.vertex import Ids, VertexEstimator, parameters
from graphfilter.splits import Split
from graphfilter.systems import Prepared
from graphfilter.systems.prepared import find_scale
from graphfilter.tables.labels import match_labels
from graphfilter.training import CLASSIFICATION, SCALES, TargetScale, Task
from graphfilter.training.tasks import Classification
from graphfilter.util.errors import ConfigError, GraphError, check_name, check_number

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

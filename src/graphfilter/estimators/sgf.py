"""SGFClassifier and SGFRegressor: the adaptive stacked graph filter of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.estimators.base import AUTO, VertexClassifier, VertexRegressor
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import Trained, VertexEstimator, parameters
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import ChannelNetworkConfig, FilterNetworkConfig, ModelConfig
from graphfilter.models.network import DropoutOn
from graphfilter.operators import OPERATORS
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, check_name
from graphfilter.util.words import count

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

    def train_on(
        self,
        prepared: Prepared,
        split: Split,
        seeds: Sequence[int],
        chosen: dict[str, Any],
        **options: Any,
    ) -> Trained:
        """Train the filter; where edges have directions or types, with and without them.

        The operator 'auto' uses them where that is better on the validation vertices.
        """
        graph = prepared.graph
        if self.operator == AUTO:
            chosen = {**chosen, "operator": PLAIN}
        plain, _, _ = super().train_on(prepared, split, seeds, chosen, **options)
        parts = ["directions"] if graph.directed else []
        if graph.kinds is not None:
            parts.append(count(len(graph.kinds.names), "edge type"))
        what = " and ".join(parts)
        if not parts or self.operator == CHANNELS:
            return plain, chosen, ()
        if self.operator != AUTO or not len(split.val):
            return plain, chosen, (f"{what} not used; operator='channels' uses them.",)
        options["callback"] = options["callback"].part(CHANNELS)
        of_channels = {**chosen, "operator": CHANNELS}
        rich, _, _ = super().train_on(prepared, split, seeds, of_channels, **options)
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

"""SGFRegressor: numbers of vertices, by the filter that SGFClassifier learns."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from graphfilter.errors import GraphError
from graphfilter.estimators.adaptive import AdaptiveEstimator
from graphfilter.estimators.alignment import align_target
from graphfilter.estimators.targets import Target, number_target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.graph import Graph
from graphfilter.models import DropoutOn
from graphfilter.training import Monitor


class VertexRegressor(RegressorMixin, VertexEstimator):
    """Predict numbers of the vertices of a graph.

    ``y`` of :meth:`fit` is an array (n,) or, of several numbers per vertex, (n, T); NaN where
    unknown.
    """

    def read_target(self, y: Any) -> Target:
        return number_target(y)

    def predict(self, X: Any = None, graph: Any = None) -> NDArray[np.float64]:
        """Return the number of every vertex, averaged over the members: (n,), or (n, T).

        Parameters
        ----------
        X : array or sparse matrix (n, d), optional
            Features of a new graph's vertices. Without it, the fitted graph is predicted. For an
            estimator bound to a graph: vertex numbers.
        graph : as in `fit`, optional
            The graph of X. Without one, the fitted graph where X has a row for each of its
            vertices; vertices without edges where the estimator was fitted without a graph.
        """
        check_is_fitted(self)
        values = self.answers(X, graph)
        return values[:, 0] if self.is_column_ else values

    def score(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, graph: Any = None
    ) -> float:
        """Return R² on the vertices whose ``y`` is known, averaged over several numbers."""
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        if y is None:
            raise GraphError("y must hold the numbers to score against; got None.")
        y = align_target(X, y, graph)
        target, predicted = number_target(y), self.predict(X, graph)
        if len(target) != len(predicted):
            raise GraphError(
                f"there must be one number per vertex ({len(predicted)}); got {len(target)}."
            )
        assert target.values is not None
        known = target.codes >= 0
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(target.values[known], predicted[known], sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


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
validation_fraction, n_members, device, random_state, verbose
        As in :class:`~graphfilter.SGFClassifier`.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays (T,)
        Of the numbers of the training vertices.
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

    def __init__(
        self,
        *,
        graph: Graph | None = None,
        n_layers: int = 16,
        hidden_size: int = 64,
        operator: str = "auto",
        filter_init: float | Literal["uniform"] = 0.5,
        dropout: float | None = None,
        dropout_on: DropoutOn = "linear",
        feature_scaling: str = "auto",
        filter_learning_rate: float = 0.01,
        learning_rate: float = 0.0025,
        filter_weight_decay: float = 5e-4,
        weight_decay: float = 5e-4,
        max_epochs: int = 1500,
        patience: int = 200,
        monitor: Monitor | None = None,
        validation_fraction: float = 0.25,
        n_members: int = 1,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.graph = graph
        self.n_layers = n_layers
        self.hidden_size = hidden_size
        self.operator = operator
        self.filter_init: float | Literal["uniform"] = filter_init
        self.dropout = dropout
        self.dropout_on: DropoutOn = dropout_on
        self.feature_scaling = feature_scaling
        self.filter_learning_rate = filter_learning_rate
        self.learning_rate = learning_rate
        self.filter_weight_decay = filter_weight_decay
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.patience = patience
        self.monitor: Monitor | None = monitor
        self.validation_fraction = validation_fraction
        self.n_members = n_members
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

"""SGFRegressor: numbers of vertices, by the filter that SGFClassifier learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from graphfilter.estimators.adaptive import AUTO, AdaptiveEstimator
from graphfilter.estimators.alignment import align_target
from graphfilter.estimators.asking import Ids
from graphfilter.estimators.explained import Explanation
from graphfilter.estimators.explaining_outputs import explain_vertex
from graphfilter.estimators.promises import check_promise
from graphfilter.estimators.state import parameters
from graphfilter.estimators.targets import Target, number_target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.splits import Split
from graphfilter.systems import Prepared
from graphfilter.systems.prepared import find_scale
from graphfilter.training import SCALES, TargetScale
from graphfilter.util.errors import ConfigError, GraphError, check_name


@parameters
class VertexRegressor(RegressorMixin, VertexEstimator):
    """Predict numbers of the vertices of a graph.

    ``y`` of :meth:`fit` is an array (n,) or, of several numbers per vertex, (n, T); NaN where
    unknown.
    """

    scale: str | Sequence[str] = "identity"

    def read_target(self, y: Any) -> Target:
        return number_target(y)

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in self.scale if isinstance(self.scale, list | tuple) else [self.scale]:
            check_name("scale", name, (*SCALES, AUTO))

    def scales_for(
        self, prepared: Prepared | None, target: Target, split: Split
    ) -> tuple[TargetScale, ...]:
        assert target.values is not None
        n_numbers = target.values.shape[1]
        names = [self.scale] * n_numbers if isinstance(self.scale, str) else list(self.scale)
        if len(names) != n_numbers:
            raise ConfigError(
                f"scale must be one name, or one per number ({n_numbers}); got {names}."
            )
        if prepared is None:
            return tuple(TargetScale.fit(y[split.train]) for y in target.values.T)
        for name, y in zip(names, target.values.T, strict=True):
            if name == "log" and (least := float(y[split.train].min())) < 0:
                raise ConfigError(
                    f"scale 'log' must have numbers from 0; got {least:g}. Take 'rank', or 'auto'."
                )
        return tuple(
            find_scale(prepared, y, split)
            if name == AUTO
            else TargetScale.fit(y[split.train], name)
            for name, y in zip(names, target.values.T, strict=True)
        )

    def predict(
        self, X: Any = None, graph: Any = None, vertices: Any = None, *, vertex_ids: Ids = None
    ) -> NDArray[np.float64]:
        """Return the number of every vertex, averaged over the members: (n,), or (n, T).

        Parameters
        ----------
        X, graph, vertices, vertex_ids : optional
            As in :meth:`graphfilter.SGFClassifier.predict_proba`.
        """
        check_is_fitted(self)
        values = self.answers(X, graph, vertices, vertex_ids=vertex_ids)
        return values[:, 0] if self.is_column_ else values

    def explain(
        self, vertex: Any, X: Any = None, graph: Any = None, *, output: Any = None, most: int = 10
    ) -> Explanation:
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
        return explain_vertex(self, vertex, X, graph, output, most)

    def predict_interval(
        self, X: Any = None, graph: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.float64]:
        """Return an interval for every vertex that holds its number as often as promised.

        Conformal: of vertices drawn like the validation vertices, at least a share ``coverage``
        has its number inside, whatever the model. Ends are infinite where validation vertices are
        too few for the coverage.

        Parameters
        ----------
        X, graph : as in `predict`, optional
            Of vertices of another graph nothing is promised.
        coverage : float

        Returns
        -------
        array (n, 2), or (n, T, 2) of several numbers
        """
        outputs, hardness, _, rows = self.folds_of(X, graph)
        found = check_promise(self.promise_).bounds(outputs, hardness, coverage)
        scaled = zip(self.target_scales_, np.moveaxis(found, 1, 0), strict=True)
        ends = np.stack([scale.undo_bounds(t) for scale, t in scaled], axis=1)
        ends = ends if rows is None else ends[rows]
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
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        if y is None:
            raise GraphError("y must hold the numbers to score against; got None.")
        y = align_target(X, y, graph)
        target, predicted = number_target(y), self.predict(X, graph, vertices)
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

"""GraphRegressor: a committee of filters that predicts numbers."""

from __future__ import annotations

from collections.abc import Sequence

from graphfilter.estimators.graph import OfCommittee
from graphfilter.estimators.regressor import VertexRegressor
from graphfilter.estimators.state import parameters


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
    seconds, feature_scaling, max_epochs, patience, monitor, validation_fraction, \
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

    scale: str | Sequence[str] = "auto"

"""Any system by name behind the interface of SGFClassifier and SGFRegressor."""

from __future__ import annotations

from typing import Any

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.regressor import VertexRegressor
from graphfilter.estimators.state import parameters
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.systems import System, get_system
from graphfilter.util.errors import ConfigError


@parameters
class _OfSystem(VertexEstimator):
    """What a system by name is, whatever it learns."""

    model: str = "sgf"
    max_epochs: int | None = None
    patience: int | None = None
    n_members: int = 1

    @property
    def operator(self) -> str:
        """The name of the operator the system runs on."""
        return self.build_system().operator

    def build_system(self, **chosen: Any) -> System:
        system = get_system(self.model)
        if not system.trained:
            raise ConfigError(f"{self.model} is not trained; compare with it in graphfilter bench.")
        return self.overridden(system, chosen)


@parameters
class SystemClassifier(_OfSystem, VertexClassifier):
    """Label the vertices of a graph with any of the systems that are compared.

    The same interface as :class:`~graphfilter.SGFClassifier`; what the network is and how it is
    trained comes with the system's name (``graphfilter bench models`` lists them).

    Parameters
    ----------
    model : str
        'sgf', 'mlp', 'sgc', 'appnp', 'gcn', 'gat', 'gcnii', 'linkx', ...
    max_epochs, patience, monitor : optional
        In place of the system's own; see :class:`~graphfilter.training.TrainConfig`.
    graph, feature_scaling, positive, validation_fraction, calibration_fraction, class_weight, \
n_members, device, random_state, verbose
        As in :class:`~graphfilter.SGFClassifier`.

    Notes
    -----
    Some systems (LINKX, Geom-GCN, ...) are built on their graph: they predict that graph and no
    other one, and cannot be saved without it.

    Examples
    --------
    >>> from graphfilter.data import make_karate
    >>> clf = SystemClassifier(model="sgc", max_epochs=20, random_state=0).fit(graph=make_karate())
    >>> clf.predict().shape
    (34,)
    """


@parameters
class SystemRegressor(_OfSystem, VertexRegressor):
    """Predict a number for every vertex with any of the systems that are one network.

    As :class:`SystemClassifier`, with the interface of :class:`~graphfilter.SGFRegressor`.

    Parameters
    ----------
    model : str
        'sgf', 'mlp', 'sgc', 'appnp', 'gcn', 'gcnii', ...
    max_epochs, patience, monitor, graph, feature_scaling, validation_fraction, \
calibration_fraction, n_members, device, random_state, verbose
        As in :class:`SystemClassifier`.
    scale
        As in :class:`~graphfilter.SGFRegressor`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=100, n_features=4)
    >>> y = g.adjacency @ g.features[:, 0]
    >>> model = gf.SystemRegressor(model="appnp", max_epochs=20, random_state=0)
    >>> model.fit(g.features, y, graph=g).predict().shape
    (100,)
    """

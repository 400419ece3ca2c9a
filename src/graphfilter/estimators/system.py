"""SystemClassifier and SystemRegressor: any system, and any filter or network of your own."""

from __future__ import annotations

from typing import Any

from graphfilter.estimators.base import VertexClassifier, VertexRegressor
from graphfilter.estimators.vertex import VertexEstimator, parameters
from graphfilter.systems import System
from graphfilter.systems.outside import system_of
from graphfilter.util.errors import ConfigError


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
        return self.overridden(system, chosen)


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
n_members, device, random_state, verbose
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

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=100, n_features=4)
    >>> y = g.adjacency @ g.features[:, 0]
    >>> model = gf.SystemRegressor(model="appnp", max_epochs=20, random_state=0)
    >>> model.fit(g.features, y, graph=g).predict().shape
    (100,)
    """

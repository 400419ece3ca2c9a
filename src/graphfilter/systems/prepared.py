"""Prepared: a graph made ready for training and prediction, once for all that use it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.graph.scaling import FeatureScaler
from graphfilter.graph.views import see
from graphfilter.operators import Operator, SparseFeatures, make_operator, to_tensor
from graphfilter.training import CLASSIFICATION, Task


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph ready for training and prediction: scaled features, on a device, and operators.

    Everything is made once: features when it is prepared, each kind of operator when it is first
    asked for. What is learned is the labels' classes, or ``targets`` (n, T) of another task; the
    graph's classes then name these.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> prepared = gf.systems.Prepared.of(g, scaling="row")
    >>> prepared.operator("laplacian").interval
    (0.0, 2.0)
    """

    graph: Graph
    scaler: FeatureScaler
    x: Tensor | SparseFeatures
    device: str
    task: Task = CLASSIFICATION
    targets: NDArray[np.float32] | None = None
    _operators: dict[str, Operator] = field(default_factory=dict, repr=False)
    _views: dict[str, Prepared] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        scaling: str | FeatureScaler = "auto",
        device: str = "cpu",
        task: Task = CLASSIFICATION,
        targets: NDArray[np.float32] | None = None,
    ) -> Self:
        """Prepare a graph with features.

        Parameters
        ----------
        scaling : str or FeatureScaler
            How to scale the features, or a scaler that was fitted on another graph.
        task, targets : Task and array (n, T), optional
            What to learn where it is not the labels' classes.
        """
        if graph.features is None:
            raise GraphError(f"{graph.name} must have features to train on; it has no features.")
        fitted = isinstance(scaling, FeatureScaler)
        scaler = scaling if fitted else FeatureScaler.fit(graph.features, scaling)
        x = to_tensor(scaler.transform(graph.features), device=device)
        return cls(graph, scaler, x, device, task, targets)

    def operator(self, kind: str) -> Operator:
        """Return the operator of this kind, made when it is first asked for."""
        if kind not in self._operators:
            self._operators[kind] = make_operator(kind, self.graph, device=self.device)
        return self._operators[kind]

    def seen_as(self, view: str) -> Prepared:
        """Return the graph with the columns of a view in place of its features; made once."""
        if view == "features":
            return self
        if view not in self._views:
            assert self.graph.features is not None
            columns = see(self.graph, self.scaler.transform(self.graph.features), view)
            self._views[view] = replace(
                self,
                graph=replace(self.graph, features=columns),
                x=to_tensor(columns, device=self.device),
                _views={},
            )
        return self._views[view]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class numbers of the vertices, -1 where unknown."""
        if self.graph.labels is None:
            raise GraphError(f"{self.graph.name} must have labels to train on; it has no labels.")
        return self.graph.labels

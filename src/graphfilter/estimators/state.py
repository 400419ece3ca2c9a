"""What an estimator is made of, and knows once it is fitted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import FittedMember, drawn_members
from graphfilter.estimators.promises import Promise
from graphfilter.estimators.recognition import KnownVertices
from graphfilter.estimators.targets import Target
from graphfilter.systems import System
from graphfilter.systems.pipeline import learned_filters
from graphfilter.tables.encoder import TableEncoder
from graphfilter.training import Monitor, TargetScale, Task

C = TypeVar("C", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(cls: C) -> C:
    """Make the annotated names of a class, and those of its bases, parameters of ``__init__``.

    ``__init__`` only assigns them, as scikit-learn wants it.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@parameters
class CommonParameters(BaseEstimator):
    """The parameters that every estimator has."""

    graph: Graph | None = None
    feature_scaling: str = "auto"
    monitor: Monitor | None = None
    validation_fraction: float = 0.25
    calibration_fraction: float = 0.0
    device: str = "auto"
    random_state: Any = None
    verbose: bool = False


class EstimatorState(CommonParameters):
    """The parameters of an estimator, what it learns, and what ``fit`` leaves.

    Whatever reads, draws or saves an estimator takes this, so that the estimator may use it.
    """

    n_members: int
    # Which vertices of a bound graph were fitted, where X held their features.
    bound_rows_: NDArray[np.int64] | None = None
    # How a table with words, dates or gaps becomes features, where X was one.
    encoder_: TableEncoder | None = None
    # Sets and intervals, and the scales of numbers.
    promise_: Promise | None
    target_scales_: tuple[TargetScale, ...]
    # The vertices of the fit, where members know them by their ids.
    known_: KnownVertices | None = None
    # The fold of labelled vertices that each was in, where each network held one out.
    held_: NDArray[np.int8] | None = None

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

    def set_target(self, task: Task, names: NDArray[Any], is_column: bool) -> None:
        """Take what is predicted; ``fit`` and loading do so."""
        self.task_, self.target_names_, self.is_column_ = task, names, is_column

    @property
    def filter_operator(self) -> str:
        """The name of the operator that the drawn filters run on."""
        if not self.drawn_members_:
            return self.system_.operator
        return self.fitted_members_[self.drawn_members_[0]].system.operator

    def set_members(self, members: Sequence[FittedMember]) -> None:
        """Take trained members; ``fit`` and loading do so."""
        self.fitted_members_ = list(members)
        self.members_ = [member.network.eval() for member in members]
        self.drawn_members_ = drawn_members(members)
        self.filters_ = learned_filters([members[i].network for i in self.drawn_members_])
        if self.filters_:
            self.filter_ = self.filters_[0]
        elif hasattr(self, "filter_"):
            del self.filter_  # It is of an earlier fit of another system.

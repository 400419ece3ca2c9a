"""Estimators of a whole system: the committee, any system that is compared, or your own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import ScaleName, VertexClassifier, VertexRegressor
from graphfilter.estimators.members import in_units
from graphfilter.estimators.vertex import Trained, VertexEstimator, parameters
from graphfilter.systems import Outcome, System, get_system
from graphfilter.systems.committee import for_task
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.outside import system_of
from graphfilter.systems.registry import GROUPS
from graphfilter.systems.system import Committee
from graphfilter.training import REGRESSION, Callback
from graphfilter.util.errors import ConfigError, check_name, check_number


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
    max_epochs: int | None = None
    patience: int | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.seconds is not None and not check_number("seconds", self.seconds) >= 0:
            raise ConfigError(f"seconds must not be negative; got {self.seconds}.")

    def train_on(self, *what: Any, callback: Callback, **options: Any) -> Trained:
        if self.seconds is not None:
            end = time.monotonic() + self.seconds
            callback = callback.also(lambda progress: time.monotonic() >= end)
        return super().train_on(*what, callback=callback, **options)

    def build_system(self, **chosen: Any) -> System:
        name, limits = EFFORTS[check_name("effort", self.effort, EFFORTS)], self.limits
        return get_system(name).with_(**limits).choosing_by(chosen.get("monitor"))

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

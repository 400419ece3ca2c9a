"""VertexClassifier: what every estimator here does, whatever its network."""

from __future__ import annotations

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from graphfilter.errors import ConfigError, GraphError, GraphFilterError, check_count, check_number
from graphfilter.estimators.alignment import check_target_order
from graphfilter.estimators.explaining import class_number, explain_graph, find_vertex, members_of
from graphfilter.estimators.inputs import draw_seed, take_split, take_target, take_training
from graphfilter.estimators.saving import load_classifier, save_classifier
from graphfilter.explain import Explanation, Member, embed_members
from graphfilter.graph import Graph
from graphfilter.graph.labels import match_labels
from graphfilter.graph.scaling import FeatureScaler
from graphfilter.models import Network
from graphfilter.runtime.devices import pick_device
from graphfilter.splits import Split, stratified
from graphfilter.systems import Prepared, System, predict_networks, train_system
from graphfilter.systems.pipeline import learned_filters
from graphfilter.training import OnEpoch
from graphfilter.training.logged import logged_progress


class VertexClassifier(ClassifierMixin, BaseEstimator):
    """Fit, predict and score on the vertices of a graph.

    A subclass names its parameters in ``__init__``, as scikit-learn wants it, and
    implements ``build_system``, which turns them into a system.
    """

    graph: Graph | None
    feature_scaling: str
    validation_fraction: float
    class_weight: dict[Any, float] | str | None
    n_members: int
    device: str
    random_state: Any
    verbose: bool

    @abstractmethod
    def build_system(self) -> System:
        """Return what is trained: the network, its operator and its training config."""

    def check_parameters(self) -> None:
        """Raise where a parameter is impossible, before any work; ``fit`` does so too."""
        check_count("n_members", self.n_members)
        pick_device(self.device)
        self.build_system()
        FeatureScaler.check(self.feature_scaling)

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        graph: Any = None,
        *,
        split: Split | tuple[Any, Any, Any] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Learn from the labelled vertices.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n, d)
            Features of all vertices, labelled or not. None takes those of ``graph``. The rows of
            a DataFrame are matched with the vertices of a graph that names them (networkx) by its
            index; other rows stand in the order of the vertices. For an estimator bound to a
            graph: the numbers of the vertices whose labels ``y`` holds.
        y : array (n,)
            Labels, strings or numbers; -1, None, NaN or '' where unknown. None takes those of
            ``graph``. Where the only values are -1 and 1, both are classes.
        graph : edges (m, 2) or (2, m), scipy sparse, networkx, PyG Data or Graph, optional
            Without one the network is an MLP, and a ``NoGraphWarning`` says so.
        split : Split or (train, val, test), optional
            Which vertices (rows of X) to train and to validate on; drawn from the labelled ones
            otherwise.
        checkpoint, resume
            Keep the state of training in a file, and resume from it.
        on_epoch : callable, optional
            Told of the :class:`~graphfilter.training.Progress` after every epoch.
        """
        self.check_parameters()
        system = self.build_system()
        seed = draw_seed(self.random_state)
        fitted, codes, classes = take_training(self, X, y, graph)
        if len(classes) < 2:
            raise GraphError(
                f"there must be at least two classes among the labels; got {len(classes)} "
                f"class: {', '.join(map(str, classes)) or 'no vertex is labelled'}."
            )
        split = take_split(split, fitted, graph) or self._draw_split(codes, seed)
        seeds = np.random.SeedSequence(seed).generate_state(self.n_members).tolist()
        prepared = Prepared.of(
            # Not Graph.replace, which would renumber the classes.
            dataclasses.replace(fitted, labels=codes.copy(), classes=classes),
            scaling=self.feature_scaling,
            device=pick_device(self.device),
        )
        weights = self._class_weights(codes[split.train], classes)
        with logged_progress(on_epoch) if self.verbose else nullcontext(on_epoch) as report:
            outcomes = train_system(
                prepared,
                system,
                [split] * len(seeds),
                seeds,
                class_weight=weights,
                on_epoch=report,
                checkpoint=checkpoint,
                resume=resume,
            )
        results = [outcome.result for outcome in outcomes]
        if any(r.stopped == "diverged" and r.best_epoch == 0 for r in results):
            raise GraphFilterError(
                "training diverged before anything was learned; lower the learning rates, or "
                "scale the features."
            )
        # Only now: a fit that fails leaves the estimator as it was.
        self.classes_ = classes
        self.class_weights_ = weights
        self.split_ = split
        self.system_ = system
        self.graph_ = fitted
        self.has_edges_ = fitted.n_edges > 0
        self.scaler_ = prepared.scaler
        self.prepared_ = prepared
        self.results_ = results
        self.history_ = results[0].history
        self.n_epochs_ = max(result.n_epochs for result in results)
        self.set_members([outcome.network.cpu() for outcome in outcomes])
        return self

    def predict(self, X: Any = None, graph: Any = None) -> NDArray[Any]:
        """Return the most probable class of every vertex; arguments as in `predict_proba`."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, graph).argmax(axis=1)]

    def predict_proba(self, X: Any = None, graph: Any = None) -> NDArray[np.float64]:
        """Return class probabilities (n, n_classes), averaged over the members.

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
        target, rows = take_target(self, X, graph)
        # As fitted, whatever ``set_params`` has changed since.
        system = self.system_
        if system.keeps_graph and target.checksum() != self.graph_.checksum():
            raise GraphError(
                "this network is built on the graph it was fitted on and predicts no other one."
            )
        prepared = self.prepare(target)
        members = self.members_
        if prepared.device != "cpu":
            # Copies: what was fitted stays where it is, also while another thread predicts.
            members = [copy.deepcopy(member).to(prepared.device) for member in members]
        probabilities = np.mean(predict_networks(prepared, system, members), axis=0)
        return probabilities if rows is None else probabilities[rows]

    def transform(self, X: Any = None, graph: Any = None) -> NDArray[np.float32]:
        """Return an embedding of every vertex: the filtered hidden layer, of all members.

        Similar rows are vertices that the model takes for similar, by their features and those
        around them: for clustering, neighbours in meaning, or another model.

        Parameters
        ----------
        X, graph : as in `predict_proba`, optional

        Returns
        -------
        array (n, n_members * hidden_size)
        """
        check_is_fitted(self)
        target, rows = take_target(self, X, graph)
        embedding = embed_members(self.as_members(self.prepare(target)))
        return embedding if rows is None else embedding[rows]

    def fit_transform(self, X: Any = None, y: Any = None, **arguments: Any) -> NDArray[np.float32]:
        """Fit, and return the embedding of the fitted vertices; arguments as in `fit`."""
        return self.fit(X, y, **arguments).transform()

    def explain(
        self, vertex: Any, X: Any = None, graph: Any = None, *, against: Any = None, most: int = 10
    ) -> Explanation:
        """Say why a vertex is labelled as it is.

        Parameters
        ----------
        vertex : str or int
            Its name, or its number in a graph without names.
        X, graph : as in `predict_proba`, optional
        against : class, optional
            Compare the predicted class with this one; with the second most probable otherwise.
        most : int
            Vertices and features to name.

        Returns
        -------
        Explanation
            ``explanation.sentence`` in words; ``steps``, ``speakers``, ``features`` in numbers,
            which add up exactly where the network is a linear filter.

        Examples
        --------
        >>> import graphfilter as gf
        >>> g = gf.load_dataset("karate")
        >>> clf = gf.SGFClassifier(max_epochs=30, random_state=0).fit(graph=g)
        >>> why = clf.explain(0)
        >>> why.predicted, [step.name for step in why.steps][:2]
        ('Mr. Hi', ['own', '1'])
        """
        check_is_fitted(self)
        target, _ = take_target(self, X if self.graph is None else None, graph)
        number = find_vertex(target, vertex)
        prepared = self.prepare(target)
        probabilities = self.predict_proba(X if self.graph is None else None, graph)
        other = None if against is None else class_number(self, against)
        return explain_graph(self, prepared, probabilities, [number], against=[other], most=most)[0]

    def as_members(self, prepared: Prepared) -> list[Member]:
        """Return the networks whose probabilities are averaged, with their weights."""
        return members_of(self, prepared)

    def prepare(self, target: Graph) -> Prepared:
        """Return a graph ready for prediction; the fitted one has been made ready by ``fit``."""
        device = pick_device(self.device)
        held: Prepared | None = getattr(self, "prepared_", None)
        if held is not None and target is self.graph_ and held.device == device:
            return held
        return Prepared.of(target, scaling=self.scaler_, device=device)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed."""
        state = dict(super().__getstate__())
        state.pop("prepared_", None)
        return state

    def score(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, graph: Any = None
    ) -> float:
        """Return the accuracy on the vertices whose ``y`` is known.

        Without ``y``, against the labels of ``graph`` or of the fitted graph.
        """
        check_is_fitted(self)
        check_target_order(X, y, graph)
        if y is None:
            target, rows = take_target(self, X, graph)
            y = _labels_of(target, rows)
        codes, known = match_labels(y, self.classes_)
        if not known.any():
            raise GraphError("y must have at least one known label to score against; got none.")
        predicted = self.predict_proba(X, graph).argmax(axis=1)
        weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight)
        if not len(predicted) == len(codes) == len(weights):
            raise GraphError(
                f"there must be one label and one weight per vertex ({len(predicted)}); "
                f"got {len(codes)} and {len(weights)}."
            )
        if not weights[known].sum() > 0:
            raise GraphError("sample_weight must be positive on some vertex with a label.")
        return float(np.average(predicted[known] == codes[known], weights=weights[known]))

    def save(self, folder: str | Path, *, run: dict[str, Any] | None = None) -> None:
        """Write ``model.safetensors`` and ``config.json`` to ``folder``.

        The graph is not saved: predicting with a loaded model takes X and a graph. ``run`` is
        anything JSON can hold that should be stored with the model; without it, the folder of a run
        of ``graphfilter fit`` is refused, whose report would no longer be of its model.
        """
        check_is_fitted(self)
        if self.build_system() != self.system_:
            raise ConfigError(
                "parameters must be those of the fit to be saved; they were changed since. "
                "Fit again, or set them back."
            )
        if self.system_.keeps_graph:
            raise ConfigError(
                "a network that is built on its graph cannot be saved without it; those of most "
                "systems can: sgf, mlp, sgc, appnp, gcn, gat, gcnii, ..."
            )
        if run is None and (Path(folder) / "metrics.json").exists():
            raise ConfigError(f"{folder}: holds a run of graphfilter fit; save to another folder.")
        save_classifier(self, folder, run)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote. Nothing in the files can run code."""
        return load_classifier(cls, folder)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def _draw_split(self, codes: NDArray[np.int64], seed: int) -> Split:
        share = self.validation_fraction
        if not 0 <= check_number("validation_fraction", share) < 1:
            raise ConfigError(f"validation_fraction must be in [0, 1); got {share}.")
        return stratified(codes, seed, (1 - share, share, 0.0))

    def _class_weights(
        self, codes: NDArray[np.int64], classes: NDArray[Any]
    ) -> NDArray[np.float64] | None:
        """Return the weight of each class, given the class numbers of the training vertices."""
        if self.class_weight is None:
            return None
        counts = np.bincount(codes, minlength=len(classes))
        if self.class_weight == "balanced":
            weights = counts.sum() / (len(counts) * np.maximum(counts, 1))
        elif isinstance(self.class_weight, dict):
            unknown = set(self.class_weight) - set(classes.tolist())
            if unknown:
                raise ConfigError(f"class_weight names no class of y: {sorted(map(str, unknown))}.")
            weights = np.array([self.class_weight.get(c, 1.0) for c in classes.tolist()])
            if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
                raise ConfigError(f"class weights must not be negative; got {self.class_weight}.")
        else:
            raise ConfigError(
                f"class_weight must be a dict, 'balanced' or None; got {self.class_weight!r}."
            )
        return weights

    def set_members(self, networks: Sequence[Network[Any]]) -> None:
        """Take trained networks as the members; ``fit`` and loading do so."""
        self.members_ = [network.eval() for network in networks]
        self.filters_ = learned_filters(networks)
        if self.filters_:
            self.filter_ = self.filters_[0]
        elif hasattr(self, "filter_"):
            del self.filter_  # Of an earlier fit of another system.


def _labels_of(graph: Graph, rows: NDArray[np.int64] | None) -> list[Any]:
    if graph.labels is None:
        raise GraphError("y must hold the labels to score against; got None.")
    codes = graph.labels if rows is None else graph.labels[rows]
    return [None if code < 0 else graph.classes[code] for code in codes]

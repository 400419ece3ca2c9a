"""SGFClassifier: the adaptive stacked graph filter behind scikit-learn's interface."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from graphfilter.errors import ConfigError, GraphError, GraphFilterError, check_name, check_number
from graphfilter.features import FeatureScaler, to_tensor
from graphfilter.filters import Filter, StackedFilter
from graphfilter.graph import Graph
from graphfilter.labels import encode_labels, match_labels
from graphfilter.models import FilterNetwork
from graphfilter.operators import OPERATORS, make_operator
from graphfilter.runs import FitResult
from graphfilter.saving import load_classifier, save_classifier
from graphfilter.splits import Split, stratified
from graphfilter.training import Progress, TrainConfig, train


class SGFClassifier(ClassifierMixin, BaseEstimator):
    """Label the vertices of a graph with a filter that is learned, not assumed.

    One setting fits graphs whose neighbours agree, disagree or neither. The defaults are the
    paper's; nothing about the graph needs to be known.

    Parameters
    ----------
    graph : Graph, optional
        Bind the estimator to a graph with features. ``fit``, ``predict`` and ``score`` then take
        *vertex numbers* in place of X, so that ``cross_val_score`` and ``GridSearchCV`` can hide
        the labels of some vertices while the graph stays whole.
    n_layers : int
        Depth of the stacked filter, the degree of its polynomial.
    hidden_size : int
        Width of the hidden layer.
    operator : {'augmented_adjacency', 'adjacency', 'laplacian'}
        The matrix of the graph that is filtered with.
    filter_init : float or 'uniform'
        Initial value of the filter's scalars, or drawn from [-1, 1].
    dropout : float
    dropout_on : {'linear', 'every_layer'}
        Dropout on the linear layers (the paper's text) or before every filter layer too (the
        authors' code).
    feature_scaling : {'auto', 'none', 'row', 'standardise'}
        See :class:`~graphfilter.features.FeatureScaler`.
    filter_learning_rate, learning_rate, filter_weight_decay, weight_decay : float
        For the filter's scalars and for the linear layers.
    max_epochs, patience, monitor
        See :class:`~graphfilter.training.TrainConfig`.
    validation_fraction : float
        Share of the labelled vertices set aside to choose the best epoch, where ``fit`` is given
        no split. 0 trains on all of them for ``max_epochs``.
    class_weight : dict, 'balanced' or None
        Weights of the classes in the loss.
    n_members : int
        Networks trained from different seeds, side by side, whose probabilities are averaged.
    device : str
        'auto' takes a GPU where there is one.
    random_state : int, RandomState or None
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of the class names
    filter_ : Filter
        The learned filter of the first member: ``filter_.response(lam)``, ``.coefficients()``.
    filters_ : list of Filter, one a member
    history_ : dict of arrays
        Loss, accuracies and the filter's scalars by epoch, of the first member.
    results_ : list of FitResult, one a member
    split_ : Split
        Which vertices were trained and validated on.
    graph_ : Graph
        The fitted graph, on which ``predict()`` without arguments works.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_bipartite(n_side=60, probability=0.2, n_features=8, seed=0)
    >>> clf = gf.SGFClassifier(max_epochs=60, random_state=0)
    >>> clf = clf.fit(g.features, g.labels, graph=g)
    >>> clf.predict().shape
    (120,)
    """

    def __init__(
        self,
        *,
        graph: Graph | None = None,
        n_layers: int = 16,
        hidden_size: int = 64,
        operator: str = "augmented_adjacency",
        filter_init: float | str = 0.5,
        dropout: float = 0.7,
        dropout_on: str = "linear",
        feature_scaling: str = "auto",
        filter_learning_rate: float = 0.01,
        learning_rate: float = 0.0025,
        filter_weight_decay: float = 5e-4,
        weight_decay: float = 5e-4,
        max_epochs: int = 1500,
        patience: int = 200,
        monitor: str = "accuracy",
        validation_fraction: float = 0.25,
        class_weight: dict[Any, float] | str | None = None,
        n_members: int = 1,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.graph = graph
        self.n_layers = n_layers
        self.hidden_size = hidden_size
        self.operator = operator
        self.filter_init = filter_init
        self.dropout = dropout
        self.dropout_on = dropout_on
        self.feature_scaling = feature_scaling
        self.filter_learning_rate = filter_learning_rate
        self.learning_rate = learning_rate
        self.filter_weight_decay = filter_weight_decay
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.patience = patience
        self.monitor = monitor
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.n_members = n_members
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        graph: Any = None,
        *,
        split: Split | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        on_epoch: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Learn from the labelled vertices.

        Parameters
        ----------
        X : array or sparse matrix (n, d)
            Features of all vertices, labelled or not. None takes those of ``graph``. For an
            estimator bound to a graph: the numbers of the vertices whose labels ``y`` holds.
        y : array (n,)
            Labels, strings or numbers; -1, None, NaN or '' where unknown. None takes those of
            ``graph``. Where the only values are -1 and 1, both are classes.
        graph : edges (m, 2) or (2, m), scipy sparse, networkx, PyG Data or Graph, optional
            Without one the graph has no edges and the network is an MLP.
        split : Split, optional
            Which vertices to train and to validate on; drawn from the labelled ones otherwise.
        checkpoint, resume
            Keep the state of training in a file, and go on from it.
        on_epoch : callable, optional
            Told of the :class:`~graphfilter.training.Progress` after every epoch.
        """
        self.check_parameters()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        fitted, codes = self._take_input(X, y, graph)
        if len(self.classes_) < 2:
            raise GraphError(
                f"there must be at least two classes among the labels; got {len(self.classes_)} "
                f"class: {', '.join(map(str, self.classes_)) or 'no vertex is labelled'}."
            )
        self.split_ = split if split is not None else self._draw_split(codes, seed)
        seeds = np.random.SeedSequence(seed).generate_state(self._n_members()).tolist()
        device = self._device()
        self.scaler_ = FeatureScaler.fit(fitted.features, self.feature_scaling)  # pyright: ignore
        x = to_tensor(self.scaler_.transform(fitted.features), device=device)  # pyright: ignore
        networks = [self._build(fitted, codes, s).to(device) for s in seeds]
        with self._progress_bar(on_epoch) as report:
            results = train(
                networks,
                make_operator(self.operator, fitted, device=device),
                x,
                torch.tensor(codes, device=device),
                [self.split_] * len(networks),
                self._train_config(),
                seeds=seeds,
                class_weight=self._class_weights(codes, device),
                on_epoch=report,
                checkpoint=checkpoint,
                resume=resume,
            )
        if any(r.stopped == "diverged" and r.best_epoch == 0 for r in results):
            raise GraphFilterError(
                "training diverged before anything was learned; lower the learning rates, or "
                "scale the features."
            )
        self.graph_ = fitted
        self.has_edges_ = fitted.n_edges > 0
        self._set_members(networks, results)
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
        target, rows = self._take_target(X, graph)
        device = self._device()
        x = to_tensor(self.scaler_.transform(target.features), device=device)  # pyright: ignore
        # Copies: what was fitted stays where it is, also while another thread predicts.
        members = [copy.deepcopy(member).to(device).eval() for member in self.members_]
        with torch.no_grad():
            logits = FilterNetwork.together(
                members,
                make_operator(self.operator, target, device=device),
                x,
                [None] * len(members),
            )
            every = logits.double().softmax(dim=2).mean(dim=1)
        probabilities = every.cpu().numpy()
        return probabilities if rows is None else probabilities[rows]

    def score(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, graph: Any = None
    ) -> float:
        """Return the accuracy on the vertices whose ``y`` is known.

        Without ``y``, against the labels of ``graph`` or of the fitted graph.
        """
        check_is_fitted(self)
        if y is None:
            y = _labels_of(graph if graph is not None else getattr(self, "graph_", None))
        codes, known = match_labels(y, self.classes_)
        if not known.any():
            raise GraphError("y must have at least one known label to score against; got none.")
        predicted = self.predict_proba(X, graph).argmax(axis=1)
        weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight)
        if not len(predicted) == len(codes) == len(weights):
            raise GraphError(
                f"there must be a label and a weight a vertex ({len(predicted)}); "
                f"got {len(codes)} and {len(weights)}."
            )
        if not weights[known].sum() > 0:
            raise GraphError("sample_weight must be positive on some vertex with a label.")
        return float(np.average(predicted[known] == codes[known], weights=weights[known]))

    def save(self, folder: str | Path, *, run: dict[str, Any] | None = None) -> None:
        """Write ``model.safetensors`` and ``config.json`` to ``folder``.

        The graph is not saved: predicting with a loaded model takes X and a graph. ``run`` is
        anything JSON can hold that should stand beside the model; without it, the folder of a run
        of ``graphfilter fit`` is refused, whose report would no longer be of its model.
        """
        check_is_fitted(self)
        if run is None and (Path(folder) / "metrics.json").exists():
            raise ConfigError(f"{folder}: holds a run of graphfilter fit; save to another folder.")
        save_classifier(self, folder, run)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote. Nothing in the files can run code."""
        return load_classifier(cls, folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _take_input(self, X: Any, y: Any, graph: Any) -> tuple[Graph, NDArray[np.int64]]:
        """Return the graph with its features, and the class number of every vertex."""
        if self.graph is not None:
            return self._take_bound_input(X, y, graph)
        if isinstance(graph, Graph):
            X = graph.features if X is None else X
        if X is None:
            raise GraphError("X must hold the features of the vertices; got None.")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2)
        if y is None and isinstance(graph, Graph) and graph.labels is not None:
            self.classes_, codes = graph.classes, graph.labels
            return Graph.of(graph, X.shape[0], features=X), codes
        if y is None:
            raise GraphError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Give the labels, or a Graph that has some."
            )
        codes = self._encode(y)
        if len(codes) != X.shape[0]:
            raise GraphError(
                f"X and y must have one row a vertex; got {X.shape[0]} and {len(codes)}."
            )
        return Graph.of(graph, X.shape[0], features=X), codes

    def _take_bound_input(self, X: Any, y: Any, graph: Any) -> tuple[Graph, NDArray[np.int64]]:
        bound = self.graph
        assert bound is not None
        if graph is not None:
            raise ConfigError("this estimator is bound to a graph; fit takes vertex numbers only.")
        if not isinstance(bound, Graph):
            raise ConfigError(
                "an estimator is bound to a Graph with features: Graph.of(edges, features=X); "
                f"got {type(bound).__name__}. Edges without one go to fit(X, y, graph=edges)."
            )
        if bound.features is None:
            raise GraphError("a graph to bind an estimator to must have features; it has none.")
        index = self._vertex_numbers(X, bound)
        found = self._encode(y)
        if len(found) != len(index):
            raise GraphError(f"there must be a label a vertex; got {len(found)}, {len(index)}.")
        codes = np.full(bound.n_vertices, -1, dtype=np.int64)
        codes[index] = found
        self.n_features_in_ = 1
        return bound, codes

    def _take_target(self, X: Any, graph: Any) -> tuple[Graph, NDArray[np.int64] | None]:
        """Return the graph to predict, and which of its vertices (None: all)."""
        if self.graph is not None and graph is None:
            return self.graph, None if X is None else self._vertex_numbers(X, self.graph)
        fitted: Graph | None = getattr(self, "graph_", None)
        if X is None:
            if isinstance(graph, Graph) and graph.features is not None:
                X = graph.features
            elif graph is None and fitted is not None:
                return fitted, None
            else:
                raise GraphError(
                    "a loaded model does not hold the graph it was fitted on; "
                    "pass X and graph to predict."
                )
        if self.graph is None:
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        else:
            # Bound to a graph, the estimator's own X are vertex numbers; these are features.
            X = check_array(X, accept_sparse="csr", dtype=np.float32)
        if graph is None and fitted is None and self.has_edges_:
            raise GraphError(
                "a loaded model does not hold the graph it was fitted on; pass the graph of X too."
            )
        if graph is None and fitted is not None and fitted.n_edges:
            if X.shape[0] != fitted.n_vertices:
                raise GraphError(
                    f"X has {X.shape[0]} rows but the fitted graph has {fitted.n_vertices} "
                    "vertices; pass the graph of X to predict another one."
                )
            graph = fitted
        return Graph.of(graph, X.shape[0], features=X), None

    def _vertex_numbers(self, X: Any, bound: Graph) -> NDArray[np.int64]:
        index = np.asarray(X)
        if index.ndim == 2 and index.shape[1] == 1:
            index = index[:, 0]
        if index.ndim != 1 or not np.issubdtype(index.dtype, np.integer):
            raise GraphError(
                "this estimator is bound to a graph: X must be vertex numbers, (m,) or (m, 1); "
                f"got shape {index.shape} of {index.dtype}."
            )
        if len(index) and (index.min() < 0 or index.max() >= bound.n_vertices):
            raise GraphError(f"vertex numbers must lie in 0..{bound.n_vertices - 1}.")
        return index.astype(np.int64)

    def _encode(self, y: ArrayLike) -> NDArray[np.int64]:
        values = y if isinstance(y, list | tuple) else column_or_1d(np.asarray(y), warn=True)
        codes, self.classes_ = encode_labels(values)
        if self.classes_.dtype.kind == "f":
            check_classification_targets(self.classes_)
        return codes

    def _draw_split(self, codes: NDArray[np.int64], seed: int) -> Split:
        share = self.validation_fraction
        if not 0 <= check_number("validation_fraction", share) < 1:
            raise ConfigError(f"validation_fraction must be in [0, 1); got {share}.")
        return stratified(codes, seed, (1 - share, share, 0.0))

    def check_parameters(self) -> None:
        """Raise where a parameter is impossible, before any work; ``fit`` does so too."""
        self._n_members()
        self._device()
        self._train_config()
        FeatureScaler.check(self.feature_scaling)
        check_name("operator", self.operator, OPERATORS)
        self._network(1, 2, seed=0)

    def _n_members(self) -> int:
        if not isinstance(self.n_members, int | np.integer) or self.n_members < 1:
            raise ConfigError(f"n_members must be a whole number from 1; got {self.n_members!r}.")
        return int(self.n_members)

    def _device(self) -> str:
        cuda = torch.cuda.is_available()
        if self.device == "auto":
            return "cuda" if cuda else "cpu"
        try:
            kind = torch.device(self.device).type
        except (RuntimeError, TypeError):
            kind = ""
        if kind not in ("cpu", "cuda"):
            raise ConfigError(f"device must be 'auto', 'cpu' or 'cuda'; got {self.device!r}.")
        if kind == "cuda" and not cuda:
            raise ConfigError("there is no CUDA device here; use device='auto' or 'cpu'.")
        return self.device

    def _build(self, graph: Graph, codes: NDArray[np.int64], seed: int) -> FilterNetwork:
        """Make an untrained member; a subclass may build another network on the graph."""
        return self._make_network(seed)

    def _make_network(self, seed: int) -> FilterNetwork:
        return self._network(self._n_columns(), len(self.classes_), seed)

    def _network(self, n_features: int, n_classes: int, seed: int) -> FilterNetwork:
        return FilterNetwork(
            n_features,
            n_classes,
            StackedFilter(self.n_layers, self.filter_init, seed),  # pyright: ignore
            hidden_size=self.hidden_size,
            dropout=self.dropout,
            dropout_on=self.dropout_on,  # pyright: ignore
            generator=torch.Generator().manual_seed(seed),
        )

    def _n_columns(self) -> int:
        return self.n_features_in_ if self.graph is None else self.graph.n_features

    def _train_config(self) -> TrainConfig:
        return TrainConfig(
            max_epochs=self.max_epochs,
            patience=self.patience,
            monitor=self.monitor,  # pyright: ignore
            filter_learning_rate=self.filter_learning_rate,
            learning_rate=self.learning_rate,
            filter_weight_decay=self.filter_weight_decay,
            weight_decay=self.weight_decay,
        )

    def _class_weights(self, codes: NDArray[np.int64], device: str) -> torch.Tensor | None:
        if self.class_weight is None:
            return None
        counts = np.bincount(codes[self.split_.train], minlength=len(self.classes_))
        if self.class_weight == "balanced":
            weights = counts.sum() / (len(counts) * np.maximum(counts, 1))
        elif isinstance(self.class_weight, dict):
            unknown = set(self.class_weight) - set(self.classes_.tolist())
            if unknown:
                raise ConfigError(f"class_weight names no class of y: {sorted(map(str, unknown))}.")
            weights = np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()])
            if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
                raise ConfigError(f"class weights must not be negative; got {self.class_weight}.")
        else:
            raise ConfigError(
                f"class_weight must be a dict, 'balanced' or None; got {self.class_weight!r}."
            )
        return torch.tensor(weights, dtype=torch.float32, device=device)

    def _progress_bar(self, on_epoch: Callable[[Progress], None] | None) -> Any:
        from graphfilter.progress import training_bar

        return training_bar(show=self.verbose, and_tell=on_epoch)

    def _set_members(self, networks: Sequence[FilterNetwork], results: Sequence[FitResult]) -> None:
        for network, result in zip(networks, results, strict=True):
            network.cpu().load_state_dict(result.state)
        self.members_ = [network.eval() for network in networks]
        self.results_ = list(results)
        self.history_ = results[0].history
        self.filters_: list[Filter] = [n.filter for n in networks if isinstance(n, FilterNetwork)]
        if self.filters_:
            self.filter_ = self.filters_[0]
        self.n_epochs_ = max(result.n_epochs for result in results)


def _labels_of(graph: Any) -> list[Any]:
    if not isinstance(graph, Graph) or graph.labels is None:
        raise GraphError("y must hold the labels to score against; got None.")
    return [None if code < 0 else graph.classes[code] for code in graph.labels]

"""Forest: many random trees that vote, with the interface of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import check_count
from graphfilter.graph import Features, Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.tree_nodes import NEVER, TreeNodes, dense

# Leaves of a tree, so that a forest on many vertices does not grow with them.
MOST_LEAVES = 4000


@dataclass(frozen=True)
class ForestConfig(ModelConfig):
    """See :class:`Forest`; fitted, not trained by gradients.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.ForestConfig(n_trees=50)
    ForestConfig(dropout=0.0, n_trees=50)
    """

    kind: ClassVar[str] = "Forest"
    fitted: ClassVar[bool] = True
    dropout: float = 0.0
    n_trees: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_trees", self.n_trees)

    def build(self, graph: Graph, generator: torch.Generator) -> Forest:
        return Forest(graph.n_features, graph.n_classes, self)


class Forest(TreeNodes[ForestConfig]):
    """Extremely randomised trees (scikit-learn's ``ExtraTreesClassifier``), kept as plain tensors.

    Where vertices are few, many trees grown at random are surer of what they know than boosted
    ones, and take a tenth of the time.

    Parameters
    ----------
    n_features, n_classes : int
    config : ForestConfig, optional

    Attributes
    ----------
    votes : Tensor (n_nodes, n_classes)
        The share of each class or label among the training vertices of a node, or the mean of
        each number.
    seen : bool Tensor (n_classes,)
        Which classes some training vertex has. Of labels (1, n_labels), of numbers (0, n_numbers).
    places, basis : Tensors (n, k), (d, j)
        What the view of places found; empty of another view.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import graphfilter as gf
    >>> columns, labels = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> forest = gf.models.Forest(1, 2, gf.models.ForestConfig(n_trees=5))
    >>> forest.fit(columns, labels, seed=0)
    >>> forest(None, torch.tensor([[0.0], [1.0]])).argmax(dim=1).tolist()
    [0, 1]
    """

    kept: ClassVar[dict[str, torch.dtype]] = {
        "votes": torch.float32,
        "seen": torch.bool,
        "places": torch.float32,
        "basis": torch.float32,
    }

    votes: Tensor
    seen: Tensor
    places: Tensor
    basis: Tensor

    def __init__(self, n_features: int, n_classes: int, config: ForestConfig | None = None) -> None:
        super().__init__(n_features, n_classes, config or ForestConfig())

    def fit(
        self,
        rows: Features,
        targets: NDArray[Any],
        *,
        sample_weight: NDArray[np.float64] | None = None,
        seed: int = 0,
    ) -> None:
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        # Shares of labels are means of 0 and 1: a forest of numbers has them in its leaves.
        kind = ExtraTreesClassifier if targets.ndim == 1 else ExtraTreesRegressor
        model = kind(
            self.config.n_trees,
            min_samples_leaf=max(1, len(targets) // MOST_LEAVES),
            random_state=seed % 2**32,
        )
        wanted = targets if targets.ndim == 1 else targets.astype(np.float64)
        model.fit(dense(rows), wanted, sample_weight=sample_weight)
        trees = [tree.tree_ for tree in model.estimators_]
        if targets.ndim == 1:
            present = np.asarray(model.classes_, dtype=np.int64)
            shares = np.concatenate([tree.value[:, 0] for tree in trees])
            votes = np.zeros((len(shares), self.n_classes))
            votes[:, present] = shares / shares.sum(axis=1, keepdims=True)
            seen = np.isin(np.arange(self.n_classes), present)
        else:
            votes = np.concatenate([tree.value[:, :, 0] for tree in trees])
            is_label = targets.dtype == np.bool_
            seen = np.ones((1, self.n_classes) if is_label else (0, self.n_classes))
        self.keep(
            [
                {
                    "threshold": tree.threshold,
                    "feature": tree.feature,
                    "left": tree.children_left,
                    "right": tree.children_right,
                    "missing_left": tree.missing_go_to_left.astype(bool),
                }
                for tree in trees
            ],
            votes=votes,
            places=np.zeros((0, 0)),
            basis=np.zeros((0, 0)),
            seen=seen,
        )

    def keep_view(self, found: Mapping[str, NDArray[np.float32]]) -> None:
        for name, values in found.items():
            setattr(self, name, torch.from_numpy(values))

    def kept_view(self) -> dict[str, NDArray[np.float32]] | None:
        if not self.places.numel():
            return None
        return {"places": self.places.cpu().numpy(), "basis": self.basis.cpu().numpy()}

    def is_whole(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        return (
            tuple(state["votes"].shape) == (n_nodes, self.n_classes)
            and state["seen"].shape[-1:] == (self.n_classes,)
            and state["seen"].shape[:-1] in ((), (0,), (1,))
            and state["places"].ndim == state["basis"].ndim == 2
        )

    def answers(self, leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithm of the votes, with one vote more that is shared by all classes.

        Of labels the log odds, each with one undecided vote more; of numbers their mean.
        """
        votes = self.votes.cpu().numpy()
        total = np.zeros((len(leaves), self.n_classes))
        for tree in leaves.T:
            total += votes[tree]
        n_trees = leaves.shape[1]
        if self.seen.ndim == 1:
            shares = (total + 1 / self.n_classes) / (n_trees + 1)
            return np.where(self.seen.cpu().numpy(), np.log(shares), NEVER)
        if not len(self.seen):
            return total / n_trees
        return np.log(total + 0.5) - np.log(n_trees - total + 0.5)

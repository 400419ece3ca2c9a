"""What a benchmark is run on: which graph, which split of it, which device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.datasets import describe, load_dataset
from graphfilter.data.files import read_npz
from graphfilter.data.graph import Graph
from graphfilter.splits import Split, few, fraction, per_class, stratified
from graphfilter.util.errors import ConfigError, GraphError, GraphFilterError, check_name

SPLIT_RULES = (
    "stratified", "per_class", "fixed", "public", "fraction:0.1", "few:0.01", "seen:0.2", "new:0.2",
)  # fmt: skip
# Those that take the share of training vertices, or of test vertices.
NEW = "new"


def _held_out(labels: NDArray[np.int64], seed: int, share: float) -> Split:
    """Test on a share of the vertices; train on three quarters of the others."""
    return stratified(labels, seed, (0.75 * (1 - share), 0.25 * (1 - share), share))


_SHARED = {"fraction": fraction, "few": few, "seen": _held_out, NEW: _held_out}


def dataset_name(dataset: str | Path) -> str:
    """Return the name a dataset is recorded under: the registry's own, or the npz path as given.

    >>> dataset_name("amazon_photo"), dataset_name("mine/graph.npz")
    ('photo', 'mine/graph.npz')
    """
    if Path(dataset).suffix.lower() == ".npz":
        return str(dataset)
    return describe(str(dataset)).name


class GraphLoader:
    """Load datasets; keep the last, since a matrix runs all models on one before the next.

    Errors are kept too: a download that failed is not tried again for each model.
    """

    def __init__(self) -> None:
        self._name = ""
        self._loaded: tuple[Graph, str] | GraphFilterError | None = None

    def __call__(self, name: str) -> tuple[Graph, str]:
        """Return the graph of this name and its checksum."""
        if name != self._name or self._loaded is None:
            self._name = name
            try:
                graph = read_npz(name) if name.lower().endswith(".npz") else load_dataset(name)
                # By this name, and not by one that a file gives itself, settings are looked up.
                self._loaded = graph.replace(name=name), graph.checksum()
            except GraphFilterError as error:
                self._loaded = error
        if isinstance(self._loaded, GraphFilterError):
            raise self._loaded
        return self._loaded


def check_split_rule(rule: str) -> str:
    """Return the rule in its one spelling, or raise.

    >>> check_split_rule("fraction:0.10")
    'fraction:0.1'
    """
    name, colon, value = rule.partition(":")
    if name not in _SHARED or not colon:
        return check_name("split rule", rule, SPLIT_RULES)
    try:
        share = float(value)
    except ValueError:
        share = np.nan
    if not 0 < share < 1:
        raise ConfigError(f"the share of a split must be in (0, 1); got {rule!r}.")
    return f"{name}:{share:g}"


def split_index(rule: str, run: int) -> int:
    """Return the index of a run's split: its own, or 0 where there is only one split."""
    return 0 if rule == "public" else run


def draw_split(graph: Graph, rule: str, index: int) -> Split:
    """Return split number ``index`` of a rule: drawn from that seed, or the graph's own.

    Rules: ``stratified`` (60/20/20 of every class, the paper's), ``per_class`` (GPR-GNN and
    later), ``fixed`` and ``public`` (those that come with the data), ``fraction:0.1`` (that
    share for training), ``few:0.01`` (that share for training, and as much for validation),
    ``seen:0.2`` (that share for test, a quarter of the rest for validation) and ``new:0.2`` (the
    same, and the test vertices are not there until the system is trained).
    """
    rule = check_split_rule(rule)
    if graph.labels is None:
        raise GraphError("a graph to be split must have labels; it has none.")
    if rule == "stratified":
        return stratified(graph.labels, index)
    if rule == "per_class":
        return per_class(graph.labels, index)
    name, _, share = rule.partition(":")
    if name in _SHARED:
        return _SHARED[name](graph.labels, index, float(share))
    own = [split for split in graph.splits if split.rule == rule]
    if index >= len(own):
        raise GraphError(
            f"{graph.name} must have a {rule} split number {index}; it has {len(own)} {rule} "
            "splits, numbered from 0. Ask for fewer runs, or for the split rule stratified."
        )
    return own[index]

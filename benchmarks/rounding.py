"""How far a run moves when its features change by rounding: what records may differ by elsewhere.

    python benchmarks/rounding.py --dataset cornell --model gpr-gnn --split 9 --scaling auto

The run is that of ``graphfilter bench``, again and again with features multiplied by 1, 1 + 2^-23,
1 + 2^-22, ...: the steps of float32. Another processor, kernel or torch rounds differently by as
much. Printed are the test accuracy and the epoch of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from graphfilter import Graph, load_dataset
from graphfilter.models.scaling import FeatureScaler
from graphfilter.splits import Split
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter_research.bench.protocol import draw_split


def moved(
    graph: Graph, split: Split, model: str, seed: int, scaling: str, times: int
) -> Iterator[tuple[float, int]]:
    """Train with features that differ by a step of float32 each; give test accuracy and epochs."""
    assert graph.features is not None
    assert graph.labels is not None
    # Scaled first: a row that is divided by its sum undoes what all of it is multiplied by.
    features = FeatureScaler.fit(graph.features, scaling).transform(graph.features)
    for step in range(times):
        near = graph.replace(features=features * np.float32(1 + step * 2**-23))
        prepared = Prepared.of(near, scaling="none", device="cpu")
        (outcome,) = train_system(prepared, get_system(model), [split], [seed])
        right = outcome.probabilities.argmax(axis=1) == graph.labels
        yield float(right[split.test].mean()), outcome.n_epochs


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="karate")
    parser.add_argument("--model", default="sgf")
    parser.add_argument("--split", type=int, default=0, metavar="N")
    parser.add_argument("--split-rule", default="stratified", metavar="RULE")
    parser.add_argument("--scaling", default="auto", metavar="NAME")
    parser.add_argument("--times", type=int, default=4, metavar="N")
    given = parser.parse_args(words)
    graph = load_dataset(given.dataset)
    split = draw_split(graph, given.split_rule, given.split)
    for accuracy, n_epochs in moved(
        graph, split, given.model, given.split, given.scaling, given.times
    ):
        print(f"test accuracy {100 * accuracy:.1f}, {n_epochs} epochs", flush=True)


if __name__ == "__main__":
    main()

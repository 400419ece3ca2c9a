"""What is decided before a fit of numbers, or of several labels: the target and the split."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from graphfilter.errors import GraphError
from graphfilter.estimators.targets import Target
from graphfilter.run_folder.channels import has_channels
from graphfilter.run_folder.plan import Plan, Source, with_features
from graphfilter.run_folder.split_choice import STRATIFIED, SplitBy, choose_split, without_future


@dataclass(frozen=True, eq=False)
class ValuePlan(Plan):
    """A plan with a target in place of classes; its graph's classes are the target's names."""

    target: Target | None = None

    @property
    def known_target(self) -> Target:
        assert self.target is not None
        return self.target


def plan_values(source: Source, target: Target, seed: int, by: SplitBy = STRATIFIED) -> ValuePlan:
    """Check a graph and what is to be learned of it, and choose a split; nothing is written."""
    graph, notes = with_features(source.graph)
    if len(target) != graph.n_vertices:
        raise GraphError(
            f"there must be one value per vertex ({graph.n_vertices}); got {len(target)}."
        )
    said = [*notes]
    if source.graph.labels is not None:
        said.append("the labels of the graph are left out: other columns are to be predicted.")
    if has_channels(graph):
        said.append("directions and kinds of edges are not used for numbers and several labels.")
    if n_unknown := int((target.codes < 0).sum()):
        said.append(f"{n_unknown:,} of {len(target):,} vertices have no value: predicted only.")
    # Not Graph.replace, which would renumber the classes.
    graph = dataclasses.replace(graph, labels=target.codes.copy(), classes=target.names)
    split, split_notes = choose_split(graph, seed, by)
    graph, time_notes = without_future(graph, split, by)
    split_notes = (*split_notes, *time_notes)
    return ValuePlan(
        source, graph, split, (*graph.notes, *said, *split_notes), not notes, by, target
    )

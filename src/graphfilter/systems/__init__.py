"""Systems: named, trainable methods, and the pipeline that prepares, trains and predicts.

A system is a model's config, an operator and a training config: ``get_system("gcn")``, or in
another setting ``get_system("sgf@dropout=0.5")``. :func:`train_system` trains any of them on a
prepared graph.
"""

from graphfilter.systems.committee import (
    Committee as Committee,
    repeated_seed as repeated_seed,
    repeats as repeats,
)
from graphfilter.systems.committee_outcome import CommitteeOutcome as CommitteeOutcome
from graphfilter.systems.committee_part import without_own_labels as without_own_labels
from graphfilter.systems.committees import COMMITTEE as COMMITTEE, GROUPS as GROUPS
from graphfilter.systems.costs import Cost as Cost, estimate_cost as estimate_cost
from graphfilter.systems.growth import SHARES as SHARES
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pipeline import (
    is_divided as is_divided,
    learned_filters as learned_filters,
    predict_untrained as predict_untrained,
    train_system,
)
from graphfilter.systems.pooling import (
    TEMPERATURES as TEMPERATURES,
    together as together,
)
from graphfilter.systems.pools import pooling_of as pooling_of
from graphfilter.systems.predicting import predict_into as predict_into, predict_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.registry import SYSTEMS, find_system, get_system
from graphfilter.systems.scale_choice import find_scale as find_scale
from graphfilter.systems.start import Start as Start
from graphfilter.systems.system import PAPER, System

__all__ = [
    "PAPER",
    "SYSTEMS",
    "Outcome",
    "Prepared",
    "System",
    "find_system",
    "get_system",
    "predict_networks",
    "train_system",
]

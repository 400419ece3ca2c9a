"""What a model sees of each vertex: features on a common scale, views, positions in the graph."""

from graphfilter.inputs.known import Known
from graphfilter.inputs.scaling import SCALINGS, FeatureScaler
from graphfilter.inputs.singular import MOST_PLACES
from graphfilter.inputs.views import (
    AVERAGES,
    COMPRESSED,
    COMPRESSED_AVERAGES,
    MOST_AVERAGED,
    MOST_HOPS,
    VIEWS,
    Found,
    average_hops,
    averages,
    find_view,
    fix_view,
)

__all__ = [
    "AVERAGES",
    "COMPRESSED",
    "COMPRESSED_AVERAGES",
    "MOST_AVERAGED",
    "MOST_HOPS",
    "MOST_PLACES",
    "SCALINGS",
    "VIEWS",
    "FeatureScaler",
    "Found",
    "Known",
    "average_hops",
    "averages",
    "find_view",
    "fix_view",
]

"""What a model sees of each vertex: features on a common scale, views, positions in the graph."""

from graphfilter.inputs.known import Known as Known
from graphfilter.inputs.scaling import SCALINGS as SCALINGS, FeatureScaler as FeatureScaler
from graphfilter.inputs.singular import MOST_PLACES as MOST_PLACES
from graphfilter.inputs.views import (
    AVERAGES as AVERAGES,
    COMPRESSED as COMPRESSED,
    COMPRESSED_AVERAGES as COMPRESSED_AVERAGES,
    MOST_AVERAGED as MOST_AVERAGED,
    MOST_HOPS as MOST_HOPS,
    VIEWS as VIEWS,
    Found as Found,
    average_hops as average_hops,
    averages as averages,
    find_view as find_view,
    fix_view as fix_view,
)

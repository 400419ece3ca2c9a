"""What a model sees of each vertex: features on a common scale, views, places in the graph."""

from graphfilter.inputs.scaling import SCALINGS, FeatureScaler
from graphfilter.inputs.views import VIEWS, find_view, fix_view

__all__ = ["SCALINGS", "VIEWS", "FeatureScaler", "find_view", "fix_view"]

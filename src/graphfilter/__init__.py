"""Learn the graph filter your labels need."""

from graphfilter.graph import Graph

__version__ = "0.1.0"

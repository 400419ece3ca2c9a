"""Learn the graph filter your labels need."""

__version__ = "0.1.0"

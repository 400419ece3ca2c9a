"""The version of the package, defined once."""

__version__ = "0.2.0"

"""The studio: a page on this machine, to train a filter and watch it take shape."""

from graphfilter.studio.runs import RunSetting
from graphfilter.studio.server import Studio, serve

__all__ = ["RunSetting", "Studio", "serve"]

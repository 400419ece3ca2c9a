"""Named datasets of other projects: the catalogue, downloads, and readers of their formats.

This module is the collection that the entry point ``graphfilter.datasets`` names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphfilter_research.datasets import readers
from graphfilter_research.datasets.catalogue import DATASETS
from graphfilter_research.datasets.registry import load, locate

__all__ = ["DATASETS", "find_raw", "load", "locate", "readers"]


def find_raw(folder: Path) -> Callable[..., Any] | None:
    """Return what builds a store from a folder of the Open Graph Benchmark; None of any other."""
    from graphfilter_research.datasets.ogb import build_ogb_store, is_ogb

    return build_ogb_store if is_ogb(folder) else None

"""Request: what is to be trained, and how whoever asks is kept informed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import Split
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.start import Start
from graphfilter.systems.system import System
from graphfilter.training import SILENT, Callback


@dataclass(frozen=True, eq=False)
class Request:
    """A system to be trained on a prepared graph, once per split and seed.

    ``class_weight`` is an array (n_classes,). ``start`` holds weights to begin with. ``of_past``
    says that the prepared graph is the past of the one that is answered for.
    """

    prepared: Prepared
    system: System
    splits: Sequence[Split]
    seeds: Sequence[int]
    class_weight: NDArray[np.float64] | None = None
    callback: Callback = SILENT
    start: Start | None = None
    of_past: bool = False

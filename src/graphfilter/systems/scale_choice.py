"""Which scale a number is learned on, found by a simple model before anything else is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.inputs import AVERAGES, MOST_AVERAGED
from graphfilter.splits import Split
from graphfilter.systems.prepared import Prepared
from graphfilter.training import TargetScale, choose_scale

# Rounds of the trees that compare the scales.
N_ROUNDS = 50
# Rows of which scales are compared: more say nothing new.
MOST_ROWS = 5000


def find_scale(prepared: Prepared, y: NDArray[np.float64], split: Split) -> TargetScale:
    """Return the scale on which boosted trees best foretell the numbers of validation vertices.

    They see features and neighbours' averages; where columns are too many for trees, a ridge
    regression sees the features.
    """
    features = prepared.graph.features
    assert features is not None
    wide = features.shape[1] > MOST_AVERAGED
    view = prepared if wide else prepared.seen_as(AVERAGES)
    rows: Any = view.scaled()
    train = split.train
    if len(train) > MOST_ROWS:
        train = np.sort(np.random.default_rng(0).permutation(train)[:MOST_ROWS])

    def predict(t: NDArray[np.float64]) -> NDArray[np.float64]:
        return _simple_model(wide).fit(rows[train], t).predict(rows[split.val])

    if not wide and sp.issparse(rows):
        rows = rows.toarray()
    chosen = choose_scale(y, train, split.val, predict)
    return TargetScale.fit(y[split.train], chosen.name)


def _simple_model(wide: bool) -> Any:
    # Slow to import, and used once per fit.
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    if wide:
        return Ridge(alpha=1.0, solver="lsqr")
    return HistGradientBoostingRegressor(max_iter=N_ROUNDS, early_stopping=False, random_state=0)

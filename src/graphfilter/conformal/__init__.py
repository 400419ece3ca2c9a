"""Sets of classes and intervals of numbers that hold the truth as often as they promise.

Conformal prediction from outputs that are there: nothing is trained again. The promise needs
vertices that are exchangeable: those to be predicted must have been drawn like those that are held
to calibrate. Arrays in, arrays out.

MAPIE calibrates an estimator that it calls with rows of X, and its
cross-conformal classes clone and refit that estimator for every fold: here one training has
answered for all vertices at once, and only the pool of members is fitted without a fold. Its scores
are of one row at a time, so that they cannot be averaged over neighbours; and it takes no several
labels in a set that holds them all.
"""

from graphfilter.conformal.coverages import (
    check_coverage as check_coverage,
    fewest_for as fewest_for,
)
from graphfilter.conformal.intervals import (
    IntervalCalibration as IntervalCalibration,
    IntervalFold as IntervalFold,
)
from graphfilter.conformal.neighbours import (
    Average as Average,
    neighbour_average as neighbour_average,
)
from graphfilter.conformal.sets import (
    SetCalibration as SetCalibration,
    SetFold as SetFold,
    SetRule as SetRule,
    sets_at as sets_at,
)

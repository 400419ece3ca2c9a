"""Which vertices are trained, validated and tested on: Split, and the rules that draw one."""

from graphfilter.splits.folds import (
    N_FOLDS as N_FOLDS,
    NO_FOLD as NO_FOLD,
    Folding as Folding,
    held_folds as held_folds,
    set_aside as set_aside,
)
from graphfilter.splits.rules import (
    EARLIER as EARLIER,
    Split,
    by_group,
    by_time,
    check_vertices,
    few,
    fraction,
    per_class,
    stratified,
)

__all__ = [
    "Split",
    "by_group",
    "by_time",
    "check_vertices",
    "few",
    "fraction",
    "per_class",
    "stratified",
]

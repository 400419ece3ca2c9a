"""*Adaptive Stacked Graph Filter*: its published numbers as data, and its experiments again.

One file per table or figure, named after it: ``collect`` runs or measures what is not on record,
``build`` makes the table or figure from the records, and ``TARGET`` at its end declares it. To add
one, write such a file and list it in ``targets``. What several share: ``accuracy_table`` (Tables 2
and 3), ``filter_dynamics`` (Figures 4 and 8), ``rewiring`` (Figure 3), ``collect``,
``comparison`` and ``tables``. Runs are made by ``bench``.
"""

from graphfilter.paper.options import QUICK_EPOCHS, QUICK_RUNS, Options
from graphfilter.paper.reproduction_page import write_reproduction
from graphfilter.paper.tables import Rendered, make_table
from graphfilter.paper.target import Target
from graphfilter.paper.targets import TARGETS

__all__ = [
    "QUICK_EPOCHS",
    "QUICK_RUNS",
    "TARGETS",
    "Options",
    "Rendered",
    "Target",
    "make_table",
    "write_reproduction",
]

"""The training loop: one run or many side by side, stopped early, resumable to the bit.

:func:`train` takes networks, an operator, features, labels, splits and a :class:`TrainConfig`, and
returns one result per run.
"""

from graphfilter.training.callbacks import *
from graphfilter.training.epoch import *
from graphfilter.training.loop import *
from graphfilter.training.scores import *
from graphfilter.training.tasks import *

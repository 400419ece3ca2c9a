"""Systems: named, trainable methods, and the pipeline that prepares, trains and predicts.

A system is a model's config, an operator and a training config: ``get_system("gcn")``, or in
another setting ``get_system("sgf@dropout=0.5")``. :func:`train_system` trains any of them on a
prepared graph.
"""

from graphfilter.systems.committee import *
from graphfilter.systems.networks import *
from graphfilter.systems.outside import *
from graphfilter.systems.prepared import *
from graphfilter.systems.registry import *
from graphfilter.systems.system import *

"""Networks that label the vertices of a graph, each with a typed config.

:class:`FilterNetwork` is an encoder, any filter, and a head. The others are members of the
committee; networks of other papers come with the package ``graphfilter_research``. They are made as
:class:`SizedNetwork` or :class:`GraphNetwork` says, and called with an operator and the features:
``network(operator, x)`` returns the logits.
"""

from graphfilter.models.base import *
from graphfilter.models.channels import *
from graphfilter.models.correction import *
from graphfilter.models.deep import *
from graphfilter.models.forest import *
from graphfilter.models.hops import *
from graphfilter.models.kernel import *
from graphfilter.models.layers import *
from graphfilter.models.linear import *
from graphfilter.models.network import *
from graphfilter.models.trees import *
from graphfilter.util import plugins as _plugins


def __getattr__(name: str) -> object:
    """Find a network of another paper, which was here in 0.2; gone with 0.4."""
    return _plugins.moved(__name__, name, _plugins.SYSTEMS)

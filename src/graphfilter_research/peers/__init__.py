"""Systems of other papers, in their authors' settings, and their networks.

To add one, write its network in a file of its own and its line in one of the lists of systems.
"""

from typing import Any

from graphfilter_research.peers.author_systems import AUTHOR_SYSTEMS
from graphfilter_research.peers.later_systems import LATER_SYSTEMS
from graphfilter_research.peers.peer_systems import PEER_SYSTEMS

SYSTEMS = (*PEER_SYSTEMS, *LATER_SYSTEMS, *AUTHOR_SYSTEMS)

# Networks, their configs and what predicts without training, by name, as graphfilter.models had
# them in 0.2.
NETWORKS: dict[str, Any] = {
    kind.__name__: kind
    for system in SYSTEMS
    for kind in (
        *((type(system.model), type(system.model).network) if system.model else ()),
        *((system.predict,) if system.predict else ()),
    )
    if kind.__module__.startswith(__name__)
}


def __getattr__(name: str) -> Any:
    if name not in NETWORKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NETWORKS[name]

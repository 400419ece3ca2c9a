"""Systems of other papers, in their authors' settings: one network per file."""

from graphfilter_research.peers.author_systems import AUTHOR_SYSTEMS
from graphfilter_research.peers.later_systems import LATER_SYSTEMS
from graphfilter_research.peers.peer_systems import PEER_SYSTEMS

SYSTEMS = (*PEER_SYSTEMS, *LATER_SYSTEMS, *AUTHOR_SYSTEMS)

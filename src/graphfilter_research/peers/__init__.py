"""Systems of other papers, in their authors' settings, and their networks.

To add one, write its network in a file of its own and its line in one of the lists of systems.
"""

from dataclasses import replace
from typing import Any

from graphfilter.systems.system import Committee
from graphfilter_research.peers.author_systems import AUTHOR_SYSTEMS
from graphfilter_research.peers.later_systems import LATER_SYSTEMS
from graphfilter_research.peers.peer_systems import PEER_SYSTEMS


# Those that learn from the folds that the committee learns from where vertices are few.
class _Folded(Committee):
    def for_dataset(self, name: str) -> Committee:
        return replace(self, members=tuple(m.for_dataset(name) for m in self.members))


_FOLDS: dict[str, Any] = {"setting": "own", "folds_up_to": 1000}
FOLDED = tuple(
    _Folded(f"{p.name}-folds", f"{p.title}, with folds", None, members=(p,), **_FOLDS)
    for p in LATER_SYSTEMS
    if p.name in ("fsgnn", "acm-gcn")
)
SYSTEMS = (*PEER_SYSTEMS, *LATER_SYSTEMS, *AUTHOR_SYSTEMS, *FOLDED)

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

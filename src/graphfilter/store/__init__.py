"""A graph in a folder: arrays that are mapped into memory, not read, and a header.

What belongs here is the format and what writes it:

- :mod:`.header`: the typed header, written last; :mod:`.arrays`: the arrays, with checksums;
  :mod:`.names`: the ids;
- :mod:`.reading`: a folder as a graph; :mod:`.writing`: a graph as a folder;
- :mod:`.build`: from tables larger than memory, in stages that resume: :mod:`.vertices` (or
  :mod:`.ends`), :mod:`.features` and :mod:`.edges`; :mod:`.ids` finds numbers, :mod:`.engine`,
  which is DuckDB, sorts;
- :mod:`.ogb`, :mod:`.build_ogb`: the same from the raw files of OGB's datasets;
- :mod:`.hops`: averages of features over neighbours, kept when they were needed once;
- :mod:`.needs`: what a build will take, said beforehand.
"""

from graphfilter.store.build import build_store as build_store, open_tables as open_tables
from graphfilter.store.build_ogb import build_ogb_store as build_ogb_store
from graphfilter.store.header import (
    is_store as is_store,
    read_header as read_header,
)
from graphfilter.store.hops import (
    STRUCTURE as STRUCTURE,
    edges_of as edges_of,
    kept_hops as kept_hops,
    store_of as store_of,
)
from graphfilter.store.needs import estimate_build as estimate_build
from graphfilter.store.ogb import is_ogb as is_ogb
from graphfilter.store.powers import (
    WORTH_KEEPING as WORTH_KEEPING,
    Recipe as Recipe,
    kept_powers as kept_powers,
)
from graphfilter.store.reading import open_store as open_store
from graphfilter.store.writing import write_store as write_store

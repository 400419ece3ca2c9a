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

from graphfilter.store.build import build_store, open_tables
from graphfilter.store.build_ogb import build_ogb_store
from graphfilter.store.header import HEADER_FILE, Header, is_store, read_header
from graphfilter.store.hops import STRUCTURE, edges_of, kept_hops, store_of
from graphfilter.store.needs import BuildNeeds, estimate_build
from graphfilter.store.ogb import is_ogb
from graphfilter.store.powers import WORTH_KEEPING, Recipe, kept_powers
from graphfilter.store.reading import open_store
from graphfilter.store.writing import write_store

__all__ = [
    "HEADER_FILE",
    "STRUCTURE",
    "WORTH_KEEPING",
    "BuildNeeds",
    "Header",
    "Recipe",
    "build_ogb_store",
    "build_store",
    "edges_of",
    "estimate_build",
    "is_ogb",
    "is_store",
    "kept_hops",
    "kept_powers",
    "open_store",
    "open_tables",
    "read_header",
    "store_of",
    "write_store",
]

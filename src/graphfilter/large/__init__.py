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

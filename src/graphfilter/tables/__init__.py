"""Tables of edges and vertices: files and frames read, their columns understood and encoded.

A table is a :class:`~.source.TableSource`: a file (:mod:`.formats` lists the formats by suffix) or
a frame in memory (:mod:`.frames`). Everything else is the same for both, and knows no Graph:
:mod:`.build` gives the parts that ``graph`` makes one of.
"""

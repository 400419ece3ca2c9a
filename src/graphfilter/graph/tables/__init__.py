"""From tables to a graph: which column is what, and what its cells mean.

A table is a :class:`~.source.TableSource`: a file (``data/readers/``) or a frame in memory
(:mod:`.frames`). Everything here is the same for both.
"""

"""Graphs that do not fit in memory: stores built from tables of any size, and what is kept in them.

A store itself, how it is opened and written, is :mod:`graphfilter.data.store`.

- :mod:`.build`: from two tables to a store, in stages that resume, and what that will take; the
  edges, numbered, sorted both ways and merged;
- :mod:`.vertices`: the table of vertices, column by column, and its features; the numbers of ids,
  and DuckDB, which sorts what does not fit;
- :mod:`.hops`: hops of features, made once and kept beside the arrays.
"""

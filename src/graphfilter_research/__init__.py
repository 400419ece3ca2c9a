"""The paper's tables and figures, systems of other papers, and benchmarks of all of them.

It enters :mod:`graphfilter` by entry points, as any other package can: systems, commands and
datasets.
"""

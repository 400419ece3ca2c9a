"""Pictures with matplotlib: axes in, axes out.

Each function draws on the axes it is given and returns them; without axes it makes a figure of
pyplot's, which notebooks show. No setting of matplotlib is changed, and pyplot is imported only
when it is needed.
"""

from graphfilter.spectral.plot import response

__all__ = ["response"]

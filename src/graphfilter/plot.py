"""Pictures: with matplotlib, axes in, axes out, and small ones for notebooks, written as text.

Each function draws on the axes it is given and returns them; without axes it makes a figure of
pyplot's, which notebooks show. No setting of matplotlib is changed, and pyplot is imported only
when it is needed. What a notebook shows of an object needs no library, and appears at once, in
light and dark.
"""

from graphfilter.spectral.plot import response

__all__ = ["response"]

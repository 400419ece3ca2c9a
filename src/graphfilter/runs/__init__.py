"""One fit, read by everyone: planned, trained once, judged, and left in a folder.

- :mod:`.plan`: what a user requests, what is decided before training, and what it will take;
- :mod:`.fit`: :class:`Fit`, immutable, and the one way it is made, plain models of the same type
  included; :mod:`.answers`: its threshold, its sets or intervals;
- :mod:`.comparison`: what models are judged by, and who is better; :mod:`.cases`: why a vertex is
  answered so, and which are worth a look; :mod:`.findings`: all that is said of a fit, computed
  once;
- :mod:`.folder`: fitting into a folder; :mod:`.loading`: what is in one, written and read;
- :mod:`.predict`: what a run says of a graph; :mod:`.drift`: how that differs from the fit's.
"""

"""One fit, read by everyone: what is planned before training, trained once, and derived from it.

- :mod:`.plan`: what a user requests, and what is decided before training; :mod:`.decision`:
  thresholds; :mod:`.dry_run`: what a fit will take;
- :mod:`.training`: :class:`Fit`, immutable, and the one way it is made, baselines of the same type
  and repeats on other splits included; :mod:`.calibration`: its sets or intervals;
- :mod:`.comparison`: what models are judged by, and who is better; :mod:`.measure`: the content of
  ``metrics.json``;
- :mod:`.drift`: what later graphs are compared with, and how they differ.

Nothing here knows of files: ``report`` draws a fit, ``run_folder`` writes it.
"""

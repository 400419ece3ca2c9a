"""*Adaptive Stacked Graph Filter*: its published numbers as data, and its experiments again.

A file per question of the paper declares targets, by table or figure: a ``RunTable`` says what the
benchmark is to run and how the records are shown, a ``TaskTable`` what else is trained, a
``MeasuredTarget`` what needs no training. To add one, write such a file and list it in ``targets``.
What several share: ``published`` (what is printed), ``collect`` (how runs are made and kept) and
``tables`` (how they are compared and shown).
"""

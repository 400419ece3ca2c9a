"""*Adaptive Stacked Graph Filter*: its published numbers as data, and its experiments again.

One file per table or figure, named after it, whose ``TARGET`` declares it: a ``RunTable`` says what
the benchmark is to run and how the records are shown, a ``TaskTable`` what else is trained, a
``MeasuredTarget`` what needs no training. To add one, write such a file and list it in ``targets``.
What several share: ``accuracy_table`` (Tables 2 and 3), ``filter_dynamics`` (Figures 4 and 8),
``rewired_table`` (Figure 3), ``collect``, ``comparison`` and ``tables``.
"""

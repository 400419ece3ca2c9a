"""Systems side by side, on the same graphs, splits and training loop; every run on record.

``matrix`` runs pairs of a system and a dataset and writes a ``record`` per run, ``summary`` turns
records into means and tests, ``tables`` writes tables in every form, ``search`` tunes a system.
A new split rule goes into ``protocol``.
"""

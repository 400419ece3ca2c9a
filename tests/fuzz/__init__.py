"""Fuzzers: damaged files of every format, read in a process of their own.

``python -m tests.fuzz.run --budget 100000`` runs that many mutants per format.
"""

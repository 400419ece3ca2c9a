"""The machine: its threads, and which device computes.

Imports nothing of the package but its errors; ``threads`` says how those who import us keep a
busy machine from slowing them down.
"""

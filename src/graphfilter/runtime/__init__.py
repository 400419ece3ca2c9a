"""The machine: which device computes. Imports nothing of the package but its errors."""

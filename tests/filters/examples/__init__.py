"""Training scripts of the shape of PyTorch Geometric's examples, with the layer as an argument.

Written for these tests against its public API, on a small graph in the place of Planetoid. Each
runs by itself too: ``python -m tests.filters.examples.gcn``.
"""

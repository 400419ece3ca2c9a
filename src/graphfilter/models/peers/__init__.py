"""Networks of other papers, one per file, to compare with on equal terms.

Many are written on PyTorch Geometric's layers (``pyg.py``).
"""

"""Peers: networks of other authors, one per file, each with a typed config."""

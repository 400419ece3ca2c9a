"""New vertices, beyond the paper: accuracy on vertices that were not there in training."""

from __future__ import annotations

from graphfilter_research.paper.run_table import RunTable
from graphfilter_research.paper.share_table import ShareTable

SHARES = ShareTable(
    title="New vertices: accuracy on vertices that were not there in training",
    by="the share of vertices that are tested on",
    note=(
        "A share of the vertices is tested on, and three quarters of the others are trained on, "
        "the rest validated on. Seen: the test vertices are in the graph, without labels. New: the "
        "system is trained without them, and asked on the graph with them; the committee knows the "
        "other vertices by their ids. Run r has split r and seed r."
    ),
    x_label="new vertices in %",
    shares=(0.05, 0.2, 0.5),
    quick_shares=(0.2,),
    protocols=("seen", "new"),
    systems=("committee", "sgf", "gcn", "graphsage", "trees"),
)
TARGET = RunTable(
    name="new-vertices",
    summary="accuracy on vertices that were not there in training (beyond the paper)",
    datasets=(
        "cora", "citeseer", "pubmed", "photo", "computers", "chameleon", "squirrel", "actor",
        "wisconsin", "cornell",
    ),
    quick=("texas",),
    pairs=SHARES.pairs,
    show=SHARES.show,
    is_variant=True,
)  # fmt: skip

"""Label efficiency, beyond the paper: accuracy with few labels, for validation too.

The paper leaves it open whether a filter can be adaptive and need few labels.
"""

from __future__ import annotations

from graphfilter_research.paper.run_table import RunTable
from graphfilter_research.paper.share_table import ShareTable

SHARES = ShareTable(
    title="Label efficiency: accuracy by the share of training vertices",
    by="the share of training vertices",
    note=(
        "Of every class a share of the vertices is trained on and as many (at most 20 %) validated "
        "on, at least one each; the rest is tested on. Public: the Planetoid split, ten seeds."
    ),
    x_label="vertices trained on in %",
    shares=(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6),
    quick_shares=(0.01,),
    protocols=("few",),
    systems=("committee", "sgf", "mlp", "gcn", "appnp", "gpr-gnn", "gcnii"),
    also=dict.fromkeys(("cora", "citeseer", "pubmed"), ("public",)),
)
TARGET = RunTable(
    name="label-efficiency",
    summary="accuracy with few labels (beyond the paper)",
    # Low, middle and high label frequency.
    datasets=("cora", "citeseer", "pubmed", "actor", "chameleon", "bipartite_sparse"),
    quick=("cora",),
    pairs=SHARES.pairs,
    show=SHARES.show,
    is_variant=True,
)

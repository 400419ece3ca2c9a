"""Why a vertex is labelled as it is: what its features, its neighbours and its position contribute.

- :mod:`.linear`: exact, for networks of encoder, filter and head;
- :mod:`.leaving_out`: for any other network, by hiding features step by step;
- :mod:`.members`: several networks combined by weight; :mod:`.views`: those that see more than
  features; :mod:`.embedding`: their hidden layers;
- :mod:`.explanation`: one vertex with names and in words;
- :mod:`.suggestions`: which label would teach most.
"""

from graphfilter.explain.contributions import STEPS, Contributions
from graphfilter.explain.embedding import embed_members
from graphfilter.explain.explanation import Explanation, FeatureShare, StepShare, VertexShare
from graphfilter.explain.leaving_out import explain_by_leaving_out
from graphfilter.explain.linear import explain_linear
from graphfilter.explain.members import (
    Member,
    explain_members,
    explain_vertices,
    name_parts as name_parts,
)
from graphfilter.explain.suggestions import (
    Suggestion as Suggestion,
    draw_some as draw_some,
    suggest_vertices as suggest_vertices,
)
from graphfilter.explain.views import LastColumns as LastColumns, member_of

__all__ = [
    "STEPS",
    "Contributions",
    "Explanation",
    "FeatureShare",
    "Member",
    "StepShare",
    "VertexShare",
    "embed_members",
    "explain_by_leaving_out",
    "explain_linear",
    "explain_members",
    "explain_vertices",
    "member_of",
]

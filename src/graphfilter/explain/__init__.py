"""Why a vertex is labelled as it is: what its features, its neighbours and its position contribute.

- :mod:`.linear`: exact, for networks of encoder, filter and head;
- :mod:`.leaving_out`: for any other network, by hiding features step by step;
- :mod:`.members`: several networks combined by weight; :mod:`.views`: those that see more than
  features; :mod:`.embedding`: their hidden layers;
- :mod:`.explanation`: one vertex with names and in words;
- :mod:`.suggestions`: which label would teach most.
"""

from graphfilter.explain.contributions import STEPS as STEPS, Contributions as Contributions
from graphfilter.explain.embedding import embed_members as embed_members
from graphfilter.explain.explanation import (
    Explanation as Explanation,
)
from graphfilter.explain.members import (
    Member as Member,
    explain_members as explain_members,
    explain_vertices as explain_vertices,
    name_parts as name_parts,
)
from graphfilter.explain.suggestions import (
    Suggestion as Suggestion,
    draw_some as draw_some,
    suggest_vertices as suggest_vertices,
)
from graphfilter.explain.views import LastColumns as LastColumns, member_of as member_of

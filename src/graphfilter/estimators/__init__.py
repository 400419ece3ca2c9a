"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.adaptive import (
    AUTO as AUTO,
    CHANNELS as CHANNELS,
    DROPOUT as DROPOUT,
    AdaptiveEstimator as AdaptiveEstimator,
    has_channels as has_channels,
)
from graphfilter.estimators.base import VertexClassifier as VertexClassifier
from graphfilter.estimators.drawing import filter_at as filter_at, filter_view as filter_view
from graphfilter.estimators.explaining import (
    class_number as class_number,
    explain_graph as explain_graph,
    find_vertex as find_vertex,
    members_of as members_of,
)
from graphfilter.estimators.explaining_outputs import explain_output as explain_output
from graphfilter.estimators.graph import (
    EFFORTS as EFFORTS,
    GraphClassifier as GraphClassifier,
    MemberNote as MemberNote,
    OfCommittee as OfCommittee,
)
from graphfilter.estimators.graph_regressor import GraphRegressor as GraphRegressor
from graphfilter.estimators.inputs import draw_seed as draw_seed
from graphfilter.estimators.member_answers import (
    ALL as ALL,
    MemberAnswers as MemberAnswers,
    Rows as Rows,
)
from graphfilter.estimators.members import (
    FittedMember as FittedMember,
    combine as combine,
    fitted_members as fitted_members,
)
from graphfilter.estimators.promises import check_promise as check_promise
from graphfilter.estimators.regressor import (
    SGFRegressor as SGFRegressor,
    VertexRegressor as VertexRegressor,
)
from graphfilter.estimators.saving import (
    CONFIG_FILE as CONFIG_FILE,
    FORMAT as FORMAT,
    MODEL_FILE as MODEL_FILE,
)
from graphfilter.estimators.sgf import SGFClassifier as SGFClassifier
from graphfilter.estimators.starting import Earlier as Earlier
from graphfilter.estimators.suggesting import suggest_labels as suggest_labels
from graphfilter.estimators.system import (
    SystemClassifier as SystemClassifier,
    SystemRegressor as SystemRegressor,
)
from graphfilter.estimators.targets import Target as Target, named_target as named_target
from graphfilter.estimators.vertex import VertexEstimator as VertexEstimator

"""One fit, read by everyone: what is planned before training, trained once, and derived from it.

- :mod:`.plan`: what is decided before training; :mod:`.split_choice`: the split;
  :mod:`.labelled_side`: which vertices can have a label; :mod:`.asked`, :mod:`.decision`: what a
  user wants of the answer, and thresholds; :mod:`.dry_run`: what a fit will take;
- :mod:`.fit`: :class:`Fit`, immutable; :mod:`.training`: the one way it is made, baselines of the
  same type included; :mod:`.repeats`: the same on other splits;
- :mod:`.yardstick`, :mod:`.comparison`: what models are judged by, and who is better;
  :mod:`.measure`, :mod:`.channels`: the content of ``metrics.json``;
- :mod:`.reference`, :mod:`.observed`, :mod:`.drift`: what later graphs are compared with, and how
  they differ.

Nothing here knows of files: ``report`` draws a fit, ``run_folder`` writes it.
"""

from graphfilter.fits.asked import DEFAULT_REQUEST as DEFAULT_REQUEST, FitRequest as FitRequest
from graphfilter.fits.channels import ChannelMetrics as ChannelMetrics
from graphfilter.fits.comparison import Comparison as Comparison, Score as Score, compare as compare
from graphfilter.fits.decision import plan_decision as plan_decision
from graphfilter.fits.drift import Drift as Drift, find_drift as find_drift
from graphfilter.fits.dry_run import (
    DryRun as DryRun,
    baselines_fit as baselines_fit,
    plan_dry_run as plan_dry_run,
    time_fit as time_fit,
)
from graphfilter.fits.fit import Fit as Fit, answers_of as answers_of
from graphfilter.fits.measure import FitMetrics as FitMetrics, measure_fit as measure_fit
from graphfilter.fits.plan import (
    Plan as Plan,
    Source as Source,
    check_classes as check_classes,
    plan_fit as plan_fit,
    with_features as with_features,
)
from graphfilter.fits.promise import (
    check_coverage_asked as check_coverage_asked,
    promise_columns as promise_columns,
    with_answers as with_answers,
)
from graphfilter.fits.reference import Reference as Reference
from graphfilter.fits.split_choice import STRATIFIED as STRATIFIED, SplitBy as SplitBy
from graphfilter.fits.training import (
    BASELINES as BASELINES,
    LOW_PASS as LOW_PASS,
    NO_GRAPH as NO_GRAPH,
    TWO_STEPS as TWO_STEPS,
    train_fit as train_fit,
)
from graphfilter.fits.yardstick import (
    Accuracy as Accuracy,
    LabelsWrong as LabelsWrong,
    MeanCost as MeanCost,
    ModelOutputs as ModelOutputs,
    Ranking as Ranking,
    Yardstick as Yardstick,
)

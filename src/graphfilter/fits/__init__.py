"""One fit, read by everyone: what is planned before training, trained once, and derived from it.

- :mod:`.plan`: what a user requests, and what is decided before training; :mod:`.decision`:
  thresholds; :mod:`.dry_run`: what a fit will take;
- :mod:`.training`: :class:`Fit`, immutable, and the one way it is made, baselines of the same type
  and repeats on other splits included; :mod:`.calibration`: its sets or intervals;
- :mod:`.comparison`: what models are judged by, and who is better; :mod:`.measure`: the content of
  ``metrics.json``;
- :mod:`.drift`: what later graphs are compared with, and how they differ.

Nothing here knows of files: ``report`` draws a fit, ``run_folder`` writes it.
"""

from graphfilter.fits.calibration import (
    check_coverage_asked as check_coverage_asked,
    promise_columns as promise_columns,
    with_answers as with_answers,
)
from graphfilter.fits.comparison import (
    Accuracy as Accuracy,
    Comparison as Comparison,
    LabelsWrong as LabelsWrong,
    MeanCost as MeanCost,
    ModelOutputs as ModelOutputs,
    Ranking as Ranking,
    Score as Score,
    Yardstick as Yardstick,
    compare as compare,
)
from graphfilter.fits.decision import plan_decision as plan_decision
from graphfilter.fits.drift import Drift as Drift, find_drift as find_drift
from graphfilter.fits.dry_run import (
    DryRun as DryRun,
    baselines_fit as baselines_fit,
    plan_dry_run as plan_dry_run,
    time_fit as time_fit,
)
from graphfilter.fits.measure import (
    ChannelMetrics as ChannelMetrics,
    FitMetrics as FitMetrics,
    measure_fit as measure_fit,
)
from graphfilter.fits.plan import (
    DEFAULT_REQUEST as DEFAULT_REQUEST,
    STRATIFIED as STRATIFIED,
    FitRequest as FitRequest,
    Plan as Plan,
    Source as Source,
    SplitBy as SplitBy,
    check_classes as check_classes,
    plan_fit as plan_fit,
    with_features as with_features,
)
from graphfilter.fits.reference import Reference as Reference
from graphfilter.fits.training import (
    BASELINES as BASELINES,
    LOW_PASS as LOW_PASS,
    NO_GRAPH as NO_GRAPH,
    TWO_STEPS as TWO_STEPS,
    Fit as Fit,
    answers_of as answers_of,
    train_fit as train_fit,
)

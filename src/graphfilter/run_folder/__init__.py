"""The folder a ``fit`` leaves behind: a model, predictions, metrics, a picture and a report.

What belongs here is whatever decides on the content of such a folder, one file per subject:

- :mod:`.plan`: checks and decisions before anything is written; :mod:`.split_choice`: the split;
- :mod:`.dry_run`: what a fit will take, beforehand;
- :mod:`.layout`: the names of the files, and who may write to the folder;
- :mod:`.fit`: the one way a folder is filled; :mod:`.baselines` trains what it compares with,
  :mod:`.repeats` the same on other splits;
- :mod:`.channels`: whether directions and kinds of edges are used, and what they add;
- :mod:`.asked`, :mod:`.decisions`: what a user wants of the answer, and thresholds;
- :mod:`.description`, :mod:`.run_metrics`, :mod:`.predictions`, :mod:`.embeddings`,
  :mod:`.filter_picture`: its files;
- :mod:`.model`: the model on file; :mod:`.predict`, :mod:`.explain`: using the folder afterwards;
- :mod:`.value_plan`, :mod:`.value_fit`, :mod:`.value_files`: the same for numbers and for several
  labels per vertex.

It may import everything but the studio and the command line, which both fit through it.
"""

from graphfilter.run_folder.asked import Asked
from graphfilter.run_folder.channels import has_channels
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.dry_run import DryRun, baselines_fit, plan_dry_run, time_epoch
from graphfilter.run_folder.embeddings import check_embeddings_file, write_embeddings
from graphfilter.run_folder.explain import explain_run
from graphfilter.run_folder.fit import FitSummary, fit_folder, take_part
from graphfilter.run_folder.layout import (
    CHECKPOINT_FILE,
    REPORT_FILE,
    RUN_FILES,
    check_folder,
    checkpoints,
)
from graphfilter.run_folder.new_labels import describe_accuracy
from graphfilter.run_folder.plan import Plan, Source, plan_fit, with_features
from graphfilter.run_folder.predict import as_fitted, load_run, predict_graph, read_description
from graphfilter.run_folder.predictions import predicted_classes, write_predictions
from graphfilter.run_folder.run_metrics import RunMetrics
from graphfilter.run_folder.split_choice import SplitBy
from graphfilter.run_folder.value_files import (
    describe_values,
    load_value_run,
    task_of_run,
    write_values,
)
from graphfilter.run_folder.value_fit import (
    ValueSummary,
    fit_values,
    predicted_values,
    take_part_in_values,
)
from graphfilter.run_folder.value_plan import ValuePlan, plan_values

__all__ = [
    "CHECKPOINT_FILE",
    "REPORT_FILE",
    "RUN_FILES",
    "Asked",
    "DryRun",
    "FitSummary",
    "Plan",
    "RunDescription",
    "RunMetrics",
    "Source",
    "SplitBy",
    "ValuePlan",
    "ValueSummary",
    "as_fitted",
    "baselines_fit",
    "check_embeddings_file",
    "check_folder",
    "checkpoints",
    "describe_accuracy",
    "describe_values",
    "explain_run",
    "fit_folder",
    "fit_values",
    "has_channels",
    "load_run",
    "load_value_run",
    "plan_dry_run",
    "plan_fit",
    "plan_values",
    "predict_graph",
    "predicted_classes",
    "predicted_values",
    "read_description",
    "take_part",
    "take_part_in_values",
    "task_of_run",
    "time_epoch",
    "with_features",
    "write_embeddings",
    "write_predictions",
    "write_values",
]

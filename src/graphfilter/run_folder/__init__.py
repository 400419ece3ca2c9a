"""The folder a ``fit`` leaves behind: a model, predictions, metrics, a picture and a report.

What belongs here is whatever writes or reads such a folder; what is in it is derived from a
:class:`~graphfilter.fits.Fit`:

- :mod:`.layout`: the names of the files, and who may write to the folder;
- :mod:`.fit`: the one way a folder is filled, whatever the task;
- :mod:`.kept_graph`: the graph of the fit, where it is kept, and what later graphs are compared
  with;
- :mod:`.description`, :mod:`.command`: how a run was made, and the command that repeats it;
- :mod:`.tables`, :mod:`.pictures`, :mod:`.score_table`: its files, and their scores as a table;
- :mod:`.loading`: the model on file, also for another fit that begins with its weights;
  :mod:`.using`, :mod:`.predicting`: explaining and predicting with it; :mod:`.parts`,
  :mod:`.new_labels`: what vertices were in the run, and how right it is on labels it has not seen.
"""

from graphfilter.run_folder.command import OPTIONS as OPTIONS
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.fit import FitSummary, fit_folder, join_fit
from graphfilter.run_folder.kept_graph import read_kept_graph, read_reference
from graphfilter.run_folder.layout import (
    CHECKPOINT_FILE,
    REPORT_FILE,
    RUN_FILES,
    check_folder,
    check_outputs,
    checkpoints,
)
from graphfilter.run_folder.loading import (
    load_run,
    read_description,
    read_earlier as read_earlier,
)
from graphfilter.run_folder.new_labels import describe_answers
from graphfilter.run_folder.predicting import Prediction, predict_run
from graphfilter.run_folder.prediction_report import write_prediction_report
from graphfilter.run_folder.score_table import make_score_table
from graphfilter.run_folder.suggesting import suggest_run as suggest_run
from graphfilter.run_folder.tables import (
    check_embeddings_file,
    excel_text,
    write_embeddings,
    write_predictions,
)
from graphfilter.run_folder.using import as_fitted, explain_run, predict_graph

__all__ = [
    "CHECKPOINT_FILE",
    "REPORT_FILE",
    "RUN_FILES",
    "FitSummary",
    "Prediction",
    "RunDescription",
    "as_fitted",
    "check_embeddings_file",
    "check_folder",
    "check_outputs",
    "checkpoints",
    "describe_answers",
    "excel_text",
    "explain_run",
    "fit_folder",
    "join_fit",
    "load_run",
    "make_score_table",
    "predict_graph",
    "predict_run",
    "read_description",
    "read_kept_graph",
    "read_reference",
    "write_embeddings",
    "write_prediction_report",
    "write_predictions",
]

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
from graphfilter.run_folder.description import RunDescription as RunDescription
from graphfilter.run_folder.fit import (
    FitSummary as FitSummary,
    fit_folder as fit_folder,
    join_fit as join_fit,
)
from graphfilter.run_folder.kept_graph import (
    read_kept_graph as read_kept_graph,
    read_reference as read_reference,
)
from graphfilter.run_folder.layout import (
    REPORT_FILE as REPORT_FILE,
    RUN_FILES as RUN_FILES,
    check_folder as check_folder,
    check_outputs as check_outputs,
    checkpoints as checkpoints,
)
from graphfilter.run_folder.loading import (
    load_run as load_run,
    read_description as read_description,
    read_earlier as read_earlier,
)
from graphfilter.run_folder.new_labels import describe_answers as describe_answers
from graphfilter.run_folder.predicting import predict_run as predict_run
from graphfilter.run_folder.prediction_report import (
    write_prediction_report as write_prediction_report,
)
from graphfilter.run_folder.score_table import make_score_table as make_score_table
from graphfilter.run_folder.suggesting import suggest_run as suggest_run
from graphfilter.run_folder.tables import (
    check_embeddings_file as check_embeddings_file,
    excel_text as excel_text,
    write_embeddings as write_embeddings,
)
from graphfilter.run_folder.using import (
    as_fitted as as_fitted,
    explain_run as explain_run,
    predict_graph as predict_graph,
)

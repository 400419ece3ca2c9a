"""The folder a ``fit`` leaves behind: a model, predictions, metrics, a picture and a report.

What belongs here is whatever writes or reads such a folder; what is in it is derived from a
:class:`~graphfilter.fits.Fit`:

- :mod:`.layout`: the names of the files, and who may write to the folder;
- :mod:`.fit`: the one way a folder is filled, whatever the task; :mod:`.tables`,
  :mod:`.score_table`: its files, and their scores as a table;
- :mod:`.loading`: the model, the description, the parts of vertices and the graph on file;
- :mod:`.predicting`, :mod:`.explaining`: what is done with them.
"""

from graphfilter.run_folder.explaining import explain_run as explain_run, suggest_run as suggest_run
from graphfilter.run_folder.fit import (
    OPTIONS as OPTIONS,
    FitSummary as FitSummary,
    fit_folder as fit_folder,
    join_fit as join_fit,
)
from graphfilter.run_folder.layout import (
    REPORT_FILE as REPORT_FILE,
    RUN_FILES as RUN_FILES,
    check_folder as check_folder,
    check_outputs as check_outputs,
    checkpoints as checkpoints,
)
from graphfilter.run_folder.loading import (
    RunDescription as RunDescription,
    load_run as load_run,
    read_description as read_description,
    read_earlier as read_earlier,
    read_kept_graph as read_kept_graph,
    read_reference as read_reference,
)
from graphfilter.run_folder.predicting import (
    as_fitted as as_fitted,
    describe_answers as describe_answers,
    predict_graph as predict_graph,
    predict_run as predict_run,
    write_prediction_report as write_prediction_report,
)
from graphfilter.run_folder.score_table import make_score_table as make_score_table
from graphfilter.run_folder.tables import (
    check_embeddings_file as check_embeddings_file,
    excel_text as excel_text,
    write_embeddings as write_embeddings,
)

"""The studio: a page on this machine, to train a filter and watch it take shape.

- :mod:`.server`: the address with its token, the files, the end;
- :mod:`.app`: the pages and requests;
- :mod:`.uploads`, :mod:`.graph_store`: tables that were sent, and the graphs to train on;
- :mod:`.run_setting`, :mod:`.training_queue`: what a run is asked for, and the runs themselves.

Every limit is enforced here, whatever the page allows. Runs are fitted by ``run_folder``, as the
command line's are.
"""

from graphfilter.studio.server import UPLOAD_LIMIT_MB as UPLOAD_LIMIT_MB, Studio as Studio
from graphfilter.web import serve as serve

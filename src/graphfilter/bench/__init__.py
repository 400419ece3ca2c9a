"""Systems side by side, on the same graphs, splits and training loop; every run on record.

``matrix`` runs pairs of a system and a dataset and writes a ``record`` per run, ``summary`` turns
records into means and tests, ``tables`` writes tables in every form, ``search`` tunes a system.
A new split rule goes into ``protocol``.
"""

from graphfilter.bench.averages import divide_name as divide_name
from graphfilter.bench.benchmark import run_benchmark as run_benchmark
from graphfilter.bench.benchmark_page import (
    TEMPLATES as TEMPLATES,
    TimeTable as TimeTable,
    made_with as made_with,
    page_of as page_of,
    time_table as time_table,
    write_benchmark as write_benchmark,
)
from graphfilter.bench.learned_filters import (
    LearnedFilter as LearnedFilter,
    learned_filters as learned_filters,
)
from graphfilter.bench.line_table import (
    holds_benchmarks as holds_benchmarks,
    read_line_table as read_line_table,
)
from graphfilter.bench.matrix import (
    BenchProgress as BenchProgress,
    OnProgress as OnProgress,
    run_matrix as run_matrix,
)
from graphfilter.bench.pair import Pair as Pair
from graphfilter.bench.protocol import (
    GraphLoader as GraphLoader,
    dataset_name as dataset_name,
    draw_split as draw_split,
)
from graphfilter.bench.ranking import Axis as Axis, listed as listed
from graphfilter.bench.record import (
    A_RECORD as A_RECORD,
    Record as Record,
    RecordFile as RecordFile,
    current_versions as current_versions,
    read_records as read_records,
)
from graphfilter.bench.search import (
    Found as Found,
    SearchProgress as SearchProgress,
    SearchResult as SearchResult,
    search as search,
)
from graphfilter.bench.summary import (
    summarise as summarise,
)
from graphfilter.bench.summary_table import (
    CUT as CUT,
    make_table as make_table,
)
from graphfilter.bench.tables import (
    Block as Block,
    Cell as Cell,
    Legend as Legend,
    Numbers as Numbers,
    Row as Row,
    Table as Table,
    text_rows as text_rows,
    to_csv as to_csv,
    to_latex as to_latex,
    to_markdown as to_markdown,
)

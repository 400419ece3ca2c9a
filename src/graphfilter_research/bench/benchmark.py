"""Every system on every dataset, from their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.models.scaling import SCALINGS
from graphfilter.systems import System, get_system
from graphfilter.util.errors import ConfigError, check_count, check_name
from graphfilter.util.files import scratch_folder
from graphfilter.util.machine import pick_device
from graphfilter_research.bench.matrix import OnProgress, run_matrix
from graphfilter_research.bench.pair import MARK, Pair, divide_name
from graphfilter_research.bench.protocol import check_split_rule, dataset_name
from graphfilter_research.bench.record import Record, RecordFile


def run_benchmark(
    datasets: Sequence[str | Path],
    models: Sequence[str | System],
    *,
    out: str | Path,
    graphs: Mapping[str, Graph] | None = None,
    split_rule: str = "stratified",
    runs: int = 10,
    scaling: str = "auto",
    device: str = "auto",
    jobs: int = 1,
    max_epochs: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Record]:
    """Run every model on every dataset; return the records of this matrix, old and new.

    Each run is appended to ``out`` as it ends. Called again, it skips what is on record and
    retries what failed. A run that fails is recorded with its reason, and the others continue.

    Parameters
    ----------
    datasets : names of the registry, or paths of npz files
    models : names of the registry, or systems
    out : path
        A JSON-lines file, new or of an earlier benchmark.
    graphs : mapping of name to Graph, optional
        Graphs of your own, beside the datasets; each is recorded under its name.
    split_rule : {'stratified', 'per_class', 'fixed', 'public', 'fraction:F'}
        Run r has seed r and split r. There is one public split: only the seed differs there.
    runs : int
    scaling : {'auto', 'none', 'row', 'standardise'}
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    jobs : int
        Processes, one (dataset, model) pair each at a time; the threads are divided among them.
    max_epochs : int, optional
        Instead of each system's own: for trying things out.
    on_progress : callable, optional
        Called after each run and, a few times per second, while training.
    """
    for name, value in (("runs", runs), ("jobs", jobs)):
        check_count(name, value)
    check_name("feature scaling", scaling, SCALINGS)
    if jobs > 1 and any(isinstance(model, System) for model in models):
        raise ConfigError("with jobs > 1 models must be names of the registry; got a System.")
    names = dict.fromkeys(dataset_name(dataset) for dataset in datasets)
    # Processes get graphs as files, which nobody needs afterwards.
    with scratch_folder("graphfilter-bench-") as place:
        files = dict.fromkeys(names, "")
        for i, (name, graph) in enumerate((graphs or {}).items()):
            if name in files:
                raise ConfigError(f"{name!r} must name one graph; it is a dataset's name too.")
            files[name] = str(place / f"{i}.npz")
            write_npz(graph, files[name])
        pairs = [
            Pair(
                dataset=name,
                model=model.name if isinstance(model, System) else _full_name(model),
                split_rule=check_split_rule(split_rule),
                runs=runs,
                scaling=scaling,
                device=pick_device(device),
                max_epochs=max_epochs,
                given=model if isinstance(model, System) else None,
                file=file,
            )
            for name, file in files.items()
            for model in dict.fromkeys(models)
        ]
        return run_matrix(pairs, RecordFile(out), jobs=jobs, on_progress=on_progress)


def _full_name(model: str) -> str:
    """Return a name as runs are recorded under it, its settings in order."""
    name, n_seeds = divide_name(model)
    return get_system(name).name + (f"{MARK}{n_seeds}" if n_seeds > 1 else "")

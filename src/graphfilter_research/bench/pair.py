"""One system on one dataset: every run of it recorded, whether it succeeds or fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import combine, fitted_members, shares_in
from graphfilter.models import Network, SideBySide
from graphfilter.models.places import Known
from graphfilter.splits import Split
from graphfilter.systems import (
    Outcome,
    Prepared,
    System,
    get_system,
    predict_networks,
    train_system,
)
from graphfilter.systems.committee import repeated_seed
from graphfilter.systems.networks import learned_filters
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.pooling import together
from graphfilter.systems.system import Committee
from graphfilter.training import Callback, Progress
from graphfilter.training.scores import score_parts
from graphfilter.util.errors import ConfigError, GraphError, GraphFilterError
from graphfilter_research.bench.protocol import NEW, GraphLoader, draw_split, split_index
from graphfilter_research.bench.record import Record

MARK = "*"


def divide_name(model: str) -> tuple[str, int]:
    """Return the name of a system, and of how many seeds it is the average.

    >>> divide_name("fsgnn*5"), divide_name("sgf")
    (('fsgnn', 5), ('sgf', 1))
    """
    name, marked, text = model.partition(MARK)
    if not marked:
        return name, 1
    system = get_system(name)
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"after {MARK} must be a number of seeds, as in {name}*5; got {text!r}.")
    if system.model is None or isinstance(system, Committee):
        raise ConfigError(f"{name} has no networks of its own to average; leave {MARK}{text} out.")
    return name, int(text)


def train_average(
    prepared: Prepared,
    system: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    n_seeds: int,
    callback: Callback | None = None,
) -> Sequence[Outcome]:
    """Train a system from several seeds per split, which answer together and count the same.

    Each outcome is that of the first seed, with the answer and the seconds of all.
    """
    if n_seeds == 1:
        return train_system(prepared, system, splits, seeds, callback=callback)
    outcomes = train_system(
        prepared,
        system,
        [split for split in splits for _ in range(n_seeds)],
        [repeated_seed(seed, i) for seed in seeds for i in range(n_seeds)],
        callback=callback,
    )
    groups = [outcomes[i : i + n_seeds] for i in range(0, len(outcomes), n_seeds)]
    return [
        replace(
            group[0],
            probabilities=together([one.probabilities for one in group]),
            seconds=sum(one.seconds for one in group),
        )
        for group in groups
    ]


def train_without(
    graph: Graph,
    system: System,
    split: Split,
    seed: int,
    *,
    scaling: str,
    device: str,
    callback: Callback | None = None,
) -> Outcome:
    """Train a system on the graph without the test vertices; answer with them.

    Everything that is fitted, the scale of the features too, is fitted without them. A committee
    knows the other vertices, as by their ids.
    """
    new = np.zeros(graph.n_vertices, dtype=bool)
    new[split.test] = True
    numbers = np.where(new, -1, np.cumsum(~new) - 1)
    old = Prepared.of(graph.subgraph(np.flatnonzero(~new)), scaling=scaling, device=device)
    none = np.empty(0, dtype=np.int64)
    within = Split(numbers[split.train], numbers[split.val], none, rule=split.rule)
    (outcome,) = train_system(old, system, [within], [seed], callback=callback)
    known = Known(numbers, int((~new).sum()))
    # Only what recognises vertices makes use of it.
    whole = Prepared.of(graph, scaling=old.scaler, device=device, known=known)
    return replace(outcome, probabilities=_answer(outcome, old, whole, seed))


def _answer(outcome: Outcome, old: Prepared, whole: Prepared, seed: int) -> NDArray[np.float64]:
    if not isinstance(outcome, CommitteeOutcome):
        network = _on_graph(outcome.system, outcome.network, whole.graph, seed)
        plain = replace(whole, known=None, _views={})
        return predict_networks(plain, outcome.system, [network.to(whole.device)])[0]
    members, _ = fitted_members([outcome], old)
    if not outcome.growing:
        plain = replace(whole, known=None, _views={})
        there = [m for member in members if (m := member.elsewhere()).weight > 0]
        return combine([member.answer(plain) for member in there], there, old.task)
    grown = [m for m in members if m.growing is not None and m.growing.any()]
    return combine([member.answer(whole) for member in grown], grown, old.task, shares_in(whole))


def _on_graph(system: System, network: Network[Any], graph: Graph, seed: int) -> Network[Any]:
    """Return a network with the same weights for another graph, where it is built on its own."""
    if not system.keeps_graph:
        return network
    made = system.build(graph, seed)
    own, trained = dict(made.named_parameters()), dict(network.named_parameters())
    if any(own[name].shape != weight.shape for name, weight in trained.items()):
        raise ConfigError(
            f"{system.name} has one weight per vertex it has seen: it cannot predict new ones."
        )
    for name, weight in trained.items():
        own[name].data.copy_(weight.data)
    return made


# Nobody reads faster than this, and a pipe to another process has a cost.
SECONDS_BETWEEN_NEWS = 0.2


@dataclass(frozen=True)
class Pair:
    """What to run: run r of a system on a dataset has seed r and split r.

    Attributes
    ----------
    dataset, model : str
        The names that runs are recorded under; ``fsgnn*5`` is fsgnn as the average of five seeds.
    given : System, optional
        The system, where it is not the one that the registry has under this name.
    file : str
        An npz file with the graph, where the registry has no dataset of this name.
    done : frozenset of str
        Keys of the runs on record, which are skipped.
    first : int
        The seed and split of the first run.
    only : frozenset of int
        Seeds of the runs to make, where not all: one after another.
    """

    dataset: str
    model: str
    split_rule: str
    runs: int
    scaling: str
    device: str
    max_epochs: int | None = None
    given: System | None = None
    file: str = ""
    done: frozenset[str] = frozenset()
    first: int = 0
    only: frozenset[int] = frozenset()

    @property
    def system(self) -> System:
        """The system as its authors set it for this dataset, with the epochs asked for."""
        system = self.given or get_system(divide_name(self.model)[0])
        if not self.file:
            system = system.for_dataset(self.dataset)
        return system.limited(self.max_epochs)

    @property
    def in_turn(self) -> bool:
        """Whether its runs are made one after another, whatever the system."""
        return self.split_rule.startswith(f"{NEW}:")

    def divided(self) -> list[Pair]:
        """Return its runs as pairs of their own."""
        runs = range(self.first, self.first + self.runs)
        return [replace(self, runs=1, first=run) for run in runs]

    @property
    def n_seeds(self) -> int:
        """Of how many seeds each run is the average."""
        return 1 if self.given else divide_name(self.model)[1]


@dataclass(frozen=True)
class Skipped:
    """Runs that were there already."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Epoch:
    """How far the runs now training are."""

    epoch: int
    max_epochs: int


Emit = Callable[[Record | Skipped | Epoch], None]


class LostDeviceError(GraphFilterError):
    """A GPU that computes nothing any more for this process; a new one must make what is ``left``.

    One kernel that fails takes the CUDA context of its process with it.
    """

    def __init__(self, reason: str, left: Pair) -> None:
        super().__init__(f"{reason} Runs on record are skipped then.")
        self.left = left


def blank_records(pair: Pair) -> list[Record]:
    """Return what is known of a pair's runs before anything is loaded."""
    system = pair.system
    config = {"operator": system.operator, "setting": system.setting}
    config |= system.describe_training()
    config |= {"n_seeds": pair.n_seeds} if pair.n_seeds > 1 else {}
    return [
        Record(
            dataset=pair.dataset,
            model=pair.model,
            split_rule=pair.split_rule,
            split_index=split_index(pair.split_rule, run),
            seed=run,
            scaling=pair.scaling,
            config=config,
            device=device_title(pair.device),
        )
        for run in range(pair.first, pair.first + pair.runs)
        if not pair.only or run in pair.only
    ]


def run_pair(pair: Pair, load: GraphLoader, emit: Emit) -> None:
    """Run what is not done yet; emit one record per run, as it ends.

    Nothing but an interrupt and a lost GPU escapes: what goes wrong in one run is recorded, and the
    rest of the matrix continues. This is the only place with broad excepts.

    Raises
    ------
    LostDeviceError
        The GPU was lost in a run, which is recorded.
    """
    system = pair.system
    records = blank_records(pair)
    side_by_side = False
    try:
        graph, checksum = load(pair.file or pair.dataset)
        records = [replace(record, data_checksum=checksum) for record in records]
        if system.trained:
            side_by_side = isinstance(system, Committee) or isinstance(
                system.build(graph, seed=0), SideBySide
            )
            records = [replace(record, network=system.describe()) for record in records]
    except Exception as error:
        for record in records:
            emit(_failed(record, error))
        return
    emit(Skipped(tuple(record.key for record in records if record.key in pair.done)))
    waiting = [record for record in records if record.key not in pair.done]
    emit = _watch(emit, replace(pair, only=frozenset(record.seed for record in waiting)))
    runs: list[tuple[Record, Split]] = []
    for record in waiting:
        try:
            runs.append((record, draw_split(graph, pair.split_rule, record.split_index)))
        except Exception as error:
            emit(_failed(record, error))
    at_once = side_by_side and runs and not pair.only
    groups = [runs] if at_once else [[run] for run in runs]
    if not groups:
        return
    if system.predict is not None:
        for record, split in runs:
            emit(_attempt(_predicted, record, system, graph, split))
        return
    if pair.in_turn:
        for record, split in runs:
            emit(_attempt(_run_new, record, split, system, graph, pair, emit))
        return
    try:
        prepared = Prepared.of(graph, scaling=pair.scaling, device=pair.device)
    except Exception as error:
        for record, _ in runs:
            emit(_failed(record, error))
        return
    for group in groups:
        _run_group(group, system, prepared, emit, pair.n_seeds)


def _predicted(record: Record, system: System, graph: Graph, split: Split) -> Record:
    """Return the record of a system that is not trained; it needs no features."""
    probabilities, seconds = _predict_untrained(graph, system, split)
    assert graph.labels is not None  # without labels the prediction raises
    return replace(record, scores=score_parts(probabilities, graph.labels, split), seconds=seconds)


def _run_new(
    record: Record, split: Split, system: System, graph: Graph, pair: Pair, emit: Emit
) -> Record:
    """Return the record of a run whose test vertices are not there until it is trained."""
    outcome = train_without(
        graph, system, split, record.seed, scaling=pair.scaling, device=pair.device,
        callback=Callback(_news(emit)),
    )  # fmt: skip
    assert graph.labels is not None
    # What members alone would say of the whole graph is another question.
    return _scored(record, split, outcome, graph.labels, with_members=False)


def is_lost(device: str) -> bool:
    """Return whether a GPU answers only with an error; free what a failed run held on it."""
    if torch.device(device).type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()
    except RuntimeError:
        return True
    return False


def _run_group(
    group: Sequence[tuple[Record, Split]],
    system: System,
    prepared: Prepared,
    emit: Emit,
    n_seeds: int,
) -> None:
    """Run a group at once; where that fails, one run after the other, unless the GPU is lost."""
    failed = False
    try:
        records = _records(group, system, prepared, emit, n_seeds)
    except Exception as error:
        failed = True
        records = [_failed(record, error) for record, _ in group]
    # Out here, where the error no longer holds on to the tensors of the failed run.
    if failed and len(group) > 1 and not is_lost(prepared.device):
        # Ten at once may not fit where one does, and one bad split should not spoil the others.
        for run in group:
            _run_group([run], system, prepared, emit, n_seeds)
        return
    for record in records:
        emit(record)


def _records(
    group: Sequence[tuple[Record, Split]],
    system: System,
    prepared: Prepared,
    emit: Emit,
    n_seeds: int,
) -> list[Record]:
    """Run a group and return all of its records, or raise."""
    outcomes = train_average(
        prepared,
        system,
        [split for _, split in group],
        [record.seed for record, _ in group],
        n_seeds=n_seeds,
        callback=Callback(_news(emit)),
    )
    return [
        _scored(record, split, outcome, prepared.labels)
        for (record, split), outcome in zip(group, outcomes, strict=True)
    ]


def _scored(
    record: Record, split: Split, outcome: Outcome, labels: Any, *, with_members: bool = True
) -> Record:
    result = outcome.result
    return replace(
        record,
        scores=score_parts(outcome.probabilities, labels, split),
        best_epoch=result.best_epoch,
        epochs=outcome.n_epochs,
        stopped=result.stopped,
        seconds=outcome.seconds,
        seconds_per_epoch=outcome.seconds / max(outcome.n_epochs, 1),
        side_by_side=outcome.side_by_side,
        filter=_learned_scalars(outcome),
        members=_members(outcome, split, labels) if with_members else {},
    )


def _members(outcome: Outcome, split: Split, labels: Any) -> dict[str, dict[str, Any]]:
    """Return what each member of a committee did, and what the others do without it."""
    if not isinstance(outcome, CommitteeOutcome):
        return {}
    found = {}
    for part, share in zip(outcome.parts, outcome.pool.shares, strict=True):
        answer = outcome.without(part.system.name)
        without = None if answer is None else score_parts(answer, labels, split).get("test")
        found[part.system.name] = {
            "share": float(share),
            "seconds": part.seconds,
            "epochs": part.n_epochs,
            "test": score_parts(part.probabilities, labels, split).get("test"),
            "without": without,
        }
    return found


def _learned_scalars(outcome: Outcome) -> dict[str, Any]:
    """Return the filter's learned scalars by name; none without a filter."""
    filters = learned_filters([outcome.network])
    return {n: p.detach().cpu().tolist() for f in filters for n, p in f.named_parameters()}


def _attempt(run: Callable[..., Record], record: Record, *arguments: Any) -> Record:
    """Return what a run is recorded as: failed where it raises."""
    try:
        return run(record, *arguments)
    except Exception as error:
        return _failed(record, error)


def _failed(record: Record, error: Exception) -> Record:
    # Only the first line: torch's own errors carry its whole C++ stack.
    reason = str(error).strip().partition("\n")[0]
    return replace(record, status="failed", reason=f"{type(error).__name__}: {reason}")


def _watch(emit: Emit, pair: Pair) -> Emit:
    """Return what emits the same, and raises after a failed run where it has lost the GPU."""
    left = set(pair.only)

    def watching(event: Record | Skipped | Epoch) -> None:
        if not isinstance(event, Record):
            emit(event)
            return
        left.discard(event.seed)
        if event.ok or not is_lost(pair.device):
            emit(event)
            return
        reason = f"{event.reason}; the GPU is lost to this process: run again, with fewer jobs."
        emit(replace(event, reason=reason))
        raise LostDeviceError(reason, replace(pair, only=frozenset(left)))

    return watching


def _news(emit: Emit) -> Callable[[Progress], None]:
    last = time.perf_counter()

    def report(progress: Progress) -> None:
        nonlocal last
        if time.perf_counter() - last >= SECONDS_BETWEEN_NEWS:
            last = time.perf_counter()
            emit(Epoch(progress.epoch, progress.max_epochs))

    return report


def device_title(device: str) -> str:
    """Return the device with the GPU's model, as records name it.

    >>> device_title("cpu")
    'cpu'
    """
    if torch.device(device).type != "cuda":
        return device
    return f"{device} ({torch.cuda.get_device_name(device)})"


def _predict_untrained(
    graph: Graph, system: System, split: Split
) -> tuple[NDArray[np.float64], float]:
    """Predict with a system that is not trained; return probabilities and seconds."""
    if system.predict is None:
        raise GraphError(f"{system.name} must be a method that is not trained; it is.")
    started = time.perf_counter()
    probabilities = system.predict(graph, split)
    return np.asarray(probabilities, dtype=np.float64), time.perf_counter() - started

"""Hyper-parameter search with Optuna: the validation part chooses, the test part only reports.

The search set is the paper's (section *Evaluation procedure*): dropout, weight decay, learning
rate and, for SGF, the number of layers. The first trial is the system's own setting, so that the
gain of the search over it is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilterConfig
from graphfilter.models import FilterNetwork, FilterNetworkConfig, ModelConfig
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, get_system, train_system
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import (
    ConfigError,
    DataFileError,
    GraphFilterError,
    check_count,
    import_extra,
)
from graphfilter.util.machine import pick_device
from graphfilter_research.bench.protocol import check_split_rule, draw_split


def import_optuna() -> Any:
    """Return the module optuna, which is an optional dependency."""
    return import_extra("optuna", "search", "a search")


def open_study(optuna: Any, name: str, storage: str | Path | None, max_epochs: int) -> Any:
    """Return the study of this name, new or as the storage holds it."""
    from sqlalchemy.exc import SQLAlchemyError

    # Nothing is learned in the first epochs: a trial is not judged by them.
    warm_up = max_epochs // 10
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=warm_up)
    if storage is not None and not Path(storage).parent.is_dir():
        raise DataFileError(storage, "must be in a folder that exists; create it first.")
    try:
        return optuna.create_study(
            study_name=name,
            storage=None if storage is None else f"sqlite:///{Path(storage)}",
            direction="maximize",
            load_if_exists=True,
            pruner=pruner,
        )
    except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError) as error:
        # No database, not Optuna's, or of another version of it.
        problem = str(error).partition("\n")[0]
        raise DataFileError(
            storage or name, f"cannot be used as a search's storage ({problem}). Name a new file."
        ) from error


@contextmanager
def quiet(optuna: Any) -> Generator[None]:
    """Keep Optuna from printing every trial: the caller shows progress."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


Setting = dict[str, float]

# The paper's search set (section "Evaluation procedure").
PAPER_AXES: dict[str, tuple[float, ...]] = {
    "learning_rate": (0.001, 0.01, 0.02, 0.1),
    "weight_decay": (1e-2, 1e-3, 5e-4, 1e-4, 5e-5),
    "dropout": (0.4, 0.5, 0.6, 0.7, 0.8),
    "n_layers": (4, 8, 16, 32, 64),
}


@dataclass(frozen=True, eq=False)
class Tuning:
    """One system on one split of one graph, to be trained in different settings.

    Attributes
    ----------
    default : Setting
        The system's own setting.
    axes : dict
        The values of each hyper-parameter: the paper's search set and the system's own value.
        Dropout and depth are there for systems with a stacked filter only.
    """

    prepared: Prepared
    system: System
    split: Split
    seed: int
    default: Setting
    axes: dict[str, tuple[float, ...]]
    filter_is_trained: bool

    @classmethod
    def of(
        cls,
        graph: Graph,
        system: System,
        split: Split,
        *,
        seed: int,
        scaling: str,
        device: str,
        max_epochs: int | None,
    ) -> Self:
        if system.model is None:
            raise ConfigError(f"{system.name} is not trained: it has no setting to search.")
        if not len(split.val) or not len(split.test):
            raise ConfigError("a search needs validation and test vertices; the split has not.")
        config = system.config
        if max_epochs is not None:
            config = replace(config, max_epochs=max_epochs)
        system = replace(system, config=config)
        network = system.build(graph, seed)
        trained = isinstance(network, FilterNetwork) and bool(network.filter_parameters())
        rate = config.filter_learning_rate if trained else config.learning_rate
        default = {"learning_rate": rate, "weight_decay": config.weight_decay}
        if _is_sgf(network.config):
            settings = system.settings()
            default |= {name: settings[name] for name in ("dropout", "n_layers")}
        axes = {name: tuple(sorted({*PAPER_AXES[name], value})) for name, value in default.items()}
        prepared = Prepared.of(graph, scaling=scaling, device=device)
        return cls(prepared, system, split, seed, default, axes, trained)

    def system_in(self, setting: Setting) -> System:
        """Return the system in a setting.

        The learning rate is that of the filter where one is trained; the linear layers keep
        their share of it (a quarter in the paper). The filter's weight decay follows where it was
        that of the weights.
        """
        config = self.system.config
        rate, decay = setting["learning_rate"], setting["weight_decay"]
        changes: dict[str, Any] = {**setting}
        if self.filter_is_trained:
            share = config.learning_rate / config.filter_learning_rate
            changes |= {"filter_learning_rate": rate, "learning_rate": share * rate}
        if config.filter_weight_decay == config.weight_decay:
            changes["filter_weight_decay"] = decay
        if "n_layers" in changes:
            changes["n_layers"] = int(changes["n_layers"])
        return self.system.with_(**changes)

    def train(self, setting: Setting, callback: Callback | None = None) -> Outcome:
        """Train the system in a setting."""
        system = self.system_in(setting)
        return train_system(self.prepared, system, [self.split], [self.seed], callback=callback)[0]

    def accuracy(self, outcome: Outcome, part: str) -> float:
        """Return the accuracy of an outcome on a part of the split."""
        index = getattr(self.split, part)
        right = outcome.probabilities.argmax(axis=1) == self.prepared.labels
        return float(right[index].mean())


def _is_sgf(model: ModelConfig) -> bool:
    return isinstance(model, FilterNetworkConfig) and isinstance(model.filter, StackedFilterConfig)


# Each report is a transaction of the storage: one per epoch would be slow.
EPOCHS_BETWEEN_REPORTS = 20


@dataclass(frozen=True)
class Found:
    """A setting and its scores; the test part was scored after the search had ended."""

    setting: Setting
    val_accuracy: float
    test_accuracy: float


@dataclass(frozen=True)
class SearchResult:
    """What a search ended with: the system's own setting and the best, by validation."""

    system: str
    split: Split
    default: Found
    best: Found
    n_complete: int
    n_pruned: int
    n_failed: int


@dataclass(frozen=True)
class SearchProgress:
    """What a caller may show after a trial."""

    n_done: int
    n_trials: int
    best_val_accuracy: float


def search(
    graph: Graph,
    system: str | System,
    *,
    trials: int = 50,
    split: int = 0,
    split_rule: str = "stratified",
    seed: int = 0,
    storage: str | Path | None = None,
    scaling: str = "auto",
    device: str = "auto",
    max_epochs: int | None = None,
    dataset: str = "",
    on_trial: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """Search a system's setting on one split of a graph.

    The best validation accuracy chooses, the earliest trial among equals; trials below the
    median of the others at the same epoch are pruned. Test accuracies are measured once, at
    the end, for two settings: the system's own and the best.

    Parameters
    ----------
    system : name of the registry, or a System
        Those with a stacked filter have all four axes, other trained systems the learning rate
        and the weight decay. The system's own values are added to the paper's search set.
    trials : int
        In total, including those of earlier calls on the same storage.
    split, split_rule : int, str
        As in :func:`graphfilter_research.bench.protocol.draw_split`.
    seed : int
        For the trials' choice, and the weights and dropout of every trial.
    storage : path, optional
        An SQLite file: the search resumes from what it holds. Searches that differ in graph,
        system, split, scaling, epochs or seed do not mix in one file.
    dataset : str
        The graph's name in the registry, if it came from there: some authors set their system
        differently for each dataset.
    """
    optuna = import_optuna()
    check_count("trials", trials)
    split_rule = check_split_rule(split_rule)
    system = get_system(system) if isinstance(system, str) else system
    task = Tuning.of(
        graph,
        system.for_dataset(dataset),
        draw_split(graph, split_rule, split),
        seed=seed,
        scaling=scaling,
        device=pick_device(device),
        max_epochs=max_epochs,
    )
    name = _study_name(task.system, graph.checksum(), split_rule, split, scaling, seed)
    with quiet(optuna):
        study = open_study(optuna, name, storage, task.system.config.max_epochs)
        _prepare(optuna, study, task, seed)
        _optimise(optuna, study, task, trials, on_trial)
        return _report(optuna, study, task)


def _study_name(system: System, *what: object) -> str:
    """Return a name that searches of anything else do not have."""
    what = (*what, system.config, system.model)
    return f"{system.name} {hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"


def _prepare(optuna: Any, study: Any, task: Tuning, seed: int) -> None:
    """Clean up after a killed search, choose the sampler, and put the default in front."""
    states = optuna.trial.TrialState
    for trial in study.get_trials(states=[states.RUNNING]):
        study.tell(trial.number, state=states.FAIL)
    # Resumed with the same seed, the sampler would propose what it proposed before.
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))
    known = study.get_trials(states=[states.COMPLETE, states.WAITING])
    if all({**t.params, **t.system_attrs.get("fixed_params", {})} != task.default for t in known):
        study.enqueue_trial(task.default)


def _optimise(
    optuna: Any,
    study: Any,
    task: Tuning,
    trials: int,
    on_trial: Callable[[SearchProgress], None] | None,
) -> None:
    states = optuna.trial.TrialState
    ended = [states.COMPLETE, states.PRUNED, states.FAIL]

    def objective(trial: Any) -> float:
        setting = {name: trial.suggest_categorical(name, v) for name, v in task.axes.items()}
        for earlier in study.get_trials(states=[states.COMPLETE, states.PRUNED]):
            if earlier.params == setting:
                # Training is repeatable: so is its end.
                if earlier.state == states.PRUNED:
                    raise optuna.TrialPruned
                return earlier.value
        outcome = task.train(setting, _pruning(trial, never=setting == task.default))
        if outcome.result.stopped == "asked":
            raise optuna.TrialPruned
        return task.accuracy(outcome, "val")

    def tell(study: Any, _: Any) -> None:
        if on_trial is not None:
            n_done = len(study.get_trials(states=ended))
            complete = study.get_trials(states=[states.COMPLETE])
            best = max((t.value for t in complete), default=float("nan"))
            on_trial(SearchProgress(n_done, trials, best))

    n_ended = len(study.get_trials(states=ended))
    study.optimize(
        objective,
        n_trials=max(0, trials - n_ended),
        callbacks=[tell],
        # Sixty-four layers may not fit in memory: the search continues without them.
        catch=(GraphFilterError, RuntimeError),
    )


def _pruning(trial: Any, *, never: bool) -> Callback:
    """Report the best validation accuracy so far, and prune a hopeless trial."""
    best = 0.0

    def watch(progress: Progress) -> bool:
        nonlocal best
        best = max(best, progress.val_score)
        if progress.epoch % EPOCHS_BETWEEN_REPORTS:
            return False
        trial.report(best, progress.epoch)
        return not never and trial.should_prune()

    return Callback(watch)


def _report(optuna: Any, study: Any, task: Tuning) -> SearchResult:
    """Train the default and the best once more, and score the test part for the first time."""
    states = optuna.trial.TrialState
    complete = study.get_trials(states=[states.COMPLETE])
    if not any(trial.params == task.default for trial in complete):
        raise ConfigError(
            f"{task.system.name} could not be trained in its own setting; see what fails with "
            "graphfilter bench."
        )
    # The first among equals: nothing is gained by a setting that is no better than the default.
    best = max(complete, key=lambda trial: trial.value).params
    default, chosen = (_found(task, setting) for setting in (task.default, best))
    count = {state: len(study.get_trials(states=[state])) for state in states}
    return SearchResult(
        task.system.name, task.split, default, chosen,
        count[states.COMPLETE], count[states.PRUNED], count[states.FAIL],
    )  # fmt: skip


def _found(task: Tuning, setting: Setting) -> Found:
    outcome = task.train(setting)
    return Found(dict(setting), task.accuracy(outcome, "val"), task.accuracy(outcome, "test"))

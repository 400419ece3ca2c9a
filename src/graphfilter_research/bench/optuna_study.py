"""Optuna, as the search uses it: imported when needed, silent, its studies kept in SQLite."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphfilter.util.errors import ConfigError, DataFileError


def import_optuna() -> Any:
    """Return the module optuna, which is an optional dependency."""
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "a search needs the package optuna, which is not installed. Install it: pip install "
            "'graphfilter[search]'"
        ) from None
    return optuna


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

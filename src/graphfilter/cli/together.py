"""Commands that several processes, started by torchrun, run together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphfilter.cli.screen import say
from graphfilter.cli.stopping import what_is_kept
from graphfilter.util.errors import ProcessError
from graphfilter.util.machine import launched

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.systems import System
    from graphfilter.util.processes import Group

T = TypeVar("T")


def join_processes() -> Group | None:
    """Join the other processes; None where there are none."""
    if launched().size == 1:
        return None
    from graphfilter.util.processes import start

    return start()


def on_first(group: Group | None, work: Callable[[], T]) -> T:
    """Do this once: in the first process, where there are several."""
    return work() if group is None else group.on_first(work)


def note_division(group: Group | None, estimator: VertexEstimator) -> list[str]:
    """Say what the processes divide among them."""
    if group is None:
        return []
    return [say_division(estimator.build_system(), group.size)]


def say_division(system: System, n_processes: int) -> str:
    """Return what so many processes divide among them, in words."""
    from graphfilter.systems.committee import Committee
    from graphfilter.systems.pipeline import is_divided

    what = "members" if isinstance(system, Committee) else "hidden columns"
    if is_divided(system):
        return f"{n_processes} processes: the {what} of {system.title} are divided among them."
    return (
        f"{system.title} is trained by one of the {n_processes} processes: only the hidden "
        "columns of a filter network (sgf) and the members of a committee can be divided."
    )


def say_communicated(metrics: Mapping[str, Any]) -> None:
    """Print what the processes exchanged, where columns were divided among several."""
    if (found := metrics.get("processes")) and found["bytes_per_step"]:
        step, scoring = found["bytes_per_step"], found["bytes_per_scoring"]
        say(
            f"{found['n']} processes exchanged {step:,} bytes per step (the logits, and the "
            f"filter's gradient) and {scoring:,} per scoring."
        )


@contextmanager
def report_kept_state(out: Path) -> Generator[None]:
    """Say what is left of a run that fails, or one of whose processes was lost."""
    from graphfilter.runs.layout import checkpoints

    try:
        yield
    except ProcessError as error:
        kept = what_is_kept(out)
        raise ProcessError(f"{error} {kept[:1].upper()}{kept[1:]}") from None
    except Exception as error:
        if checkpoints(out):
            error.add_note(what_is_kept(out))
        raise

"""A system as the average of several seeds: ``fsgnn*5``, beside committees that average theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, get_system, train_system
from graphfilter.systems.committee import Committee, repeated_seed
from graphfilter.systems.pooling import together
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError

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

"""Record: everything about one run that a number in a table may be asked for. One JSON line."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import torch

from graphfilter.errors import DataFileError
from graphfilter.storage import append_lines, read_lines
from graphfilter.version import __version__

Scores = dict[str, dict[str, Any]]
T = TypeVar("T")


def current_versions() -> dict[str, str]:
    """Return the versions a run depends on."""
    return {
        "graphfilter": __version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@dataclass(frozen=True)
class Record:
    """One run of one system on one split of one dataset.

    Attributes
    ----------
    dataset, model : str
        Registry names; a dataset may also be the path of an npz file.
    split_rule, split_index, seed, scaling
        Which split, which random numbers, which feature scaling.
    config : dict
        The training configuration, the operator, and whose setting it is.
    network : dict
        The scalars of the untrained network (dropout and where it sits, filter, width).
    data_checksum : str
        Of the graph as it was loaded.
    scores : dict
        Of train, val and test: n_vertices, accuracy, macro_f1, log_loss, calibration_error.
    best_epoch, epochs, stopped
        As in :class:`graphfilter.training.FitResult`; 0 and '' for what is not trained by epochs.
    seconds, seconds_per_epoch : float
        This run's share of the time of the runs trained side by side with it, so that the
        seconds of all records add up to the time that was spent.
    filter : dict
        The filter's learned scalars.
    status, reason
        'failed' runs have no scores but a reason.
    """

    dataset: str
    model: str
    split_rule: str
    split_index: int
    seed: int
    scaling: str
    config: dict[str, Any]
    device: str
    network: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=current_versions)
    data_checksum: str = ""
    status: Literal["ok", "failed"] = "ok"
    reason: str = ""
    scores: Scores = field(default_factory=dict)
    best_epoch: int = 0
    epochs: int = 0
    stopped: str = ""
    seconds: float = 0.0
    seconds_per_epoch: float | None = None
    side_by_side: int = 1
    filter: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def asked(self) -> str:
        """What was asked for: known of a run before anything is loaded."""
        parts = (
            self.dataset, self.model, self.split_rule, self.split_index, self.seed, self.scaling,
            self.config,
        )  # fmt: skip
        return json.dumps(_plain(parts), sort_keys=True)

    @property
    def key(self) -> str:
        """Everything that decides the result but machine and versions: what is skipped by."""
        found = json.dumps(_plain((self.data_checksum, self.network)), sort_keys=True)
        return f"{self.asked} {found}"

    def to_json(self) -> str:
        """Return the record as one line of JSON; numbers that are not finite become null."""
        return json.dumps(_plain(asdict(self)), allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Read one line; ValueError where it is not JSON, TypeError where it is no Record."""
        record = from_plain(cls, json.loads(line))
        if not fits(record.scores, dict[str, dict[str, float | None]]):
            raise TypeError("scores must be numbers, by part and metric")
        if record.ok and not _is_scored(record.scores):
            raise TypeError("scores of a run that is ok must have its sizes and accuracy")
        return record


def _is_scored(scores: Scores) -> bool:
    """Say whether scores hold what every table needs of a run; the test part may be empty."""
    train, test = scores.get("train", {}), scores.get("test")
    if not (train.get("n_vertices") or 0) > 0:
        return False
    if test is None:
        return True
    accuracy = test.get("accuracy")
    return (test.get("n_vertices") or 0) > 0 and accuracy is not None and 0 <= accuracy <= 1


# What a line must be, for errors.
A_RECORD = "a benchmark record"


class RecordFile:
    """Records in a JSON-lines file, appended whole as runs end.

    A line that is broken is left out: its run is simply not there. A last one that was cut when
    the process was killed goes from the file before the first append.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        self.n_cut = 0
        if self.path.exists():
            self.records, self.n_cut = read_lines(self.path, Record.from_json, A_RECORD)

    def append(self, records: Iterable[Record]) -> None:
        """Write the records' lines, in one piece, to the disk."""
        if self.path.suffix == ".gz":
            raise DataFileError(self.path, "is packed, to be kept; unpack it with gunzip first.")
        records = list(records)
        if not self.records:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(self.path, [record.to_json() for record in records])
        self.records += records


def read_records(path: str | Path) -> list[Record]:
    """Read the records of a file; a line that is broken is left out."""
    if not Path(path).is_file():
        raise DataFileError(path, "there is no such file; graphfilter bench --out writes one.")
    return RecordFile(path).records


def from_plain(kind: type[T], content: Any) -> T:
    """Make a dataclass of what JSON held; TypeError unless its fields are there, and no others."""
    hints = _hints(kind)
    if not isinstance(content, dict) or set(content) != set(hints):
        raise TypeError(f"must hold {', '.join(hints)}")
    for name, hint in hints.items():
        if not fits(content[name], hint):
            raise TypeError(f"{name} must be {hint}")
    return kind(**content)


_hints = cache(get_type_hints)


def fits(value: Any, hint: Any) -> bool:
    """Say whether what JSON held is of a type; a whole number is a float, a truth no number.

    >>> fits([1, 2.5], list[float]), fits([1, None], list[float]), fits(True, int)
    (True, False, False)
    """
    origin, of = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in of
    if origin is UnionType:
        return any(fits(value, one) for one in of)
    if origin is list:
        return isinstance(value, list) and all(fits(v, of[0]) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(v, of[1]) for v in value.values())
    if hint is NoneType or isinstance(value, bool):
        return value is None and hint is NoneType
    return isinstance(value, int | float if hint is float else hint)


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

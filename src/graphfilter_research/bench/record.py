"""Record: all that is kept of one run, as one JSON line."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch

import graphfilter
from graphfilter.util.errors import DataFileError
from graphfilter.util.records import convert, matches, to_plain
from graphfilter.version import __version__
from graphfilter_research.lines import LinesFile

Scores = dict[str, dict[str, Any]]


@cache
def content_hash() -> str:
    """Return a hash of the package's own code, the same wherever the same files are installed."""
    root = Path(graphfilter.__file__).resolve().parent
    digest = hashlib.sha256()
    files = (path for kind in ("*.py", "*.c") for path in root.rglob(kind))
    for path in sorted(files, key=lambda p: p.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


def current_versions() -> dict[str, str]:
    """Return the versions a run depends on, and the hash of this package's code."""
    return {
        "graphfilter": __version__,
        "code": content_hash(),
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
        The config of the network: its kind and every field.
    data_checksum : str
        Of the graph as it was loaded.
    scores : dict
        Of train, val and test: n_vertices, and those of ``metrics.METRICS`` that are defined.
    best_epoch, epochs, stopped
        As in :class:`graphfilter.training.FitResult`; 0 and '' for what is not trained by epochs.
    seconds, seconds_per_epoch : float
        This run's share of the time of the runs trained side by side with it, so that the
        seconds of all records add up to the time that was spent.
    filter : dict
        The filter's learned scalars.
    members : dict
        Of a committee: each member's share of the weights, its seconds, epochs and test scores, and
        those of the others without it.
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
    members: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def cut(self) -> bool:
        """Whether the limit of epochs ended it, before its patience did.

        Where the patience is as long as the limit, it was meant to be trained to the end.
        """
        waits = self.config.get("patience", 0) < self.config.get("max_epochs", 1)
        return self.ok and self.stopped == "max_epochs" and waits

    @cached_property
    def asked(self) -> str:
        """What was asked for: known of a run before anything is loaded.

        Whose setting it is decides nothing: a label that is corrected leaves records valid.
        """
        config = {name: value for name, value in self.config.items() if name != "setting"}
        parts = (
            self.dataset, self.model, self.split_rule, self.split_index, self.seed, self.scaling,
            config,
        )  # fmt: skip
        return json.dumps(to_plain(parts), sort_keys=True)

    @cached_property
    def key(self) -> str:
        """Everything that decides the result but machine and versions: what is skipped by."""
        found = json.dumps(to_plain((self.data_checksum, self.network)), sort_keys=True)
        return f"{self.asked} {found}"

    def to_json(self) -> str:
        """Return the record as one line of JSON; numbers that are not finite become null."""
        return json.dumps(to_plain(asdict(self)), allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Read one line; ValueError where it is not JSON, TypeError where it is no Record."""
        # Missing versions are unknown ones, not those of today.
        record = convert(cls, {"versions": {}} | json.loads(line))
        if not matches(record.scores, dict[str, dict[str, float | None]]):
            raise TypeError("scores must be numbers, by part and metric")
        if not math.isfinite(record.seconds):
            raise TypeError("seconds must be finite")
        if record.ok and not _is_scored(record.scores):
            raise TypeError("scores of a run that is ok must have its sizes and accuracy")
        return record


def _is_scored(scores: Scores) -> bool:
    """Return whether scores hold what every table needs of a run; the test part may be empty."""
    train, test = scores.get("train", {}), scores.get("test")
    if not 0 < (train.get("n_vertices") or 0) < math.inf:
        return False
    if test is None:
        return True
    n_test, accuracy = test.get("n_vertices") or 0, test.get("accuracy")
    return 0 < n_test < math.inf and accuracy is not None and 0 <= accuracy <= 1


# What a line must be, for errors.
A_RECORD = "a benchmark record"


class RecordFile(LinesFile[Record]):
    """Records in a JSON-lines file, appended as runs end."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, Record.from_json, Record.to_json, A_RECORD)


def read_records(path: str | Path) -> list[Record]:
    """Read the records of a file; a line that is broken is left out."""
    if not Path(path).is_file():
        raise DataFileError(path, "there is no such file; graphfilter bench --out writes one.")
    return RecordFile(path).records

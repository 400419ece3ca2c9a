"""Record: everything about one run that a number in a table may be asked for. One JSON line."""

from __future__ import annotations

import gzip
import json
import math
import os
import platform
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch

from graphfilter.errors import DataFileError
from graphfilter.version import __version__

Scores = dict[str, dict[str, Any]]


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
        As in :class:`graphfilter.runs.FitResult`; 0 and '' for what is not trained by epochs.
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
        content = json.loads(line)
        names = {f.name for f in fields(cls)}
        if not isinstance(content, dict) or set(content) != names:
            raise TypeError("not a record")
        if content["status"] not in ("ok", "failed"):
            raise TypeError("a record's status must be ok or failed")
        return cls(**content)


class RecordFile:
    """Records in a JSON-lines file, appended whole as runs end.

    A line that was cut when the process was killed is dropped, in reading and from the file
    before the first append: its run is simply not there.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        self.n_cut = 0
        if self.path.exists():
            self._read()

    def append(self, records: Iterable[Record]) -> None:
        """Write the records' lines, in one piece, to the disk."""
        if self.path.suffix == ".gz":
            raise DataFileError(self.path, "is packed, to be kept; unpack it with gunzip first.")
        records = list(records)
        lines = "".join(record.to_json() + "\n" for record in records).encode()
        if not self.records:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as stream:
            self._mend(stream.tell())
            stream.write(lines)
            os.fsync(stream.fileno())
        self.records += records

    def _mend(self, size: int) -> None:
        """Cut off a last line that is not whole, lest the next one be glued to it."""
        if not size:
            return
        with self.path.open("r+b") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                stream.seek(0)
                stream.truncate(stream.read().rfind(b"\n") + 1)

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
            if self.path.suffix == ".gz":
                content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataFileError(self.path, f"cannot be read: {reason}.") from None
        *lines, cut = content.split(b"\n")
        self.n_cut = int(bool(cut.strip()))
        if self.n_cut:
            self._check_ours(cut, len(lines) + 1)
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                self.records.append(Record.from_json(line))
            except ValueError:
                self._check_ours(line, number)
                self.n_cut += 1
            except TypeError:
                raise DataFileError(
                    self.path,
                    "must be a benchmark record of this version of graphfilter; it is not. Give "
                    "a file that graphfilter bench wrote, or start a new one.",
                    line=number,
                ) from None

    def _check_ours(self, line: bytes, number: int) -> None:
        """Raise unless a broken line can have been a record: the file may not be ours."""
        if not line.lstrip().startswith(b"{"):
            raise DataFileError(
                self.path, "must be a file of records; it is not, and was left alone.", line=number
            )


def read_records(path: str | Path) -> list[Record]:
    """Read the records of a file; a line that was cut is left out."""
    if not Path(path).is_file():
        raise DataFileError(path, "there is no such file; graphfilter bench --out writes one.")
    return RecordFile(path).records


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

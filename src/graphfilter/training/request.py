"""TrainRequest: the networks to be trained, and all that decides what becomes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from graphfilter.errors import ConfigError, GraphError
from graphfilter.models import Network
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.splits import Split
from graphfilter.training.checkpoint import FORMAT
from graphfilter.training.config import TrainConfig
from graphfilter.training.task import Task
from graphfilter.training.tasks import CLASSIFICATION


@dataclass(frozen=True, eq=False)
class TrainRequest:
    """Networks to be trained, each on its split and from its seed: see :func:`train`."""

    models: Sequence[Network[Any]]
    operator: Operator
    x: Tensor | SparseFeatures
    labels: Tensor
    splits: Sequence[Split]
    config: TrainConfig
    seeds: Sequence[int]
    class_weight: Tensor | None = None
    task: Task = CLASSIFICATION

    @property
    def monitor(self) -> str:
        """The score that chooses the best epoch."""
        return self.task.resolve(self.config.monitor)

    def check(self) -> None:
        """Raise where there is nothing to learn from, or to choose the best epoch by."""
        models, splits, seeds, labels = self.models, self.splits, self.seeds, self.labels
        if not len(models) == len(splits) == len(seeds) >= 1:
            raise ConfigError(
                "there must be as many models as splits and seeds; "
                f"got {len(models)}, {len(splits)} and {len(seeds)}."
            )
        for split in splits:
            split.check(len(labels))
            if not len(split.train):
                raise GraphError("a split must have at least one training vertex; got none.")
            for part in (split.train, split.val):
                if not self.task.known(labels[torch.from_numpy(part.copy())]).all():
                    raise GraphError("training and validation vertices must be labelled.")
            validated = labels[torch.from_numpy(split.val.copy())]
            self.task.check(self.monitor, validated, self.class_weight)

    def fingerprint(self) -> str:
        """Name the runs by all that decides their course: setting, first weights, graph, features.

        Of a training that is resumed it must be the same.
        """
        operator, x = self.operator, self.x
        digest = hashlib.blake2b(digest_size=16)
        where = (operator.device.type, torch.__version__, FORMAT)
        digest.update(repr((asdict(self.config), list(self.seeds), operator, where)).encode())
        if self.task is not CLASSIFICATION:
            digest.update(repr(self.task).encode())
        for split in self.splits:
            for part in (split.train, split.val):
                digest.update(part.tobytes())
        tensors = [*(t for matrix in operator.factors() for t in matrix.tensors()), self.labels]
        tensors += x.tensors() if isinstance(x, SparseFeatures) else [x]
        for tensor in tensors if self.class_weight is None else [*tensors, self.class_weight]:
            digest.update(_content(tensor))
        for model in self.models:
            digest.update(repr(model.config).encode())
            for value in model.state_dict().values():
                digest.update(_content(value))
        return digest.hexdigest()


def _content(tensor: Tensor) -> memoryview | bytes:
    """Return the bytes of a tensor, where they lie: a large graph is not copied to be hashed."""
    if not tensor.numel():  # Its strides may be 0, which torch sees no bytes in.
        return b""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data

"""Predicting with the networks of one system, in memory or block by block."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.models import FilterNetwork, Fitted, HopNetwork, HopNetworkConfig, Network
from graphfilter.operators import Operator, SparseFeatures, to_tensor
from graphfilter.runtime import blocks, own_torch_state, threads_for
from graphfilter.storage import RowsFile, scratch_folder
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System
from graphfilter.training import REGRESSION, multiplications

# Vertices whose logits become answers at a time, and columns that are filtered at a time.
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1 << 13, 16


def inputs_of(prepared: Prepared, system: System) -> Tensor | SparseFeatures:
    """Return what the networks of a system read of a graph that is prepared with its view."""
    if isinstance(system.model, HopNetworkConfig):
        return prepared.hops(system.operator, system.model.n_hops)
    return prepared.x


def _rows(x: Tensor | SparseFeatures, rows: NDArray[np.int64]) -> Tensor | SparseFeatures:
    if isinstance(x, Tensor):
        return x[torch.from_numpy(rows).to(x.device)]
    return to_tensor(sp.csr_array(x.to_scipy()[rows]), device=str(x.device))


def predict_networks(
    prepared: Prepared,
    system: System,
    networks: Sequence[Network[Any]],
    *,
    rows: NDArray[np.int64] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the outputs of each network for every vertex: class probabilities (n, n_classes).

    Of another task, the probability of every label, or values. Of some vertices only where ``rows``
    are given.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g)
    >>> (again,) = gf.systems.predict_networks(clf.prepared_, clf.system_, clf.members_)
    >>> bool((again == clf.predict_proba()).all())
    True
    """
    ready = _Ready.of(prepared, system, networks)
    x, asked = ready.x, slice(None)
    if rows is not None and system.is_fitted:  # Its answers depend on the row alone.
        x = _rows(x, rows)
    elif rows is not None:
        asked = torch.from_numpy(rows).to(prepared.device)
    predicted = []
    with own_torch_state(gradients=False), threads_for(ready.work):
        for network in ready.networks:
            logits = network.eval()(ready.operator, x, None)
            own = logits.double()[asked]
            predicted.append(prepared.task.answers(own).cpu().numpy())
    return predicted


def predict_into(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    write: Callable[[NDArray[np.float64]], None],
    folder: Path,
) -> None:
    """Pass the outputs of a network for every vertex to ``write``, block by block.

    The answers of all vertices are never in memory. Neither are the logits of a network that reads
    vertices one by one, nor those of one filter, which are put in files in ``folder``.
    """
    # Not of a class that is derived from it, whose forward is another.
    in_blocks = type(network) is FilterNetwork and network.eval().filters_logits()
    ready = _Ready.of(prepared, system, [network], first=ROWS_AT_ONCE if in_blocks else None)
    with (
        own_torch_state(gradients=False),
        threads_for(ready.work),
        scratch_folder("columns-", folder) as scratch,
    ):
        groups = _filter_in_blocks(ready, scratch) if in_blocks else _logits_in_groups(ready)
        for logits in groups:
            write(prepared.task.answers(logits.double()).cpu().numpy())


def _logits_in_groups(ready: _Ready) -> Iterator[Tensor]:
    network, x = ready.networks[0].eval(), ready.x
    if isinstance(network, HopNetwork) and isinstance(x, Tensor) and x.ndim == 3:
        yield from (network.rows(x[rows]) for rows in blocks(len(x), ROWS_AT_ONCE))
        return
    yield from network(ready.operator, x, None).split(ROWS_AT_ONCE)


def _filter_in_blocks(ready: _Ready, folder: Path) -> Iterator[Tensor]:
    """Yield the logits of a filter that runs after the head; some columns are in memory."""
    network, operator, first = ready.networks[0].eval(), ready.operator, ready.x
    assert isinstance(network, FilterNetwork)
    n, n_columns = operator.n, network.head.weight.shape[1]
    groups = blocks(n, ROWS_AT_ONCE)
    plain, filtered = RowsFile(folder / "plain"), []
    for rows in groups:
        x = ready.seen.rows(rows)
        x = x.to(first.dtype) if isinstance(x, Tensor) and isinstance(first, Tensor) else x
        logits = network.unfiltered_logits(x)
        plain.append(logits.cpu().numpy())
    # Compiled code takes room for as many columns, whatever it is given.
    width = COLUMNS_AT_ONCE if operator.dtype == torch.float32 else min(COLUMNS_AT_ONCE, n_columns)
    for start in range(0, n_columns, width):
        columns = torch.zeros(n, width, dtype=operator.dtype)
        for rows in groups:
            own = plain[rows][:, start : start + width]
            columns[rows, : own.shape[1]] = torch.from_numpy(own)
        columns = network.filter(operator, columns.to(operator.device))
        filtered.append(RowsFile(folder / str(start)))
        for rows in groups:
            filtered[-1].append(columns[rows, : n_columns - start].cpu().numpy())
    bias = 0.0 if network.filters_bias else network.head.bias
    for rows in groups:
        logits = np.concatenate([columns[rows] for columns in filtered], axis=1)
        yield torch.from_numpy(logits).to(network.head.bias) + bias


@dataclass(frozen=True, eq=False)
class _Ready:
    """Networks of a system and what they read of a graph, in the precision of the task."""

    seen: Prepared
    operator: Operator
    x: Tensor | SparseFeatures
    networks: Sequence[Network[Any]]
    work: int

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        system: System,
        networks: Sequence[Network[Any]],
        *,
        first: int | None = None,
    ) -> _Ready:
        """Make ready; ``x`` is of the ``first`` so many vertices, where that is given."""
        kept = networks[0].kept_view() if isinstance(networks[0], Fitted) else None
        seen = prepared.seen_as(system.view, kept)
        operator = seen.operator(system.operator)
        if prepared.known is not None:
            networks = [network.recognising(prepared.known.numbers) for network in networks]
        x = inputs_of(seen, system) if first is None else seen.rows(slice(first))
        work = multiplications(networks, operator, x)
        if seen.task is REGRESSION and isinstance(x, Tensor):
            # Numbers are read to more digits than float32 gives alike for one vertex and for many.
            operator = operator.to(dtype=torch.float64)
            # Hops may be larger than memory: the network converts those it reads.
            x = x if x.ndim == 3 else x.double()
            networks = [copy.deepcopy(network).double() for network in networks]
        return cls(seen, operator, x, networks, work)

"""Hidden columns divided among processes: the loss, gradients and weights of one process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.processes import run_together
from torch import Tensor

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.models.columns import DIVIDED
from graphfilter.operators import SparseFeatures, augmented_adjacency
from graphfilter.operators.sparse import to_tensor
from graphfilter.splits import stratified
from graphfilter.training import Callback, FitResult, Progress, TrainConfig, train
from graphfilter.training.division import Division, divide
from graphfilter.util import processes
from graphfilter.util.errors import ConfigError, GraphFilterError, ProcessError

GRAPH = make_csbm(n_vertices=60, mean_degree=4, n_features=5)
K, WIDTH, CLASSES = 3, 10, 2
CONFIG = TrainConfig(max_epochs=12, patience=6)
SEEDS = [0, 1]


def networks(dtype: torch.dtype) -> list[FilterNetwork]:
    return [
        FilterNetwork(
            5, CLASSES, StackedFilter(K), hidden_size=WIDTH,
            generator=torch.Generator().manual_seed(seed),
        ).to(dtype)
        for seed in SEEDS
    ]  # fmt: skip


def step(dtype: torch.dtype, sparse: bool) -> dict[str, Tensor]:
    """Return loss, logits and gradients of a training step, and the logits of a prediction."""
    group = processes.start()
    models = networks(dtype)
    division = divide(models)
    trained = models if division is None else division.models
    operator = augmented_adjacency(GRAPH).to(dtype=dtype)
    x: Any = to_tensor(GRAPH.features, dtype=dtype)
    if sparse:
        import scipy.sparse as sp

        x = SparseFeatures(sp.csr_array(GRAPH.features), dtype=dtype)
    draws = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    logits = FilterNetwork.forward_side_by_side(trained, operator, x, draws)
    labels = torch.tensor(GRAPH.labels)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.repeat_interleave(2))
    loss.backward()
    found = {"loss": loss.detach(), "logits": logits.detach()}
    for r, model in enumerate(trained):
        of_model = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        whole = of_model if division is None else division.whole(of_model, DIVIDED)
        found |= {f"{r}.{name}": value for name, value in whole.items()}
        model.eval()
    with torch.no_grad():
        found["predicted"] = FilterNetwork.forward_side_by_side(
            trained, operator, x, [None] * len(trained)
        )
    # Both have drawn as much.
    found["drawn"] = torch.stack([generator.get_state() for generator in draws])
    if group is not None:
        processes.end()
    return found


def learn(path: Path | None = None, stop_at: int = 0) -> Any:
    """Train two networks side by side, from a checkpoint if there is one."""
    processes.start()
    splits = [stratified(GRAPH.labels, seed) for seed in SEEDS]
    x, labels = torch.tensor(GRAPH.features), torch.tensor(GRAPH.labels)

    def interrupt(progress: Progress) -> None:
        if progress.epoch == stop_at:
            raise KeyboardInterrupt

    try:
        return train(
            networks(torch.float32), augmented_adjacency(GRAPH), x, labels, splits, CONFIG,
            seeds=SEEDS,
            callback=Callback(interrupt, checkpoint=path, checkpoint_seconds=1e9, resume=True),
        )  # fmt: skip
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        processes.end()


def lose_one() -> str:
    """Train until the last process kills itself; return what the others raise."""
    group = processes.start()
    assert group is not None
    (network, _), labels = networks(torch.float32), torch.tensor(GRAPH.labels)
    before = group.sum_

    def sum_(tensor: Tensor, purpose: str) -> Tensor:
        if group.rank == group.size - 1 and group.sent["step"] > 2000:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(tensor, purpose)

    group.sum_ = sum_
    try:
        train(
            [network], augmented_adjacency(GRAPH), torch.tensor(GRAPH.features), labels,
            [stratified(GRAPH.labels, 0)], TrainConfig(max_epochs=10_000, patience=10_000),
            seeds=[0],
        )  # fmt: skip
    except ProcessError as error:
        return str(error)
    return "nothing was noticed"


def decide() -> list[Any]:
    """Return what the first process does for all, and tasks divided among them."""
    group = processes.start()
    assert group is not None

    def refuse() -> None:
        raise ConfigError("this must be that.")

    told: list[Any] = [group.on_first(lambda: group.rank + 7)]
    try:
        group.on_first(refuse)
    except GraphFilterError as error:
        told.append(str(error))
    told.append(group.share(5, lambda i: (i, group.rank, processes.current()), lambda: None))
    processes.end()
    return told


def close(a: dict[str, Tensor], b: dict[str, Tensor], tolerance: float) -> bool:
    return a.keys() == b.keys() and all(
        torch.allclose(a[k].double(), b[k].double(), rtol=tolerance, atol=tolerance) for k in a
    )


def same_course(a: FitResult, b: FitResult, tolerance: float) -> bool:
    return (a.best_epoch, a.stopped) == (b.best_epoch, b.stopped) and all(
        np.allclose(a.history[k], b.history[k], rtol=tolerance, atol=tolerance) for k in a.history
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_divided_step_equals_that_of_one_process(sparse: bool):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
        alone = step(dtype, sparse)
        for size in (2, 4) if dtype is torch.float64 else (2,):
            for found in run_together(size, step, dtype, sparse):
                assert close(alone, found, tolerance)


def test_divided_training_equals_that_of_one_process():
    alone = learn()
    processes_of_two = run_together(2, learn)
    for found in processes_of_two:
        for one, other in zip(alone, found, strict=True):
            assert same_course(one, other, 1e-5)
            assert close(one.state, other.state, 1e-5)
    first = processes_of_two[0][0]
    numbers = GRAPH.n_vertices * CLASSES + (K + 1) + CLASSES
    assert first.communicated["step"] == 4 * 2 * numbers  # of two runs
    assert not alone[0].communicated


def test_divided_run_is_resumed_with_another_number_of_processes(tmp_path: Path):
    paths = [tmp_path / f"{name}.safetensors" for name in ("same", "other", "one")]
    whole = run_together(2, learn)[0]
    assert run_together(2, learn, paths[0], 5) == ["interrupted"] * 2
    for path in paths[1:]:
        path.write_bytes(paths[0].read_bytes())
    same, other = run_together(2, learn, paths[0])[0], run_together(4, learn, paths[1])
    one = learn(paths[2])
    for r, expected in enumerate(whole):
        # To the bit with as many processes.
        assert same_course(expected, same[r], 0)
        assert all(torch.equal(expected.state[k], same[r].state[k]) for k in expected.state)
        for found in (*other, one):
            assert same_course(expected, found[r], 1e-5)


def test_lost_process_ends_the_others_with_a_line():
    *others, killed = run_together(3, lose_one)
    assert killed == -signal.SIGKILL
    assert all("another process of this job has ended" in said for said in others)


def test_first_process_decides_and_tasks_are_divided():
    for told in run_together(3, decide):
        assert told == [7, "this must be that.", [(i, i % 3, None) for i in range(5)]]


def test_more_processes_than_columns_are_refused():
    group = processes.Group(0, WIDTH + 1)
    with pytest.raises(ConfigError, match="at least one hidden column per process"):
        Division(group, networks(torch.float32))


def what_is_left_to_the_end() -> list[tuple[object, ...]]:
    left: list[tuple[object, ...]] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("atexit.register", lambda *call: left.append(call))
        processes.start()
        processes.start()
    return [call for call in left if call[0] is time.sleep]


def test_python_waits_for_the_threads_of_sums_before_it_shuts_down() -> None:
    found = run_together(2, what_is_left_to_the_end)
    assert found == [[(time.sleep, processes.SECONDS_TO_LET_GO)]] * 2

"""Checkpoints damaged in every way: refused in one line, or resumed to the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import stratified
from graphfilter.training import Callback, FitResult, Progress, TrainConfig, train
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import read_tensors

GRAPH = make_csbm(n_vertices=40, mean_degree=4, n_features=5)
OPERATOR = augmented_adjacency(GRAPH)
X, LABELS = torch.tensor(GRAPH.features), torch.tensor(GRAPH.labels)
SEEDS = [0, 1]
SPLITS = [stratified(GRAPH.labels, seed) for seed in SEEDS]
# The patience is short enough for one of the runs to have stopped at the interruption.
CONFIG = TrainConfig(max_epochs=12, patience=3, learning_rate=0.1)
STOP_AT = 8

Tensors = dict[str, Tensor]
Content = dict[str, Any]
Mutant = tuple[str, Tensors, Any]


class Interrupt(Exception):  # noqa: N818 - not an error
    pass


def resume(path: Path | None, on_epoch: Callable[[Progress], Any] | None = None) -> list[FitResult]:
    networks = [
        FilterNetwork(
            5, 2, StackedFilter(2), hidden_size=3, generator=torch.Generator().manual_seed(seed)
        )
        for seed in SEEDS
    ]
    return train(
        networks, OPERATOR, X, LABELS, SPLITS, CONFIG,
        seeds=SEEDS,
        callback=Callback(on_epoch, checkpoint=path, checkpoint_seconds=1e9, resume=True),
    )  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of two interrupted runs."""
    path = tmp_path_factory.mktemp("whole") / "checkpoint.safetensors"

    def interrupt(progress: Progress) -> None:
        if progress.epoch == STOP_AT:
            raise Interrupt

    with pytest.raises(Interrupt):
        resume(path, interrupt)
    return path


@pytest.fixture(scope="module")
def whole() -> list[FitResult]:
    """What the two runs end with when nothing interrupts them."""
    return resume(None)


def same_bits(a: FitResult, b: FitResult) -> bool:
    return (
        (a.best_epoch, a.stopped, a.state.keys()) == (b.best_epoch, b.stopped, b.state.keys())
        and all(torch.equal(a.state[k], b.state[k]) for k in a.state)
        and all(np.array_equal(a.history[k], b.history[k], equal_nan=True) for k in a.history)
    )


def outcome(path: Path, whole: list[FitResult]) -> str:
    """Resume from a file; return 'refused', 'same' or 'different'. Anything else raises."""
    try:
        results = resume(path)
    except ModelFileError as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < 600
        return "refused"
    pairs = zip(results, whole, strict=True)
    return "same" if all(same_bits(a, b) for a, b in pairs) else "different"


def reshaped(value: Tensor) -> Iterator[Tensor]:
    yield value[None]
    yield torch.cat([value.reshape(-1), value.reshape(-1)])
    yield value.reshape(-1)[:0]
    if value.ndim:
        yield value[:-1]
        yield value.reshape(-1)[0]
    if value.ndim == 2:
        yield value.T


def retyped(value: Tensor) -> Iterator[Tensor]:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        if dtype != value.dtype:
            yield value.to(dtype)


def damaged_tensors(tensors: Tensors, content: Content) -> Iterator[Mutant]:
    names = list(tensors)
    for name, value in tensors.items():
        rest = {k: v for k, v in tensors.items() if k != name}
        yield f"without {name}", rest, content
        yield f"{name} renamed", {**rest, f"{name}_": value}, content
        for new in (*reshaped(value), *retyped(value)):
            if new.dtype != value.dtype or new.shape != value.shape:
                what = f"{name} as {new.dtype} {tuple(new.shape)}"
                yield what, {**rest, name: new.contiguous()}, content
    adam = [name for name in names if name.startswith("adam")]
    without = {k: v for k, v in tensors.items() if k not in adam}
    yield "no moments at all", without, content
    for extra in ("adam99.step", "adamx.step", "adam.step", "adam-1.step", "run2.generator", "a"):
        yield f"and {extra}", {**tensors, extra: torch.zeros(3)}, content
    for i in range(sum(name.endswith(".step") for name in adam)):
        for step in (0.0, -1.0, STOP_AT + 100.0, float("nan"), float("inf")):
            new = {**tensors, f"adam{i}.step": torch.tensor(step)}
            yield f"adam{i}.step = {step}", new, content
    yield "nothing", {}, content


WRONG = (None, True, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "0x1p+1", [], [1], {})


def damaged_contents(tensors: Tensors, content: Content) -> Iterator[Mutant]:
    for name in content:
        rest = {k: v for k, v in content.items() if k != name}
        yield f"without {name}", tensors, rest
        for value in WRONG:
            if name != "seconds" or value not in (10**30, 1.5):
                yield f"{name} = {value!r}", tensors, {**rest, name: value}
    for r, why in enumerate(content["called_off"]):
        for value in WRONG:
            if value != why:
                changed = [*content["called_off"]]
                changed[r] = value
                yield f"run {r} ended by {value!r}", tensors, {**content, "called_off": changed}
    for wrong in ([""], ["", "", ""]):
        yield f"{len(wrong)} runs", tensors, {**content, "called_off": wrong}
    for more in ([0], [*content["adam"], 99], content["adam"][1:], content["adam"] * 2):
        yield f"moments of {more}", tensors, {**content, "adam": more}
    yield "a list", tensors, [content]


def write(path: Path, tensors: Tensors, content: Any) -> None:
    """Write a file of this content; without the checksum, as if its writer knew how to make one."""
    save_file(tensors, path, metadata={"graphfilter": json.dumps(content)})


def test_checkpoint_resumes_with_and_without_its_checksum(
    checkpoint: Path, whole: list[FitResult], tmp_path: Path
) -> None:
    """What the damaged ones are compared with: one run has stopped, the other has not."""
    path = tmp_path / "copy.safetensors"
    path.write_bytes(checkpoint.read_bytes())
    assert outcome(path, whole) == "same"
    tensors, content = read_tensors(checkpoint)
    lengths = [len(tensors[f"run{r}.history"]) for r in range(2)]
    assert min(lengths) < max(lengths) == content["epoch"]
    write(path, tensors, content)
    assert outcome(path, whole) == "same"


@pytest.mark.parametrize("damage", [damaged_tensors, damaged_contents])
def test_damaged_checkpoint_is_refused_in_one_line(
    checkpoint: Path,
    whole: list[FitResult],
    tmp_path: Path,
    damage: Callable[[Tensors, Content], Iterator[Mutant]],
) -> None:
    path = tmp_path / "damaged.safetensors"
    taken = []
    n_mutants = 0
    for what, tensors, content in damage(*read_tensors(checkpoint)):
        write(path, tensors, content)
        n_mutants += 1
        if outcome(path, whole) == "different":
            taken.append(what)
    assert n_mutants > 100
    assert not taken


def test_checkpoint_with_a_changed_byte_or_cut_short_is_refused(
    checkpoint: Path, whole: list[FitResult], tmp_path: Path
) -> None:
    """Every changed byte is found by the checksum, wherever it lies."""
    path = tmp_path / "damaged.safetensors"
    content = checkpoint.read_bytes()
    rng = np.random.default_rng(0)
    places = [*range(16), *rng.integers(0, len(content), 150).tolist()]
    different = []
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        if outcome(path, whole) == "different":
            different.append(place)
    assert not different
    for length in [0, 1, 7, 8, 9, *rng.integers(10, len(content), 40).tolist()]:
        path.write_bytes(content[:length])
        assert outcome(path, whole) == "refused"


def test_numbers_that_are_no_generator_state_do_no_harm(
    checkpoint: Path, whole: list[FitResult], tmp_path: Path
) -> None:
    """With the checksum left out: refused, or other random numbers are drawn, and no more."""
    path = tmp_path / "damaged.safetensors"
    tensors, content = read_tensors(checkpoint)
    rng = np.random.default_rng(0)
    for _ in range(60):
        state = tensors["run0.generator"].clone()
        for place in rng.integers(0, len(state), 3):
            state[place] = int(rng.integers(256))
        write(path, {**tensors, "run0.generator": state}, content)
        assert outcome(path, whole) in ("refused", "same", "different")

"""One callback goes from whoever starts a fit down to the loop."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphfilter as gf
from graphfilter.training import Callback, Progress
from graphfilter.training.callbacks import SILENT, LoggedProgress
from graphfilter.util.errors import ConfigError

GRAPH = gf.load_dataset("karate")


def sgf() -> gf.SGFClassifier:
    return gf.SGFClassifier(max_epochs=4, random_state=0)


class Counting(Callback):
    """A user's class that does not call the constructor it is derived from."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_epoch(self, progress: Progress) -> bool | None:
        self.seen.append(progress.epoch)
        return progress.epoch == 2


def test_callback_of_a_users_class_sees_epochs_and_ends_training() -> None:
    counting = Counting()
    clf = sgf().fit(graph=GRAPH, callback=counting)
    assert counting.seen == [1, 2]
    assert clf.results_[0].stopped == "asked"


def test_arguments_of_0_2_are_taken_with_a_warning(tmp_path: Path) -> None:
    seen: list[int] = []
    path = tmp_path / "state.safetensors"
    with pytest.warns(DeprecationWarning, match=r"`on_epoch`, `checkpoint` must be passed as"):
        sgf().fit(graph=GRAPH, on_epoch=lambda p: seen.append(p.epoch), checkpoint=path)
    assert seen == [1, 2, 3, 4]
    assert path.exists()
    prepared = gf.systems.Prepared.of(GRAPH)
    system = gf.systems.get_system("sgf").with_(max_epochs=2)
    split = gf.splits.stratified(GRAPH.labels, seed=0)
    with pytest.warns(DeprecationWarning, match="`on_epoch` must"):
        gf.systems.train_system(prepared, system, [split], [0], on_epoch=lambda _: None)


def test_callback_beside_arguments_of_0_2_is_refused() -> None:
    with pytest.raises(ConfigError, match="must hold `resume`"):
        sgf().fit(graph=GRAPH, callback=Callback(), resume=True)
    with pytest.raises(TypeError, match="no epochs"):
        sgf().fit(graph=GRAPH, epochs=3)


def test_parts_keep_their_state_in_files_beside() -> None:
    callback = Callback(checkpoint="folder/checkpoint.safetensors", resume=True)
    part = callback.part("deep")
    assert part.checkpoint == Path("folder/checkpoint-deep.safetensors")
    assert part.resume
    assert part.part("more").checkpoint == Path("folder/checkpoint-deep-more.safetensors")
    assert SILENT.part("deep").checkpoint is None


def test_what_is_compared_says_so_and_keeps_nothing() -> None:
    seen: list[Progress] = []
    compared = Callback(seen.append, checkpoint="state", resume=True).of_compared()
    assert (compared.checkpoint, compared.resume) == (None, False)
    sgf().fit(graph=GRAPH, callback=compared)
    assert all(progress.compared for progress in seen)
    assert len(seen) == 4


def test_silent_callbacks_have_nothing_prepared_for_them() -> None:
    assert not SILENT.watches
    assert not SILENT.part("x").of_compared().watches
    assert Counting().watches
    assert LoggedProgress().watches

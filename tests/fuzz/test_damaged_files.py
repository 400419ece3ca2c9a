"""Damaged files of every format are read soundly, or refused by an error of ours."""

from __future__ import annotations

import shutil
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.fuzz.formats import FORMATS
from tests.fuzz.mutate import mutate, mutate_file
from tests.peak_memory import PeakMemory

from graphfilter.util.errors import GraphFilterError

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read in /proc"),
]
MOST_BYTES = 500 << 20
MOST_CHARACTERS = 5000
EXAMPLES = settings.default.max_examples if settings.default else 100


@pytest.fixture(scope="session", params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def sample(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a good sample, and what is read from it."""
    good = tmp_path_factory.mktemp(name) / "good"
    good.mkdir()
    FORMATS[name].write(good)
    return good, FORMATS[name].read(good)


def test_damaged_files_are_sound_or_refused(name: str, sample: tuple[Path, Any]) -> None:
    form, (good, answer) = FORMATS[name], sample
    files = sorted(path.relative_to(good) for path in good.rglob("*") if path.is_file())
    contents = [(good / file).read_bytes() for file in files]
    n_examples = EXAMPLES // 10 if form.slow else EXAMPLES

    @settings(max_examples=n_examples)
    @given(st.sampled_from(files), st.booleans(), st.integers(0, 2**32).map(Random))
    def check(file: Path, signed: bool, random: Random) -> None:
        copy = good.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(good, copy)
        if signed or form.sign is None:
            mutate_file(copy / file, contents, random)
        else:
            (copy / file).write_bytes(mutate((copy / file).read_bytes(), contents, random))
        if signed and form.sign is not None:
            with suppress(Exception):  # What cannot be read cannot be signed.
                form.sign(copy)
        peak = PeakMemory()
        try:
            with warnings.catch_warnings(record=True):
                found = form.read(copy)
        except GraphFilterError as error:
            said = str(error)
            if "\n" in said or len(said) > MOST_CHARACTERS:
                pytest.fail(f"an error of several lines or {len(said)} characters: {said[:200]}")
        else:
            if not isinstance(found, bytes | None):
                assert np.isfinite(found).all()
            # A checksum finds all damage that was not signed.
            if form.sign is not None and not signed:
                assert np.array_equal(np.asarray(found), np.asarray(answer))
        assert peak.grown() < MOST_BYTES

    check()

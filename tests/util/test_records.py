"""JSON, tensors and rows on disk: typed, and checked for changes."""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings, strategies as st

from graphfilter.util.errors import ModelFileError
from graphfilter.util.files import atomic_file
from graphfilter.util.records import (
    MOST_BYTES,
    RowsFile,
    convert,
    matches,
    read_checked_json,
    read_json,
    read_tensors,
    to_plain,
    write_checked_json,
    write_json,
    write_tensors,
)


@contextmanager
def file_with(content: bytes) -> Iterator[Path]:
    """A temporary file; hypothesis must not share pytest's folder between its examples."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        yield path


def safetensors_file(header: Any, body: bytes = bytes(8)) -> bytes:
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def own_file() -> bytes:
    with file_with(b"") as path:
        write_tensors(path, {"w": torch.arange(6.0).reshape(2, 3)}, {"version": 1})
        return path.read_bytes()


OWN = own_file()
ENTRY = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}


def test_atomic_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_file(path) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_atomic_file_leaves_everything_as_it_was_on_an_error(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail_half_way() -> None:
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_text() == "old"
    path.unlink()
    with pytest.raises(error):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no umask there")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_atomic_file_permissions_follow_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_json(tmp_path / "a.json", {})
        write_tensors(tmp_path / "a.safetensors", {"w": torch.ones(2)}, {})
        assert os.umask(umask) == umask  # as it was
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == {mode}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # A lone surrogate is no character; JSON can escape it, UTF-8 cannot.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_json_round_trip(value: Any) -> None:
    with file_with(b"") as path:
        write_json(path, value)
        assert read_json(path) == value


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_write_json_refuses_and_keeps_the_old_file(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.json"
    write_json(path, "old")
    with pytest.raises((TypeError, ValueError)):
        write_json(path, value)
    assert read_json(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


@given(st.binary())
@example(b"\xff\xfe")
@example(b"[" * 200_000)
@example(b"1" * 10_000)
@example(b"\xef\xbb\xbf{}")
def test_read_json_reads_or_names_the_file(content: bytes) -> None:
    problem = ""
    with file_with(content) as path:
        try:
            read_json(path)
        except ModelFileError as error:
            problem = str(error)
    assert not problem or problem.startswith(f"{path}: not readable as JSON")


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_readers_name_a_file_that_is_not_there(tmp_path: Path, read: Any) -> None:
    with pytest.raises(ModelFileError, match="gone: there is no such file"):
        read(tmp_path / "gone")
    with pytest.raises(ModelFileError):
        read(tmp_path)


def test_read_json_takes_regular_files_of_some_size_alone(tmp_path: Path) -> None:
    """A pipe would be waited for without end, and a large file fill the memory."""
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    paths = [tmp_path, large]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
        paths.append(tmp_path / "pipe.json")
    for path in paths:
        with pytest.raises(ModelFileError, match="must be a regular file of at most 512 MiB"):
            read_json(path)


def test_tensors_round_trip_with_their_types(tmp_path: Path) -> None:
    """Shared, strided and differentiable tensors too, each on its own."""
    base = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    tensors = {
        "base": base,
        "view": base[0],
        "transposed": base.T,
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "integers": torch.tensor([2**40]),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(True),
    }
    metadata = {"name": "α", "nested": {"list": [1, None, 2.5]}}
    write_tensors(tmp_path / "t", tensors, metadata)
    got, content = read_tensors(tmp_path / "t")
    assert content == metadata
    assert got.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert got[name].dtype == tensor.dtype
        assert torch.equal(got[name], tensor.detach())


def test_write_tensors_keeps_the_old_file_on_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_tensors(path, {"w": torch.ones(1)}, {})
    with pytest.raises(TypeError):
        write_tensors(path, {"w": torch.zeros(1)}, {"bad": object()})
    assert read_tensors(path)[0]["w"].item() == 1
    assert list(tmp_path.iterdir()) == [path]


def test_read_tensors_finds_every_flipped_bit_of_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for bit in range(8 * 24):
        changed = bytearray(OWN)
        changed[len(OWN) - 24 + bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match="checksum"):
            read_tensors(path)


def test_read_tensors_holds_a_file_to_the_checksum_it_was_written_with(tmp_path: Path) -> None:
    first = write_tensors(tmp_path / "a", {"w": torch.ones(2)}, {"n": 1})
    second = write_tensors(tmp_path / "b", {"w": torch.ones(2)}, {"n": 2})
    assert first != second
    assert first == write_tensors(tmp_path / "c", {"w": torch.ones(2)}, {"n": 1})
    read_tensors(tmp_path / "a", first)
    for wrong in (second, "", [first]):
        with pytest.raises(ModelFileError, match="checksum"):
            read_tensors(tmp_path / "a", wrong)  # type: ignore[arg-type]


def test_read_tensors_takes_files_without_a_checksum(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2)}, tmp_path / "t", metadata={"graphfilter": '{"n": 1}'})
    tensors, content = read_tensors(tmp_path / "t")
    assert content == {"n": 1}
    assert tensors["w"].tolist() == [1, 1]


def test_checked_json_finds_changes_and_takes_files_without_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_checked_json(path, {"b": [1, 0.1], "a": "α"})
    assert read_checked_json(path) == {"b": [1, 0.1], "a": "α"}
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    assert read_checked_json(path) == {"b": [1, 0.1], "a": "α"}
    path.write_text(path.read_text().replace("0.1", "0.3"))
    with pytest.raises(ModelFileError, match=r"a\.json: .* checksum"):
        read_checked_json(path)
    path.write_text('{"b": 1}')
    assert read_checked_json(path) == {"b": 1}


@pytest.mark.parametrize("length", range(0, len(OWN), 7))
def test_read_tensors_refuses_every_truncation(length: int) -> None:
    with file_with(OWN[:length]) as path, pytest.raises(ModelFileError, match="truncated, or not"):
        read_tensors(path)


@given(st.binary(max_size=64) | st.just(OWN), st.lists(st.tuples(st.integers(0), st.binary())))
def test_read_tensors_reads_or_names_the_file(
    content: bytes, changes: list[tuple[int, bytes]]
) -> None:
    """Anything at all, and our own files with bytes overwritten."""
    for start, piece in changes:
        at = start % max(1, len(content))
        content = content[:at] + piece + content[at + len(piece) :]
    problem = ""
    with file_with(content) as path:
        try:
            tensors, metadata = read_tensors(path)
            assert isinstance(metadata, dict)
            assert all(isinstance(t, torch.Tensor) for t in tensors.values())
        except ModelFileError as error:
            problem = str(error)
    assert not problem or problem.startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({"w": ENTRY}, "not one of graphfilter's"),
        ({"__metadata__": {"other": "{}"}, "w": ENTRY}, "not one of graphfilter's"),
        ({"__metadata__": {"graphfilter": "[1]"}, "w": ENTRY}, "not one of graphfilter's"),
        ({"__metadata__": {"graphfilter": "{"}, "w": ENTRY}, "not a safetensors file"),
        ({"__metadata__": {"graphfilter": "[" * 100_000}, "w": ENTRY}, "not a safetensors file"),
        ({"w": {**ENTRY, "dtype": "F1"}}, "not a safetensors file"),
        ({"w": {**ENTRY, "shape": [2**63, 2]}}, "not a safetensors file"),
        (
            {
                "__metadata__": {"graphfilter": "{}"},
                "w": {**ENTRY, "shape": [0, 2**63], "data_offsets": [0, 0]},
                "v": ENTRY,
            },
            r"not a safetensors file \(.*\)\. Save the model again\.$",
        ),
    ],
)
def test_read_tensors_refuses_foreign_headers(header: Any, problem: str) -> None:
    with file_with(safetensors_file(header)) as path, pytest.raises(ModelFileError, match=problem):
        read_tensors(path)


def test_read_tensors_runs_no_pickled_code(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    torch.save(Trap(), tmp_path / "model")
    with pytest.raises(ModelFileError):
        read_tensors(tmp_path / "model")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ['{"a": NaN}', "[-Infinity]", "[1e999]", r'["\ud800"]'])
def test_read_json_refuses_what_is_never_written(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"a\.json: not readable"):
        read_json(tmp_path / "a.json")


@dataclass(frozen=True)
class Inner:
    weights: list[float]


@dataclass(frozen=True)
class Example:
    name: str
    count: int
    share: float | None
    inner: Inner
    status: Literal["ok", "failed"] = "ok"
    more: dict[str, Any] = field(default_factory=dict)


WHOLE = {"name": "a", "count": 3, "share": 1, "inner": {"weights": [1, 0.5]}}


def test_convert_gives_dataclasses_and_fills_in_defaults() -> None:
    assert convert(Example, WHOLE) == Example("a", 3, 1.0, Inner([1.0, 0.5]))


def test_convert_ignores_fields_of_newer_versions() -> None:
    newer = {**WHOLE, "added": {"later": 1}, "inner": {"weights": [], "bias": 0}}
    assert convert(Example, newer) == Example("a", 3, 1.0, Inner([]))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": 1}, "$.name"),
        ({"name": None}, "$.name"),
        ({"count": 1.5}, "$.count"),
        ({"count": True}, "$.count"),
        ({"count": "1"}, "$.count"),
        ({"share": "1"}, "$.share"),
        ({"share": False}, "$.share"),
        ({"inner": [1]}, "$.inner"),
        ({"inner": {}}, "$.inner"),
        ({"inner": {"weights": [1, None]}}, "$.inner.weights[1]"),
        ({"status": "maybe"}, "$.status"),
        ({"more": []}, "$.more"),
    ],
)
def test_convert_names_the_field_of_a_wrong_type(change: dict[str, Any], where: str) -> None:
    with pytest.raises(TypeError) as caught:
        convert(Example, WHOLE | change)
    assert str(caught.value).startswith(f"{where}: ")


@pytest.mark.parametrize("missing", ["name", "count", "share", "inner"])
def test_convert_asks_for_every_field_without_a_default(missing: str) -> None:
    with pytest.raises(TypeError, match=missing):
        convert(Example, {name: value for name, value in WHOLE.items() if name != missing})


@pytest.mark.parametrize("content", [None, 1, "a", [], [WHOLE]])
def test_convert_refuses_what_is_no_object(content: Any) -> None:
    with pytest.raises(TypeError):
        convert(Example, content)
    assert not matches(content, Example)


@given(st.text(), st.integers(-(2**63), 2**63 - 1), st.none() | st.floats(allow_nan=False))
def test_convert_undoes_asdict_and_json(name: str, count: int, share: float | None) -> None:
    example = Example(name, count, share, Inner([0.1]), more={"any": [1, {"thing": None}]})
    assert convert(Example, json.loads(json.dumps(asdict(example)))) == example


def test_to_plain_is_standard_json() -> None:
    value = {1: (np.int64(2), np.float64("inf")), "x": [float("nan"), None, True, "s"]}
    assert to_plain(value) == {"1": [2, None], "x": [None, None, True, "s"]}
    json.dumps(to_plain(value), allow_nan=False)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    width=st.integers(1, 3),
    seed=st.integers(0, 100),
)
def test_rows_are_read_as_an_array_is(
    sizes: list[int], width: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(n, width)) for n in sizes]
    expected, rows = np.concatenate(blocks), RowsFile(tmp_path_factory.mktemp("rows") / "rows")
    for block in blocks:
        rows.append(block)
    assert len(rows) == len(expected)
    for part in (slice(None), slice(2, 5), slice(-3, None), slice(50, 60)):
        np.testing.assert_array_equal(rows[part], expected[part])
    if len(expected):
        some = rng.integers(len(expected), size=12)
        np.testing.assert_array_equal(rows[some], expected[some])


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    rows = RowsFile(tmp_path / "rows")
    rows.append(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="must have 3 numbers; got 2"):
        rows.append(np.zeros((2, 2)))

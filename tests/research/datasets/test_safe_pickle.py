"""Genuine pickles are read; hostile ones are refused before anything happens."""

from __future__ import annotations

import contextlib
import copyreg
import io
import os
import pickle
import struct
import subprocess
import tracemalloc
import zipfile
from collections import defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from tests.peak_memory import PeakMemory

from graphfilter.util.errors import DataFileError, GraphFilterError
from graphfilter_research.datasets.readers import read_graphdata
from graphfilter_research.datasets.safe_pickle import (
    check_opcodes,
    loads,
    read_pickle,
    read_pickled_array,
)

WHERE = "some.pickle"


class Calls:
    """Pickles to a call of ``function``."""

    def __init__(self, function, *args, state=None):
        self.call = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.call


def refuse(data: bytes, match: str | None = None) -> str:
    with pytest.raises(DataFileError, match=match) as caught:
        loads(data, WHERE)
    return str(caught.value)


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.asfortranarray(np.random.default_rng(0).random((3, 4))),
        np.array([True, False]),
        np.array([1.5, -2], dtype=">f4"),
        np.array(["a", "bcd"]),
        np.empty((0, 3)),
        np.array(7),
    ],
)
def test_loads_equals_pickle_on_arrays(array, protocol):
    got = loads(pickle.dumps(array, protocol=protocol), WHERE)
    np.testing.assert_array_equal(got, array)
    assert got.dtype == array.dtype


@pytest.mark.parametrize("protocol", [3, 4])
def test_loads_equals_pickle_on_sparse_matrices(protocol):
    matrix = sp.csr_matrix(np.random.default_rng(0).integers(0, 2, (9, 5)))
    got = loads(pickle.dumps(matrix, protocol=protocol), WHERE)
    np.testing.assert_array_equal(got.toarray(), matrix.toarray())


def test_loads_equals_pickle_on_plain_values():
    value = {"a": [1, -5, 10**19, 0.5, None, True], "b": ("x", b"y", {3: []})}
    assert loads(pickle.dumps(value, protocol=4), WHERE) == value


def test_loads_gives_defaultdicts_as_dicts_and_networkx_graphs_as_edges():
    assert loads(pickle.dumps(defaultdict(list, {1: [2]}), protocol=2), WHERE) == {1: [2]}
    edges = loads(pickle.dumps(nx.path_graph(3), protocol=4), WHERE)
    assert sorted(map(tuple, edges.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1)]


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize(
    ("function", "make_args"),
    [
        (os.system, lambda p: (f"touch {p}",)),
        (eval, lambda p: (f"__import__('os').mkdir({str(p)!r})",)),
        (exec, lambda p: (f"__import__('os').mkdir({str(p)!r})",)),
        (subprocess.call, lambda p: (["touch", str(p)],)),
        (os.makedirs, lambda p: (str(p),)),
        (os.mkdir, lambda p: (str(p),)),
        (np.memmap, lambda p: (str(p), "f4", "w+", 0, (1,))),
        (np.save, lambda p: (str(p), 1)),
        (Path.touch, lambda p: (p,)),
    ],
)
def test_loads_runs_nothing(tmp_path, function, make_args, protocol):
    touched = tmp_path / "touched"
    bomb = pickle.dumps({"x": Calls(function, *make_args(touched))}, protocol=protocol)
    refuse(bomb)
    assert not any(tmp_path.iterdir())
    pickle.loads(bomb)  # the bomb is a real one
    assert any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "function",
    [
        getattr,
        __import__,
        copyreg.__newobj__,  # pyright: ignore
        copyreg._reconstructor,  # pyright: ignore
        pickle.loads,
        np.load,
        np.frombuffer,
        type,
        object,
        bytearray,
        map,
    ],
)
def test_loads_names_the_type_it_refuses(function):
    assert function.__name__ in refuse(pickle.dumps(function, protocol=2), "asks for")


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("EXT1", b"\x80\x02\x82\x01."),
        ("EXT2", b"\x80\x02\x83\x01\x00."),
        ("EXT4", b"\x80\x02\x84\x01\x00\x00\x00."),
        ("PERSID", b"Pname\n."),
        ("BINPERSID", b"\x80\x02NQ."),
        ("INST", b"(X\x04\x00\x00\x00trueios\nsystem\n."),
        ("OBJ", b"(cos\nsystem\nX\x04\x00\x00\x00trueo."),
        ("NEWOBJ_EX", b"\x80\x04cos\nsystem\n)}\x92."),
        ("NEXT_BUFFER", b"\x80\x05\x97."),
        ("DUP", b"\x80\x02]2."),
        ("POP", b"\x80\x02]N0."),
        ("LONG4", b"\x80\x02\x8b\xff\xff\xff\x7f."),
        ("BINUNICODE8", b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"."),
        ("BYTEARRAY8", b"\x80\x05\x96" + struct.pack("<Q", 1 << 60) + b"."),
    ],
)
def test_loads_refuses_opcodes_of_no_genuine_file(what, data):
    assert what in refuse(data, "refused at byte")


def test_loads_refuses_registered_extensions():
    copyreg.add_extension("os", "system", 0x7E)
    try:
        copyreg._extension_cache[0x7E] = os.system  # pyright: ignore
        refuse(b"\x80\x02\x82\x7e.", "EXT1")
    finally:
        copyreg.remove_extension("os", "system", 0x7E)
        copyreg._extension_cache.pop(0x7E, None)  # pyright: ignore


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02X\xff\xff\xff\x7f.",  # a string of 2 GiB
        b"\x80\x03B\xff\xff\xff\xff.",  # bytes of 4 GiB
        b"\x80\x02]r\xff\xff\xff\x7f.",  # a memo of 2^31 entries
        b"\x80\x02]q\x01h\x02.",  # from a memo that was never set
        b"\x80\x04\x95" + b"\xff" * 8 + b".",  # a frame without end
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02a.",
        b"",
    ],
)
def test_loads_refuses_lengths_the_file_does_not_hold(data):
    refuse(data)


def test_loads_refuses_tuples_that_would_hash_for_ever():
    # ((t, t), (t, t)) and so on, 60 deep, as a key: 2^60 steps to hash.
    body = b"\x80\x02})q\x00"
    for i in range(1, 60):
        body += b"h" + bytes([i - 1]) + b"h" + bytes([i - 1]) + b"\x86q" + bytes([i])
    refuse(body + b"h" + bytes([59]) + b"Ns.", "tuple")
    # The same with the tuple put in the memo after a BUILD that does nothing.
    refuse(b"\x80\x02}NN\x86Nbq\x00h\x00h\x00\x86.", "memo")


def test_loads_caps_bytes_and_opcodes():
    data = pickle.dumps(list(range(50)), protocol=3)
    with pytest.raises(DataFileError, match="at most 40 opcodes"):
        check_opcodes(data, WHERE, 40)
    with pytest.raises(DataFileError, match="smaller than 10 bytes"):
        loads(data, WHERE, 10)


def test_loads_survives_a_list_in_itself_and_deep_nesting():
    assert isinstance(loads(b"\x80\x02]q\x00h\x00a.", WHERE), list)
    deep = loads(b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".", WHERE)
    assert len(deep) == 1


def array_pickle(shape: bytes, name: bytes, raw: bytes) -> bytes:
    return (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01" + shape + b"cnumpy\ndtype\nU" + bytes([len(name)]) + name + b"K\x00K\x01\x87R"
        b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" + raw + b"tb."
    )


def test_loads_checks_arrays_against_their_data():
    eight = b"T\x08\x00\x00\x00" + struct.pack("<2i", 3, -4)
    np.testing.assert_array_equal(loads(array_pickle(b"K\x02\x85", b"i4", eight), WHERE), [3, -4])
    huge = b"\x8a\x08" + struct.pack("<q", 1 << 61) + b"\x85"
    refuse(array_pickle(huge, b"i4", eight), "as long as its shape")
    refuse(array_pickle(huge, b"S0", b"T\x00\x00\x00\x00"), "plain numbers")
    refuse(array_pickle(b"K\x02\x85", b"V4", eight), "plain numbers")
    refuse(array_pickle(b"J\xff\xff\xff\xff\x85", b"i4", eight), "shape")
    refuse(array_pickle(b"K\x02\x85", b"O8", b"]"), "objects")
    refuse(array_pickle(b"N", b"i4", eight), "shape")


def test_loads_refuses_arrays_of_objects_that_hold_themselves():
    body = array_pickle(b")", b"O8", b"]h\x05a")
    refuse(body.replace(b"\x87R(K\x01", b"\x87Rq\x05(K\x01", 1), "recursion")


@pytest.mark.parametrize("key", ["indices", "indptr"])
def test_loads_refuses_sparse_matrices_that_point_outside(key):
    matrix = sp.csr_matrix(np.eye(4))
    getattr(matrix, key)[2] = 1_000_000
    refuse(pickle.dumps(matrix, protocol=3), "sparse matrix")


@pytest.mark.parametrize("state", [{"x": 1}, ({"x": 1}, {"y": 2}), (None, {"__setstate__": None})])
@pytest.mark.parametrize(
    "target",
    [
        b"cnumpy\nndarray\n",
        b"cnumpy.core.multiarray\n_reconstruct\n",
        b"cscipy.sparse.csr\ncsr_matrix\n",
        b"ccollections\ndefaultdict\n",
        b"ccollections\ndefaultdict\n)R",
        b"cbuiltins\ndict\n",
    ],
)
def test_loads_sets_no_attributes(target, state):
    body = pickle.dumps(state, protocol=2)[2:-1]
    refuse(b"\x80\x02" + target + body + b"b.")
    # What the names stand for is as before.
    array = np.arange(3)
    np.testing.assert_array_equal(loads(pickle.dumps(array, protocol=3), WHERE), array)


def test_loads_refuses_one_list_of_neighbours_for_many_vertices():
    shared = {0: 1, 1: 0}
    graph = nx.Graph()
    graph._adj = {0: shared, 1: shared}  # pyright: ignore
    refuse(pickle.dumps(graph, protocol=3), "share")


def test_read_pickled_array_goes_through_the_same_gate(tmp_path):
    touched = tmp_path / "touched"
    box = np.empty((), dtype=object)
    box[()] = Calls(os.mkdir, str(touched))
    stream = io.BytesIO()
    np.save(stream, box, allow_pickle=True)
    with pytest.raises(DataFileError, match="mkdir"):
        read_pickled_array(stream.getvalue(), WHERE)
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("adj_matrix.npy", stream.getvalue())
    with pytest.raises(DataFileError, match="mkdir"):
        read_graphdata(tmp_path / "bad.npz")
    assert not touched.exists()


def test_read_pickle_takes_no_more_memory_than_the_file_needs(tmp_path):
    (tmp_path / "small").write_bytes(pickle.dumps(np.arange(9)))
    tracemalloc.start()
    try:
        read_pickle(tmp_path / "small")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_read_pickle_names_the_file(tmp_path):
    path = tmp_path / "x.pickle"
    path.write_bytes(pickle.dumps(os.system))
    with pytest.raises(DataFileError, match="system") as caught:
        read_pickle(path)
    assert caught.value.path == str(path)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.booleans())
def test_loads_of_random_bytes_raises_nothing_else(data, with_header):
    with contextlib.suppress(GraphFilterError):
        loads(b"\x80\x02" + data if with_header else data, WHERE)


GENUINE = [
    pickle.dumps(sp.csr_matrix(np.eye(3)), protocol=2),
    pickle.dumps(sp.csr_matrix(np.eye(3)), protocol=4),
    pickle.dumps(np.arange(5.0), protocol=3),
    pickle.dumps(defaultdict(list, {0: [1, 2], 1: [0]}), protocol=2),
    pickle.dumps(nx.path_graph(4), protocol=3),
    array_pickle(b"K\x02\x85", b"i4", b"T\x08\x00\x00\x00" + bytes(8)),
]


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_loads_of_damaged_pickles_raises_nothing_else(data):
    content = bytearray(data.draw(st.sampled_from(GENUINE)))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(GraphFilterError):
        loads(bytes(content), WHERE)


def long1(number: int) -> bytes:
    data = number.to_bytes(number.bit_length() // 8 + 1, "little")
    return b"\x8a" + bytes([len(data)]) + data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x80\x02}N" + b"\x85" * 1_000_000 + b"Ns.", "nest tuples"),
        (b"\x80\x02}N\x85Ns.", "tuple for a key"),
        (b"\x80\x02}(N\x85Nu.", "tuple for a key"),
        (b"\x80\x02})Ns.", "tuple for a key"),
        (b"\x80\x02(" + long1(1 << 2030) * 20_000 + b"t.", "64 bits"),
        (
            b"\x80\x02}(" + b"".join(long1(((1 << 61) - 1) << i) + b"N" for i in range(99)) + b"u.",
            "64 bits",
        ),
    ],
)
def test_small_pickle_cannot_ask_for_much_time(data: bytes, problem: str) -> None:
    peak = PeakMemory()
    with pytest.raises(DataFileError, match=problem):
        loads(data, "bad.pkl")
    assert peak.grown() < 100 << 20

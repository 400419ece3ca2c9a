"""Labels in every encoding users have, and the class numbers they become."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graphfilter.tables.labels import UNLABELLED, encode_labels, match_labels, read_labels
from graphfilter.util.errors import GraphError


class NotAvailable:
    """Compares like ``pandas.NA``: to something that has no truth value."""

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        (["b", "a", "b"], [1, 0, 1], ["a", "b"]),
        (["b", None, "", "   ", float("nan"), -1, "a"], [1, -1, -1, -1, -1, -1, 0], ["a", "b"]),
        (["a", NotAvailable()], [0, -1], ["a"]),
        ([" a", "a", "a b"], [0, 0, 1], ["a", "a b"]),
        (
            ["b", "NA", " n/a", "a", "?", "None", "NULL", "NaN", "-1.0"],
            [1, *[-1] * 2, 0, *[-1] * 5],
            ["a", "b"],
        ),
        (["10", "9.0", "9", " 10.00"], [1, 0, 0, 1], ["9", "10"]),
        (["1", "01", "1.0"], [1, 0, 2], ["01", "1", "1.0"]),
        (["1.0", "-1.0", ""], [1, 0, -1], ["-1", "1"]),
        (["1", "k", "1.0"], [0, 2, 1], ["1", "1.0", "k"]),
        ([7, -1, 3], [1, -1, 0], [3, 7]),
        ([7, None, 3], [1, -1, 0], [3, 7]),
        ([7.0, np.nan, -1.0, 2.5], [1, -1, -1, 0], [2.5, 7.0]),
        ([True, False, True], [1, 0, 1], [False, True]),
        ([True, True], [0, 0], [True]),
        (["-1", "1"], [0, 1], ["-1", "1"]),
        (np.array([255, 1], dtype=np.uint8), [1, 0], [1, 255]),
        (np.array(["b", "", "a"]), [1, -1, 0], ["a", "b"]),
        (np.array([[4], [2]]), [1, 0], [2, 4]),
        ([("x", 1), ("a", 2), ("x", 1)], [1, 0, 1], [("a", 2), ("x", 1)]),
        ([1, "a", None, 2.5], [1, 2, -1, 0], [2.5, 1, "a"]),
        ((c for c in "ba"), [1, 0], ["a", "b"]),
        ([-1, -1], [-1, -1], []),
        (["", None], [-1, -1], []),
        ([], [], []),
    ],
)
def test_encode_labels_numbers_sorted_classes(
    labels: Any, codes: list[int], classes: list[Any]
) -> None:
    got_codes, got_classes = encode_labels(labels)
    assert got_codes.dtype == np.int64
    assert got_codes.tolist() == codes
    assert got_classes.tolist() == classes


@pytest.mark.parametrize(
    "labels",
    [
        [-1, 1, 1],
        [-1.0, 1.0, 1.0],
        np.array([-1, 1, 1], dtype=object),
        np.array([-1, 1, 1], np.int8),
    ],
)
def test_encode_labels_takes_plus_and_minus_one_as_two_classes(labels: Any) -> None:
    codes, classes = encode_labels(labels)
    assert codes.tolist() == [0, 1, 1]
    assert classes.tolist() == [-1, 1]


def test_encode_labels_keeps_other_encodings_of_missing_beside_plus_and_minus_one() -> None:
    assert encode_labels([-1, 1, None])[0].tolist() == [0, 1, -1]
    assert encode_labels([-1.0, 1.0, np.nan])[0].tolist() == [0, 1, -1]


def test_encode_labels_reads_minus_one_as_unlabelled_beside_any_other_class() -> None:
    assert encode_labels([-1, 1, 2])[0].tolist() == [-1, 0, 1]
    assert encode_labels([-1, 2])[0].tolist() == [-1, 0]


@pytest.mark.parametrize("word", ["none", "NA", "?", "-1", "null"])
def test_one_class_beside_words_for_unlabelled_must_be_decided_by_the_user(word: str) -> None:
    with pytest.raises(GraphError, match=r"two classes or more; got 'fraud' alone beside .*unlab"):
        encode_labels(["fraud", word, word])
    codes, classes = encode_labels(["fraud", word, ""], unlabelled=("",))
    assert codes.tolist() == [classes.tolist().index("fraud"), classes.tolist().index(word), -1]
    assert encode_labels(["fraud", "", None])[0].tolist() == [0, -1, -1]


def test_unlabelled_replaces_the_spellings() -> None:
    labels = ["a", "Unknown ", "NA", "b"]
    codes, classes = encode_labels(labels, unlabelled=("unknown",))
    assert classes.tolist() == ["NA", "a", "b"]
    assert codes.tolist() == [1, -1, 0, 2]
    with pytest.raises(GraphError, match="tuple of spellings"):
        encode_labels(labels, unlabelled="unknown")


def test_match_labels_reads_names_as_encode_labels_does() -> None:
    classes = np.array(["1", "10", "a"], dtype=object)
    codes, known = match_labels([" 1", "1.0", "10.", "a ", "b", "NA", None], classes)
    assert codes.tolist() == [0, 0, 1, 2, -1, -1, -1]
    assert known.tolist() == [True] * 5 + [False] * 2


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("abc", "sequence.*got str"),
        ({"v": "a"}, "sequence.*got dict"),
        ({"a", "b"}, "sequence.*got set"),
        (5, "sequence.*got int"),
        ([[1, 2], [3, 4]], r"one value per vertex; got shape \(2, 2\)"),
        ([[1], [1, 2]], "unequal length"),
        (["a", ["b"]], "hashable"),
        (np.array([np.arange(2), None], dtype=object), "hashable"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "strings or numbers"),
        ([1j, 2j], "strings or numbers"),
        ([1.0, np.inf], "infinite"),
    ],
)
def test_encode_labels_refuses_what_is_no_labelling(labels: Any, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        encode_labels(labels)


def test_encode_labels_leaves_its_input_alone() -> None:
    labels = np.array([2, -1, 5])
    encode_labels(labels)
    assert labels.tolist() == [2, -1, 5]
    assert labels.flags.writeable


names = st.text(min_size=1).filter(lambda name: name.strip().lower() not in UNLABELLED)
missing = st.sampled_from([None, "", " ", float("nan"), -1])


@given(st.lists(names | st.integers(0, 99) | missing))
def test_encode_labels_classes_give_the_labels_back(labels: list[Any]) -> None:
    codes, classes = encode_labels(labels)
    assert len(codes) == len(labels)
    for code, label in zip(codes, labels, strict=True):
        if code < 0:
            assert label is None or label != label or label == -1 or not label.strip()
        elif isinstance(label, str):
            assert label.strip().startswith(str(classes[code])) or label.strip()[:2] == "-0"
        else:
            assert classes[code] == label
    assert sorted(set(codes[codes >= 0].tolist())) == list(range(len(classes)))


@given(st.lists(names | missing, min_size=1), st.randoms())
def test_encode_labels_follows_a_reordering_of_the_vertices(labels: list[Any], random: Any) -> None:
    order = list(range(len(labels)))
    random.shuffle(order)
    codes, classes = encode_labels(labels)
    moved_codes, moved_classes = encode_labels([labels[i] for i in order])
    assert moved_codes.tolist() == codes[order].tolist()
    assert moved_classes.tolist() == classes.tolist()


def test_classes_that_look_alike_have_one_order() -> None:
    """Not that of a set, which another process would have in another order."""
    for labels in ([1, "1"] * 4, ["1", 1] * 4):
        assert encode_labels(labels)[1].tolist() == [1, "1"]


@pytest.mark.parametrize(
    ("values", "fine"),
    [
        ([str(18 + i % 40) for i in range(400)], False),  # Ages.
        ([str(i % 40) for i in range(400)], True),  # Codes from 0.
        ([str(1 + i % 40) for i in range(400)], True),
        ([str(10 * (i % 15)) for i in range(400)], True),
    ],
)
def test_a_label_of_many_numbers_is_refused_unless_they_are_codes(
    values: list[str], fine: bool
) -> None:
    import pyarrow as pa

    column = pa.chunked_array([values])
    if not fine:
        with pytest.raises(GraphError, match=r"`number`.*`label_anyway=True`"):
            read_labels(column, "age", UNLABELLED, check=True)
    _, classes, _ = read_labels(column, "age", UNLABELLED, check=fine)
    assert len(classes) == len(set(values))


def test_spellings_of_one_label_are_offered_and_merged() -> None:
    import pyarrow as pa

    column = pa.chunked_array([["yes", "Yes", "ja", "no", "No ", "nein", "POA", ""]])
    _, classes, notes = read_labels(column, "fraud", ("", "POA"), check=True)
    assert len(classes) == 6
    offered = re.findall(r"same_label=\('([^']+)',\)", " ".join(notes))
    assert offered == ["no=nein,No", "yes=ja,Yes"]
    codes, classes, notes = read_labels(column, "fraud", ("", "POA"), check=True, same=offered)
    assert classes.tolist() == ["no", "yes"]
    assert codes.tolist() == [1, 1, 1, 0, 0, 0, -1, -1]
    assert not any("same_label" in note for note in notes)
    for wrong in ("yes", "=Yes", "yes="):
        with pytest.raises(GraphError, match="must be like yes=Yes,ja,JA"):
            read_labels(column, "fraud", (), check=False, same=[wrong])

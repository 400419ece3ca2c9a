"""Text that comes out of arrays must be text that can be written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.util.errors import DataFileError, GraphError
from graphfilter.util.files import check_text, load_arrays


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("number", [0x110000, 0x26000031])
def test_signs_beyond_unicode_are_refused(number: int, order: str, tmp_path: Path) -> None:
    # As a damaged file holds it: numpy does not look.
    signs = np.array([ord("a"), number], dtype=f"{order}u4")
    np.savez(tmp_path / "t.npz", names=signs.view(f"{order}U1"))
    with pytest.raises(DataFileError, match="'names' must be valid text; got characters outside"):
        load_arrays(tmp_path / "t.npz", ["names"], remedy="Save it again.")


@pytest.mark.parametrize("order", ["<", ">"])
def test_text_of_any_language_is_read(order: str, tmp_path: Path) -> None:
    words = np.array(["Zoë", "王", "\U0010ffff", ""], dtype=f"{order}U3")
    np.savez(tmp_path / "t.npz", names=words, none=words[:0], blank=np.zeros(2, f"{order}U0"))
    found = load_arrays(tmp_path / "t.npz", ["names", "none", "blank"], remedy="Save it again.")
    assert found["names"].tolist() == words.tolist()
    assert found["none"].tolist() == []


def test_lone_surrogates_are_no_names() -> None:
    check_text(["Zoë", "王", 3, None], "ids")
    with pytest.raises(GraphError, match="ids must be valid text"):
        check_text(["a", "\ud800"], "ids")

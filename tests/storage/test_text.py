"""Names that come out of arrays must be text that can be written and read."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.errors import GraphError
from graphfilter.storage import check_text


@pytest.mark.parametrize("number", [0xD800, 0x110000, 0x26000031])
def test_signs_that_are_none_are_refused(number: int) -> None:
    # As a damaged file holds it: numpy does not look.
    (name,) = np.array([number], dtype="<u4").view("<U1").tolist()
    with pytest.raises(GraphError, match="ids must be valid text; got .*, which cannot be written"):
        check_text(["a", name, 7], "ids")


def test_text_of_any_language_and_numbers_pass() -> None:
    check_text(["Zoë", "王", "\U0001f600", "", 3, None], "ids")

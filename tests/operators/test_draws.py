"""Random numbers drawn by compiled code are those of torch's generator."""

from __future__ import annotations

import pytest
import torch

from graphfilter.operators.kernels import native_draws
from graphfilter.operators.kernels.native_draws import draw_words
from graphfilter.operators.kernels.native_kernel import native_library


@pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
def test_compiled_draws_equal_those_of_torch_and_leave_its_generator_the_same() -> None:
    """Also after draws of 32 bits, of which a block of 624 has an odd number left."""
    ours, theirs = (torch.Generator().manual_seed(3) for _ in range(2))
    assert native_draws._draws_the_same()
    for size in (0, 1, 2, 311, 312, 313, 5000):
        got, expected = torch.empty(2, size, dtype=torch.int64)
        draw_words(got, ours)
        expected.random_(-(2**63), None, generator=theirs)
        assert torch.equal(got, expected)
        assert torch.equal(torch.rand(3, generator=ours), torch.rand(3, generator=theirs))
        assert torch.equal(ours.get_state(), theirs.get_state())


def test_draws_are_the_same_without_compiled_code(monkeypatch) -> None:
    drawn = torch.empty(2, 1000, dtype=torch.int64)
    for row in drawn:
        draw_words(row, torch.Generator().manual_seed(0))
        monkeypatch.setattr(native_draws, "_draws_the_same", lambda: False)
    assert torch.equal(*drawn)

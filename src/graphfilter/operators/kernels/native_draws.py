"""The random numbers of torch's generator on a CPU, by the compiled code of ``native.c``."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from graphfilter.operators.kernels.native_kernel import native_library

# Bytes of a generator's state, which is read and written as it lies.
STATE = 5056


def draw_words(words: Tensor, generator: torch.Generator | None) -> None:
    """Fill an int64 tensor with random bits: what ``random_`` draws, several times as fast."""
    if (
        generator is not None
        and generator.device.type == words.device.type == "cpu"
        and words.is_contiguous()
        and _draws_the_same()
    ):
        _draw(words, generator)
    else:
        words.random_(-(2**63), None, generator=generator)


def _draw(words: Tensor, generator: torch.Generator) -> None:
    library = native_library()
    assert library is not None
    assert words.dtype == torch.int64
    state = generator.get_state()
    library.graphfilter_draw(state.data_ptr(), words.numel(), words.data_ptr())
    generator.set_state(state)


@cache
def _draws_the_same() -> bool:
    """Return whether compiled code is there and draws what this version of torch does."""
    generators = [torch.Generator("cpu").manual_seed(0) for _ in range(2)]
    if native_library() is None or generators[0].get_state().numel() != STATE:
        return False
    one, two = torch.empty(2, 1000, dtype=torch.int64, device="cpu")
    for _ in range(2):
        one.random_(-(2**63), None, generator=generators[0])
        _draw(two, generators[1])
        # From now on half a word is left over.
        odd = [torch.rand(1, generator=generator, device="cpu") for generator in generators]
        if not torch.equal(one, two) or not torch.equal(*odd):
            return False
    return torch.equal(*(generator.get_state() for generator in generators))

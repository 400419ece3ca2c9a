from __future__ import annotations

import numpy as np
import pytest

from graphfilter.systems.pooling import MOST_JUDGES, CrossFit, superfluous

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, size=300)


def says(strength: float, seed: int) -> np.ndarray:
    """Logits of a member that knows the labels so well."""
    noise = np.random.default_rng(seed).normal(size=(300, 3))
    return strength * np.eye(3)[LABELS] + noise


def judge(*members: np.ndarray) -> tuple[CrossFit, np.ndarray]:
    heard = np.ones(len(members), dtype=bool)
    return CrossFit(np.stack(members), LABELS, heard / len(members)), heard


def test_losses_of_a_member_that_knows_nothing_are_those_of_guessing() -> None:
    judged, heard = judge(np.zeros((300, 3)))
    np.testing.assert_allclose(judged.losses(heard), np.log(3), atol=1e-9)


def test_losses_are_of_vertices_that_did_not_weigh() -> None:
    """A member that is right by heart on what it was weighed on would be heard too much."""
    judged, heard = judge(says(2, 1), says(0, 2))
    alone = judged.losses(np.array([True, False]))
    assert judged.losses(heard).mean() == pytest.approx(alone.mean(), rel=0.05)
    assert (judged.losses(heard) != alone).any()


def test_noise_is_superfluous_and_knowledge_is_not() -> None:
    judged, heard = judge(says(2, 1), says(0, 2), says(2, 3))
    assert superfluous(judged, heard, heard, 0.003) == [1]


def test_of_two_that_say_the_same_one_stays() -> None:
    same = says(2, 1)
    judged, heard = judge(same, same.copy(), says(2, 3))
    assert len(superfluous(judged, heard, np.array([True, True, False]), 0.03)) == 1


def test_only_candidates_go_and_one_always_stays() -> None:
    judged, heard = judge(says(0, 1), says(0, 2))
    assert superfluous(judged, heard, np.array([False, False]), 0.003) == []
    assert len(superfluous(judged, heard, heard, 10.0)) == 1


def test_many_vertices_are_judged_by_some() -> None:
    labels = np.tile(LABELS, 12)
    judged = CrossFit(np.zeros((1, len(labels), 3)), labels, np.ones(1))
    assert len(judged.losses(np.ones(1, dtype=bool))) == MOST_JUDGES < len(labels)

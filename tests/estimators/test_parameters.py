"""The constructors of all estimators: what scikit-learn and a reader of the docs count on."""

from __future__ import annotations

import inspect
import re

import pytest
from sklearn.base import clone

import graphfilter as gf
from graphfilter.estimators.vertex import VertexEstimator

ESTIMATORS: tuple[type[VertexEstimator], ...] = (
    gf.GraphClassifier, gf.GraphRegressor, gf.SGFClassifier, gf.SGFRegressor,
    gf.SystemClassifier, gf.SystemRegressor,
)  # fmt: skip


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_documented_and_nothing_else_is(kind: type[VertexEstimator]) -> None:
    given = inspect.signature(kind).parameters
    section = re.search(r"Parameters\n-+\n(.*?)\n\n", inspect.getdoc(kind) or "", re.DOTALL)
    assert section is not None
    named = [line.partition(" :")[0] for line in section[1].splitlines() if line[0] != " "]
    assert sorted(re.findall(r"\w+", " ".join(named))) == sorted(given)
    assert all(each.kind is each.KEYWORD_ONLY for each in given.values())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_kept_as_given_cloned_and_shown(kind: type[VertexEstimator]) -> None:
    given = {name: object() for name in inspect.signature(kind).parameters}
    estimator = kind(**given)
    assert vars(estimator) == given
    assert set(estimator.get_params(deep=False)) == set(given)
    usual = kind()
    assert repr(usual) == f"{kind.__name__}()"
    assert repr(clone(usual.set_params(verbose=True))) == f"{kind.__name__}(verbose=True)"
    assert usual != kind(verbose=True)
    assert {usual: 1}[usual] == 1

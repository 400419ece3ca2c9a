"""A run is repeated by its command."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from graphfilter import (
    GraphClassifier,
    SGFClassifier,
    SGFRegressor,
    SystemClassifier,
    SystemRegressor,
)
from graphfilter.data import make_karate
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.folder import repeat_command
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.web.studio import Setting

KARATE = ("--dataset", "karate")
Parse = Callable[[str], dict[str, Any]]


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """Run a command up to its training; return what would be trained."""
    from graphfilter.cli import main

    def run(command: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def keep(plan: Any, estimator: Any, how: Any, request: Any, **_: Any) -> None:
            seen.update(plan=plan, estimator=estimator, how=how, request=request)

        monkeypatch.setattr("graphfilter.cli.fit.run_fit", keep)
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return seen

    return run


def repeated(estimator: VertexEstimator, *words: str, baselines: bool = True) -> str:
    source = Source(make_karate(), words=(*KARATE, *words))
    return repeat_command(plan_fit(source, 7), estimator, "run", baselines=baselines)


@pytest.mark.parametrize(
    "estimator",
    [
        GraphClassifier(random_state=7),
        GraphClassifier(seconds=20.0, random_state=7),
        GraphClassifier(effort="low", max_epochs=9, class_weight="balanced", random_state=7),
        SGFClassifier(random_state=7),
        SGFClassifier(
            n_layers=3, hidden_size=8, operator="laplacian", filter_init="uniform", dropout=0.25,
            n_members=2, patience=5, monitor="roc_auc", feature_scaling="row", device="cpu",
            random_state=7,
        ),
        SystemClassifier(model="appnp@K=8", max_epochs=9, n_members=2, random_state=7),
    ],
)  # fmt: skip
def test_repeated_command_gives_the_same_estimator(
    parse: Parse, estimator: VertexEstimator
) -> None:
    seen = parse(repeated(estimator, baselines=False))
    assert type(seen["estimator"]) is type(estimator)
    assert seen["estimator"].get_params() == estimator.get_params()
    assert (seen["plan"].seed, seen["how"].baselines, str(seen["how"].out)) == (7, False, "run")


def test_repeated_command_gives_the_same_wishes(parse: Parse) -> None:
    said = ("--cost", "Officer:Mr. Hi=5", "--set", "positive=Officer", "--set", "title=A")
    seen = parse(repeated(SGFClassifier(), *said))
    assert seen["plan"].source.words == (*KARATE, *sorted_like(seen["plan"].source.words[2:], said))
    asked = seen["request"]
    assert (asked.costs, asked.positive) == (("Officer:Mr. Hi=5",), "Officer")


def sorted_like(found: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
    assert sorted(found) == sorted(said)
    return found


@pytest.mark.parametrize(
    "setting",
    [Setting(model="filter"), Setting(model="filter", max_epochs=40, baselines=False, seed=3)],
)
def test_command_of_the_studio_repeats_its_setting(parse: Parse, setting: Setting) -> None:
    estimator = setting.classifier()
    plan = plan_fit(Source(make_karate(), words=KARATE), setting.seed)
    seen = parse(repeat_command(plan, estimator, "run", baselines=setting.baselines))
    assert type(seen["estimator"]) is SGFClassifier
    params = seen["estimator"].get_params()
    wanted = msgspec.structs.asdict(setting)
    assert (wanted.pop("model"), wanted.pop("effort")) == ("filter", "full")
    assert params["random_state"] == seen["plan"].seed == wanted.pop("seed")
    assert seen["how"].baselines is wanted.pop("baselines")
    assert {name: params[name] for name in wanted} == wanted


@pytest.mark.parametrize("kind", [SGFRegressor, SystemRegressor])
def test_command_of_numbers_names_its_model(kind: type[VertexEstimator]) -> None:
    assert "--model sgf" in repeated(kind(), "--number", "price")


def test_parameters_without_words_have_no_command() -> None:
    assert "--set learning_rate=0.1" in repeated(SGFClassifier(learning_rate=0.1))
    assert repeated(SGFClassifier(class_weight={"Officer": 2.0})) == ""

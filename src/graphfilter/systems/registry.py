"""Systems by name: the committees, filter networks, two without a filter, and those of packages.

Of a committee each member sees the graph in another way, and filters it in another way. After an
``@`` follows a system's setting in text: ``sgf@weight_decay=5e-5``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from graphfilter import models
from graphfilter.filters import (
    ChebyshevFilterConfig,
    ExactPageRankFilterConfig,
    FilterConfig,
    HorizontalFilterConfig,
    IdentityFilterConfig,
    PageRankFilterConfig,
    PowerFilterConfig,
    StackedFilterConfig,
)
from graphfilter.systems.system import PAPER, Committee, System
from graphfilter.util.errors import ConfigError, check_name
from graphfilter.util.plugins import SYSTEMS as PLUG_INS, load_plug_ins

__all__ = ["SYSTEMS", "find_system", "get_system"]

# Graphs on which one class is rare, whose own metric is the ROC AUC.
BY_RANK: dict[str, Mapping[str, Any]] = {
    name: {"monitor": "roc_auc"} for name in ("minesweeper", "tolokers")
}

# Four times the paper's learning rate: the same validation loss in a third of the epochs.
_CONFIG = replace(PAPER, patience=120, learning_rate=0.01)
_SLOW = replace(_CONFIG, learning_rate=PAPER.learning_rate)
# Epochs after which networks are judged: the fewest that are fair, then twice as many each time.
ROUNDS = (30, 60, 120, 240, 480, 960)
# Vertices of graphs whose validation vertices are too few to judge by accuracy, or early.
SMALL = 1000
# Labels of which none can be spared to choose by.
FEW_LABELS = 300


def _filtered(filter: FilterConfig, **options: Any) -> models.FilterNetworkConfig:
    return models.FilterNetworkConfig(dropout=0.5, filter=filter, **options)


def _member(name: str, title: str, model: models.ModelConfig, **options: Any) -> System:
    usual: dict[str, Any] = {"operator": "adjacency", "config": _CONFIG, "setting": "own"}
    return System(name, title, model, **(usual | options))


FEATURES = _member(
    "features", "features alone", _filtered(IdentityFilterConfig(), encoder_layers=2)
)
FILTER = _member("filter", "adaptive filter", _filtered(StackedFilterConfig(), encoder_layers=2))
CHANNELS = _member(
    "channels",
    "adaptive filter for each direction and edge type",
    models.ChannelNetworkConfig(dropout=0.5),
    operator="channels",
)
SMOOTH = _member(
    "smooth",
    "fixed average over neighbours",
    _filtered(PageRankFilterConfig(16, 0.1), filter_on="logits"),
    operator="augmented_adjacency",
    config=replace(_CONFIG, learning_rate=0.04, weight_decay=5e-3),
    view="unit",
)
FILTERED_LINKS = _member(
    "filtered-links",
    "adaptive filter of features and links",
    _filtered(StackedFilterConfig()),
    view="unit+links",
)
ALIKE = _member("alike", "vertices that share neighbours", models.KernelConfig(), view="neighbours")
PLACES = _member(
    "places", "trees on a vertex's position in the graph", models.ForestConfig(), view="places"
)
DEEP = _member(
    "deep",
    "deep network",
    models.ResidualConfig(dropout=0.4, n_layers=15),
    config=replace(_SLOW, learning_rate=0.005, weight_decay=0.0, patience_share=0.5),
)
HOPS = _member(
    "hops",
    "neighbours' averages, each distance by itself",
    models.WeightedHopsConfig(),
    config=replace(_CONFIG, learning_rate=0.04, weight_decay=1e-3),
)
TOLD = _member(
    "told",
    "network that is told known labels",
    models.ToldConfig(),
    operator="augmented_adjacency",
    config=replace(_CONFIG, weight_decay=0.0, patience_share=0.5),
)
MIXED = _member(
    "mixed",
    "like and unlike neighbours, features and links, mixed by each vertex",
    models.MixedConfig(),
    operator="augmented_adjacency",
    view="features+links",
)
TREES = _member(
    "trees", "trees on features and neighbours' averages", models.TreesConfig(), view="averages"
)
TOLD_TREES = _member(
    "told-trees",
    "trees on what is around, known labels too",
    models.ToldTreesConfig(),
    view="around",
)
LINEAR = _member(
    "linear", "linear model of own and neighbours' columns", models.LinearConfig(), view="beside"
)

# Channels take the place of the filter where there are any.
COMMITTEE = Committee(
    "committee",
    "Committee of filters",
    None,
    setting="own",
    members=(
        FEATURES, FILTER, CHANNELS, SMOOTH, FILTERED_LINKS, ALIKE, PLACES, DEEP, TOLD, HOPS,
        MIXED, TREES, TOLD_TREES, LINEAR,
    ),
    rounds=ROUNDS,
    rounds_above=SMALL,
    least_patience=40,
    loss_up_to=SMALL,
    folds_up_to=SMALL,
    few_labels=FEW_LABELS,
    refits=True,
    datasets=BY_RANK,
)  # fmt: skip
# With few members there is nothing to stop early: each is trained at the paper's pace.
QUICK = replace(
    COMMITTEE,
    name="committee-low",
    title="Committee of filters (low effort)",
    members=tuple(replace(m, config=_SLOW) for m in (FEATURES, FILTER, CHANNELS, PLACES)),
    rounds=(),
    least_patience=None,
    loss_up_to=0,
    few_labels=0,
    refits=False,
)

# Each member by itself, trained as in the committee: its decay, its seeds, its temperature.
ALONE = tuple(
    replace(COMMITTEE, name=f"only-{member.name}", title=f"Only {member.title}", members=(member,))
    for member in COMMITTEE.members
)
# Where time matters less than the last points: wider and deeper, from at least three seeds.
WIDE = _member(
    "wide",
    "wide network",
    models.ResidualConfig(dropout=0.5, n_layers=4, hidden_size=256),
    config=_SLOW,
)
_WIDER = models.FilterNetworkConfig | models.ResidualConfig | models.NormedConfig
THOROUGH = replace(
    COMMITTEE,
    name="committee-high",
    title="Committee of filters (high effort)",
    members=(
        *(
            replace(member, model=replace(member.model, hidden_size=128))
            if isinstance(member.model, _WIDER)
            else member
            for member in COMMITTEE.members
        ),
        WIDE,
    ),
    least_repeats=3,
)

COMMITTEES = (COMMITTEE, QUICK, THOROUGH, *ALONE)

# What members look at, in words.
GROUPS: dict[str, tuple[str, ...]] = {
    "features alone": (FEATURES.name,),
    "linear model": (LINEAR.name,),
    "neighbours": tuple(member.name for member in (FILTER, CHANNELS, SMOOTH, DEEP, HOPS, WIDE)),
    "labels of neighbours": (TOLD.name,),
    "who is connected to whom": tuple(
        member.name for member in (FILTERED_LINKS, ALIKE, PLACES, MIXED)
    ),
    "trees": (TREES.name, TOLD_TREES.name),
}


def peer(
    name: str,
    title: str,
    model: models.ModelConfig,
    reference: str,
    *,
    operator: str = "augmented_adjacency",
    setting: str = "adapted",
    datasets: Mapping[str, Mapping[str, Any]] | None = None,
    learning_rate: float = 0.01,
    **training: Any,
) -> System:
    """Describe a system of another paper; ``training`` are fields of its training config."""
    return System(
        name, title, model, operator, replace(PAPER, learning_rate=learning_rate, **training),
        setting, reference, datasets=datasets or {},
    )  # fmt: skip


SGF = "NT, Maehara & Murata 2020, Adaptive Stacked Graph Filter"
KLICPERA = "Klicpera et al. 2019, Predict then Propagate"

# The weights of a PageRankFilter(10, 0.1).
_AS_APPNP = (*(0.1 * 0.9**k for k in range(10)), 0.9**10)


def _network(filter: FilterConfig, **options: Any) -> models.FilterNetworkConfig:
    return models.FilterNetworkConfig(filter=filter, **options)


def _on_logits(filter: FilterConfig, **options: Any) -> models.FilterNetworkConfig:
    return models.FilterNetworkConfig(filter=filter, filter_on="logits", **options)


def _appnp(alpha: float) -> System:
    model = _on_logits(PageRankFilterConfig(2, alpha))
    title = f"APPNP ({alpha})"
    return peer(f"appnp-{alpha}", title, model, KLICPERA, setting="paper", learning_rate=0.02)


def _cheby(name: str, title: str, lambda_max: float) -> System:
    model = _network(ChebyshevFilterConfig(lambda_max=lambda_max))
    return System(name, title, model, "laplacian", reference=SGF)


FILTER_SYSTEMS = (
    System("sgf", "SGF", _network(StackedFilterConfig()), reference=SGF),
    System(
        "sgf-channels",
        "SGF, one filter per edge type and direction",
        models.ChannelNetworkConfig(),
        operator="channels",
        setting="adapted",
        reference=SGF,
    ),
    System("mlp", "MLP", _network(IdentityFilterConfig())),
    peer(
        "sgc",
        "SGC",
        _on_logits(PowerFilterConfig(2), hidden_size=None),
        "Wu et al. 2019, Simplifying Graph Convolutional Networks",
        setting="paper",
    ),
    _appnp(0.2),
    _appnp(0.8),
    peer("appnp", "APPNP", _on_logits(PageRankFilterConfig(10, 0.1), dropout=0.5), KLICPERA),
    peer("ppnp", "PPNP", _on_logits(ExactPageRankFilterConfig(0.1), dropout=0.5), KLICPERA),
    # It starts as APPNP. Its authors do not decay the filter's weights.
    peer(
        "gpr-gnn",
        "GPR-GNN",
        _on_logits(HorizontalFilterConfig(10, _AS_APPNP), dropout=0.5),
        "Chien et al. 2021, Adaptive Universal Generalized PageRank",
        filter_weight_decay=0.0,
    ),
    System(
        "sgf-laplacian",
        "SGF (L)",
        _network(StackedFilterConfig()),
        operator="laplacian",
        reference=SGF,
    ),
    System("sgf-horizontal", "SGF-Horizontal", _network(HorizontalFilterConfig()), reference=SGF),
    _cheby("sgf-cheby", "SGF-Cheby (2.0)", 2.0),
    _cheby("sgf-cheby-1.5", "SGF-Cheby (1.5)", 1.5),
    System(
        "sgf-every-layer",
        "SGF (dropout everywhere)",
        _network(StackedFilterConfig(), dropout_on="every_layer"),
        reference=SGF,
    ),
    System(
        "sgf-random",
        "SGF (random start)",
        _network(StackedFilterConfig(init="uniform")),
        reference=SGF,
    ),
    # An epoch is a pass over all batches, not one step.
    peer(
        "hop-mlp",
        "MLP on hops",
        models.ToldHopsConfig(),
        "Frasca et al. 2020, SIGN: Scalable Inception Graph Neural Networks",
        learning_rate=0.003,
        patience=20,
    ),
    System(
        "trees",
        "Boosted trees on neighbours' averages",
        models.TreesConfig(),
        "adjacency",
        setting="own",
        view="averages",
        reference="Bazhenov et al. 2025, GraphLand: trees on features and neighbours' averages",
    ),
)

MARK = "@"


class Systems(Mapping[str, System]):
    """Systems by name: ours, and those of installed packages, which are loaded when first needed.

    A package adds systems by an entry point of the group ``graphfilter.systems``, which names a
    sequence of them.
    """

    def __init__(self) -> None:
        self._own = {system.name: system for system in (*COMMITTEES, *FILTER_SYSTEMS)}

    @cached_property
    def _all(self) -> dict[str, System]:
        added = (system for found in load_plug_ins(PLUG_INS).values() for system in found)
        return {system.name: system for system in added} | self._own

    def __getitem__(self, name: str) -> System:
        return self._own[name] if name in self._own else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


SYSTEMS = Systems()


def get_system(name: str) -> System:
    """Return the system of this name; after an ``@``, in a setting of your own.

    The settings are those of :meth:`System.with_`, as ``key=value``, several of them separated by
    ``@``.

    >>> get_system("sgf@weight_decay=5e-5@n_layers=8").config.weight_decay
    5e-05
    """
    known, marked, text = str(name).partition(MARK)
    if known not in SYSTEMS:
        check_name("system", known, SYSTEMS)
    system = SYSTEMS[known]
    return system.with_(**_parse(system, text)) if marked else system


def find_system(name: str) -> System | None:
    """Return the system of a record's name; None where it was the recorder's own.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.systems.find_system("sgf").title
    'SGF'
    >>> gf.systems.find_system("no such system") is None
    True
    """
    try:
        return get_system(name)
    except ConfigError:
        return None


def _parse(system: System, text: str) -> dict[str, Any]:
    if not system.trained:
        raise ConfigError(f"{system.name} is not trained: it has no setting to change.")
    settings = system.settings()
    given: dict[str, Any] = {}
    for change in text.split(MARK):
        key, equals, value = change.partition("=")
        if not equals or key in given:
            raise ConfigError(
                f"{system.name}{MARK}{text}: a setting must be changed as key=value, each once; "
                f"got {change!r}. Example: {system.name}{MARK}weight_decay=5e-5."
            )
        given[key] = _value(key, value, settings[check_name("setting", key, settings)])
    return given


def _value(key: str, text: str, current: Any) -> Any:
    """Read a value of the type that the setting has now."""
    if isinstance(current, bool | tuple):
        raise ConfigError(f"{key} cannot be changed in text; use system.with_({key}=...).")
    if key == "init":
        return text if text == "uniform" else _number(key, text, float)
    if isinstance(current, str):
        return text
    if text.lower() == "none":
        return None
    return _number(key, text, float if isinstance(current, float) else int)


def _number(key: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError:
        whole = "whole " if kind is int else ""
        raise ConfigError(f"{key} must be a {whole}number; got {text!r}.") from None

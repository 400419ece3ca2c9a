"""Why a vertex is answered as it is: its case, and the reasons with names, numbers and words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit

from graphfilter.data.graph import Graph
from graphfilter.estimators.contributions import (
    AT_ONCE,
    MOST_SECOND,
    Hidden,
    Questioner,
    Surrounding,
)
from graphfilter.estimators.earlier import FittedEstimator, ids_of
from graphfilter.models.relations import FEW_VALUES
from graphfilter.systems import Prepared
from graphfilter.systems.networks import own_torch_state
from graphfilter.tables.columns import MISSING_MARK
from graphfilter.training import REGRESSION
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name
from graphfilter.util.words import count, listed, number, signed

Array = NDArray[np.float64]

# From a vertex and a neighbour to what a table says of the edge between them.
EdgeWords = Callable[[int, int], str]
# Different labels that are counted apart.
MOST_LABELS = 3
# Features of a graph without names that are told one by one.
MOST_FEATURES = 40


@dataclass(frozen=True)
class Reason:
    """One part of an answer.

    Attributes
    ----------
    kind : str
        'column', 'neighbour', or 'others': several of either together.
    name : str
        The column, or the id of the neighbour.
    detail : str
        The value of the column; what is known of the neighbour, and of the edge. May be empty.
    contribution : float
        What it adds: to a probability (0.1 is ten points), or to a number in its unit.
    """

    kind: str
    name: str
    detail: str
    contribution: float

    @property
    def text(self) -> str:
        """The reason in words, without its size."""
        if self.kind == "neighbour":
            return f"{self.name} ({self.detail})" if self.detail else self.name
        return f"{self.name} {self.detail}".rstrip()


@dataclass(frozen=True)
class Part:
    """What is shown or hidden together: features of the vertex, or places of its neighbours."""

    features: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    together: bool = False


# What a feature is called: its column, and then a value, a statistic, or that it is missing.
_FEATURE = re.compile(r"^(?P<column>.*?)(=|: | \(|\[)(?P<rest>.*)$", re.DOTALL)
_DAYS = re.compile(r"days since (\d{4}-\d{2}-\d{2})\)$")
_ABOVE = re.compile(r"\(above ([-+.e\d]+)\)$")
# What statistics of rows are called; when the first and the last came is told by neither alone.
_STATISTICS = {
    "count": "", "sum": "total", "mean": "average", "min": "smallest", "max": "largest",
    "distinct": "different values", "first": None, "last": None,
    "recency": "days since the last", "spread": "spread in days",
}  # fmt: skip


def column_of(feature: str) -> str:
    """Return the column of a table that a feature was made of, by its name.

    >>> [column_of(n) for n in ("age", "age is missing", "job=clerk", "note: paid", "day (hours)")]
    ['age', 'age', 'job', 'note', 'day']
    >>> column_of("amount (mean, sent)"), column_of("edges (count, received)")
    ('amount sent', 'connections received')
    """
    name = feature.removesuffix(MISSING_MARK)
    found = _FEATURE.match(name)
    if found is None:
        return name
    way = next((w for w in ("sent", "received") if found["rest"].endswith(f", {w})")), "")
    is_edges = found["column"] == "edges" and found["rest"].startswith("count")
    return f"{'connections' if is_edges else found['column']} {way}".rstrip()


def _value(feature: str, value: float) -> str:
    """Write the value of a feature beside the name of its column; nothing where it has none.

    >>> _value("age", 31.0), _value("job=clerk", 1.0), _value("job=cook", 0.0)
    ('31', 'clerk', '')
    >>> _value("opened (days since 2024-01-31)", 1.0), _value("amount (mean, sent)", 12.5)
    ('2024-02-01', '(average) 12.5')
    >>> _value("edges (count)", 3.0), _value("channel=app (share, sent)", 0.25)
    ('3', '(share of app) 25 %')
    """
    found = _FEATURE.match(feature)
    if found is None:
        return number(value)
    if day := _DAYS.search(feature):
        return f"{date.fromisoformat(day[1]) + timedelta(days=value):%Y-%m-%d}"
    if above := _ABOVE.search(feature):
        return number(value + float(above[1]))
    rest = found["rest"].removeprefix("letters): ")
    word, _, statistic = rest.removesuffix(")").rpartition("(")
    if not word and (found[2] in ("=", ": ") or rest != found["rest"]):
        return rest if value else ""
    word, statistic = word.rstrip(), statistic.partition(",")[0]
    if statistic == "share":
        return f"(share{f' of {word}' if word else ''}) {100 * value:.0f} %"
    said = _STATISTICS.get(statistic, statistic)
    words = " ".join(filter(None, (word, said)))
    return "" if said is None else f"{f'({words}) ' if words else ''}{number(value)}"


class Writer:
    """Names vertices, columns and their values."""

    def __init__(
        self, graph: Graph, labels: Sequence[str] | None, edge_words: EdgeWords | None
    ) -> None:
        self.graph, self.edge_words = graph, edge_words
        self.features: Any = graph.features
        self.names = ids_of(graph)
        if labels is None and graph.labels is not None:
            classes = [*map(str, graph.classes), ""]
            labels = [classes[code] for code in graph.labels.tolist()]
        self.labels = labels
        self.by_column: dict[str, list[int]] = {}
        for i, feature in enumerate(graph.feature_names or ()):
            self.by_column.setdefault(column_of(feature), []).append(i)

    def columns_of(self, vertex: int) -> dict[str, list[int]]:
        """Return the features of each column; of those without names, of those that it has."""
        if self.by_column:
            return self.by_column
        x, row = self.features, self._row(vertex)
        has = np.flatnonzero(row)
        if sp.issparse(x) and x.shape[0] == x.shape[1] and has.tolist() == [vertex]:
            return {"which vertex it is": [vertex]}
        has = has[np.argsort(-np.abs(row[has]), kind="stable")]
        named = {f"feature {i}": [i] for i in has[:MOST_FEATURES].tolist()}
        left = np.setdiff1d(np.arange(x.shape[1]), has[:MOST_FEATURES]).tolist()
        return named | ({"other features": left} if left else {})

    def by_interest(self, around: Surrounding) -> list[int]:
        """Return the places of the neighbours: those of whom something is known, then by id."""
        near = around.vertices[1 : 1 + around.n_near].tolist()
        known = [not self.label(u) for u in near]
        return sorted(range(around.n_near), key=lambda i: (known[i], i))

    def label(self, vertex: int) -> str:
        """Return what is known of a vertex."""
        return "" if self.labels is None else str(self.labels[vertex])

    def reason(self, part: Part, around: Surrounding, columns: dict[str, list[int]]) -> Reason:
        """Name a part."""
        vertex = int(around.vertices[0])
        if part.together or len(part.near) > 1:
            what = "other neighbour" if part.near else "other column"
            own = set(part.features)
            n = len(part.near) or sum(not own.isdisjoint(held) for held in columns.values())
            return Reason("others", count(n, what), "", 0.0)
        if part.near:
            u = int(around.vertices[1 + part.near[0]])
            return Reason("neighbour", str(self.names[u]), self.neighbour(vertex, u), 0.0)
        name = next(name for name, held in columns.items() if part.features[0] in held)
        return Reason("column", name, self.value(vertex, part.features), 0.0)

    def neighbour(self, vertex: int, u: int) -> str:
        """Say what is known of a neighbour, of the edge, and of others that it is joined to."""
        graph, said = self.graph, list[str]()
        if label := self.label(u):
            said.append(f"known: {label}")
        entry = int(graph.indptr[vertex]) + int(
            np.searchsorted(graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]], u)
        )
        if graph.kinds is not None:
            at = np.flatnonzero(graph.kinds.values[:, entry])
            said += [graph.kinds.names[k] for k in at.tolist()]
        if self.edge_words is not None and (words := self.edge_words(vertex, u)):
            said.append(words)
        if not label and self.labels is not None:
            beyond = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
            known = Counter(w for w in map(self.label, beyond.tolist()) if w)
            known.subtract([self.label(vertex)])
            counted = [f"{n:,} {name}" for name, n in known.most_common(2) if n > 0]
            said += (
                [f"joined to {listed(counted)}"] if counted and len(known) <= MOST_LABELS else []
            )
        return ", ".join(said)

    def value(self, vertex: int, features: Sequence[int]) -> str:
        """Write what a vertex has in a column: of several values, the most unusual one."""
        names = self.graph.feature_names
        row = self._row(vertex)
        if names is None:
            return f"{row[features[0]]:.4g}" if len(features) == 1 else ""
        if any(names[f].endswith(MISSING_MARK) and row[f] for f in features):
            return "missing"
        unusual = sorted(features, key=lambda f: -abs(row[f] - self.mean[f]) / self.spread[f])
        said = [words for f in unusual if (words := _value(names[f], float(row[f])))]
        is_text = ": " in names[features[0]] and "(" not in names[features[0]]
        shared = self._sharing(vertex, features, row) if len(features) > FEW_VALUES else ""
        return ", ".join(said[: 3 if is_text else 1]) + shared

    def _row(self, vertex: int) -> Array:
        own = self.features[[vertex]]
        return own.toarray()[0] if sp.issparse(own) else np.asarray(own)[0]

    @cached_property
    def mean(self) -> Array:
        return np.asarray(self.features.mean(axis=0), dtype=np.float64).ravel()

    @cached_property
    def spread(self) -> Array:
        x = self.features
        squares = x.multiply(x) if sp.issparse(x) else np.square(x)
        variance = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - self.mean**2
        return np.sqrt(np.maximum(variance, 1e-12))

    def _sharing(self, vertex: int, features: Sequence[int], row: Array) -> str:
        """Say how many of the known vertices have the same value of a category."""
        x, held = self.features, [f for f in features if row[f]]
        if self.labels is None or len(held) != 1 or not sp.issparse(x):
            return ""
        with_it = np.flatnonzero(x[:, held].toarray()[:, 0])
        known = Counter(w for u in with_it.tolist() if u != vertex and (w := self.label(u)))
        if len(known) > MOST_LABELS:  # Numbers: each is another one.
            return f", shared with {known.total():,} that are known"
        counted = [f"{n:,} known: {name}" for name, n in known.most_common(2)]
        return f", shared with {listed(counted)}" if counted else ""


PROBABILITY = "probability"
STARTS_FROM = "an average vertex with as many neighbours"
FARTHER = "what is farther away"
# Columns, and neighbours, that are shared out one by one; the others of each are taken together.
MOST_PARTS = 8
# Columns, and neighbours, of which these are chosen.
MOST_CANDIDATES = 40
# The same, and vertices two steps away that are seen, where an explanation is to be quick.
FEW_CANDIDATES, FEW_SECOND = 12, 20
# Times that a column is shuffled for its importance.
N_SHUFFLES = 3
# Smaller parts of a probability are nothing, in words.
LEAST_SAID = 5e-4
# Probabilities are at least so far from 0 and 1.
SUREST = 1e-9


@dataclass(frozen=True)
class Explanation:
    """Why a vertex is given its class and not another, a label or not, or its number.

    The answer is that of all members together. It is the sum of ``base``, of all ``reasons`` and of
    ``farther``.

    Attributes
    ----------
    vertex, predicted, against : str
        ``against`` is the class that the predicted one is compared with, where one was named; the
        other answer of a label and of two classes; otherwise empty.
    score : float
        The probability of what is predicted, among the two where a class was named to compare
        with; or the number.
    base : float
        The same of a vertex with average columns and as many average neighbours.
    reasons : tuple of Reason
        Columns and neighbours by the size of what they add, then those taken together.
    farther : float
        What vertices add that are more than two steps away.
    unit : str
        ``'probability'``, or the name of the number.
    """

    vertex: str
    predicted: str
    against: str
    score: float
    base: float
    reasons: tuple[Reason, ...]
    farther: float = 0.0
    unit: str = PROBABILITY

    @property
    def probability(self) -> float | None:
        """The probability of what is predicted; None of a number."""
        return self.score if self.unit == PROBABILITY else None

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """What adds up to the score, in words and numbers; parts without weight are left out."""
        named = [(reason.text, reason.contribution) for reason in self.reasons]
        every = [(STARTS_FROM, self.base), *named, (FARTHER, self.farther)]
        return tuple((name, value) for name, value in every if value)

    @property
    def said_parts(self) -> list[tuple[str, float]]:
        """The parts that are more than nothing when written, without what it starts from."""
        least = LEAST_SAID if self.unit == PROBABILITY else 0.0
        parts = [part for part in self.parts if part[0] != STARTS_FROM]
        return [(name, value) for name, value in parts if abs(value) >= least]

    def write(self, value: float, *, part: bool = False) -> str:
        """Write the score, or a part of it: percent and points, or numbers.

        >>> why = Explanation("7", "yes", "no", 0.9, 0.1, ())
        >>> why.write(0.9), why.write(-0.123, part=True)
        ('90.0 %', '-12.3')
        """
        if self.unit == PROBABILITY:
            return f"{100 * value:+.1f}" if part else f"{100 * value:.1f} %"
        return signed(value, self.score) if part else number(value)

    @property
    def sentence(self) -> str:
        """The most important in one sentence.

        >>> Explanation("7", "yes", "no", 0.9, 0.1, (
        ...     Reason("column", "amount", "950", 0.5), Reason("neighbour", "3", "known: yes", 0.4),
        ...     Reason("others", "its other columns", "", -0.1),
        ... )).sentence
        'yes with 90.0 % (an average vertex with as many neighbours: 10.0 %): raised by amount 950 \
(+50.0) and 3 (known: yes) (+40.0); lowered by its other columns (-10.0).'
        >>> Explanation("7", "no", "yes", 1.0, 1.0, ()).sentence
        'no with 100.0 %, as an average vertex with as many neighbours: nothing else adds to it.'
        """
        beside = f" rather than {self.against}" if self.against else ""
        said = f"{self.predicted}{beside}"
        if self.unit == PROBABILITY:
            said = f"{self.predicted} with {self.write(self.score)}"
        parts = sorted(self.said_parts, key=lambda part: -abs(part[1]))
        if not parts:
            return f"{said}, as {STARTS_FROM}: nothing else adds to it."
        least = 0.05 * abs(parts[0][1])
        large = [(f"{n} ({self.write(v, part=True)})", v) for n, v in parts if abs(v) >= least]
        text = f"{said} ({STARTS_FROM}: {self.write(self.base)})"
        sides = {
            "raised": [name for name, value in large if value > 0][:3],
            "lowered": [name for name, value in large if value < 0][:3],
        }
        said_sides = [f"{side} by {listed(names)}" for side, names in sides.items() if names]
        return f"{text}: {'; '.join(said_sides)}."

    def because(self, most: int = 2) -> str:
        """Return the strongest single reasons that speak for the answer, in words.

        Those that raise it, where it is above what it starts from; those that lower it otherwise.

        >>> Explanation("7", "yes", "no", 0.9, 0.4, (Reason("column", "age", "31", 0.5),)).because()
        'age 31 (+50.0 points)'
        """
        side = 1 if self.score >= self.base else -1
        least = LEAST_SAID if self.unit == PROBABILITY else 0.0
        single = [r for r in self.reasons if r.kind != "others" and side * r.contribution > least]
        single.sort(key=lambda reason: -abs(reason.contribution))
        unit = " points" if self.unit == PROBABILITY else ""
        return "; ".join(
            f"{r.text} ({self.write(r.contribution, part=True)}{unit})" for r in single[:most]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "probability": self.probability, "sentence": self.sentence}


# Among more names, finding the nearest takes too long.
_MOST_NAMES = 20_000


def find_vertex(graph: Graph, vertex: Any) -> int:
    """Return the number of a vertex, given by its name or, in a graph without names, by number."""
    text, ids = str(vertex), [str(name) for name in ids_of(graph)]
    if text in ids:
        return ids.index(text)
    # Bare of zeros, as a spreadsheet writes a number that was 00000013.
    near = [name for name in ids if name.lstrip("0") == text.lstrip("0")]
    if not near and len(ids) <= _MOST_NAMES:
        near = get_close_matches(text, ids, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise GraphError(f"there is no vertex {text!r} among the {len(ids):,} ids.{hint}")


def class_number(estimator: FittedEstimator, name: Any) -> int:
    """Return the number of a class, given by its name."""
    names = [str(c) for c in estimator.target_names_]
    return names.index(check_name("class", str(name), names))


@dataclass(frozen=True)
class _Question:
    """What is asked of a vertex: which output, and beside which other one."""

    vertex: int
    column: int
    against: int | None = None
    has: bool = True

    def value(self, outputs: Array, *, of_numbers: bool) -> Array:
        """Return what is shared out, from outputs (s, C): log-odds, or numbers."""
        own = outputs[:, self.column]
        if of_numbers:
            return own
        if self.against is not None:
            own = own / np.maximum(own + outputs[:, self.against], SUREST)
        odds = logit(np.clip(own, SUREST, 1 - SUREST))
        return odds if self.has else -odds


def explain_vertices(
    estimator: FittedEstimator,
    prepared: Prepared,
    outputs: Array,
    vertices: Sequence[int],
    *,
    answered: Sequence[int] | None = None,
    against: Sequence[int | None] | None = None,
    output: Any = None,
    most: int = MOST_PARTS,
    labels: Sequence[str] | None = None,
    edge_words: EdgeWords | None = None,
    quick: bool = False,
) -> list[Explanation]:
    """Explain what an estimator answers for some vertices of a graph that is ready for prediction.

    Parameters
    ----------
    outputs : array (n, C)
        What is answered: probabilities, or numbers in their units.
    answered, against : sequences of class numbers, optional
        The classes that are predicted, where they are not the most probable, and those to compare
        them with; all others together where None.
    output : name, or list of one per vertex, optional
        Of several labels or numbers, which to explain: otherwise the most probable label of each
        vertex, or the first number.
    most : int
        Columns and neighbours to name.
    labels : sequence of str (n,), optional
        What is known of every vertex, empty where nothing; the graph's labels otherwise.
    edge_words : callable, optional
        Says what a table has of an edge.
    quick : bool
        Take fewer neighbours, and tell all columns: none of them are joined.
    """
    most = min(check_count("most", most, most=2**63), MOST_PARTS)
    task, names = estimator.task_, [str(name) for name in estimator.target_names_]
    of_numbers, wanted = task is REGRESSION, output if isinstance(output, list) else None
    asked = Questioner(estimator, prepared)
    writer = Writer(prepared.graph, labels, edge_words)
    cases, words = list[_Case](), list[tuple[str, str, str]]()
    for i, vertex in enumerate(vertices):
        row, other, has = outputs[vertex], None, True
        if task.one_class:
            column = int(row.argmax()) if answered is None else answered[i]
            other = None if against is None else against[i]
            if other == column:
                raise ConfigError(f"against must be another class than {names[column]!r}.")
            beside = names[1 - column] if len(names) == 2 else ""
            said = names[column], beside if other is None else names[other], PROBABILITY
        else:
            column = 0 if of_numbers else int(row.argmax())
            named = wanted[i] if wanted is not None else output
            if named is not None:
                column = names.index(check_name("output", str(named), names))
            name = names[column]
            has = of_numbers or bool(row[column] > 0.5)
            sides = (f"not {name}", name)
            if of_numbers:
                name = "number" if name == "0" else name  # A single one of an array has no name.
                said = f"{name} {number(float(row[column]))}", "", name
            else:
                said = sides[has], sides[not has], PROBABILITY
        question = _Question(vertex, column, other, has)
        cases.append(_Case.of(asked, question, writer, quick=quick))
        words.append(said)
    with own_torch_state(gradients=False):
        large = [] if quick else [case for case in cases if case.must_choose(most)]
        chosen = {id(case): case.choose(v, most) for case, v in _ask_alone(asked, large)}
        cases = [chosen.get(id(case), case) for case in cases]
        found = zip(_ask_alone(asked, cases), words, strict=True)
        return [
            case.explain(writer, outputs[case.question.vertex], values, said)
            for (case, values), said in found
        ]


@dataclass(frozen=True, eq=False)
class _Case:
    """A question about a vertex, and the parts among which its answer is shared out.

    Those of columns come first, then neighbours one by one, then others together.
    """

    question: _Question
    around: Surrounding
    columns: dict[str, list[int]]
    parts: Sequence[Part]
    of_numbers: bool
    n_features: int

    @classmethod
    def of(cls, asked: Questioner, question: _Question, writer: Writer, *, quick: bool) -> _Case:
        around = asked.around(question.vertex, FEW_SECOND if quick else MOST_SECOND)
        columns, near = writer.columns_of(question.vertex), writer.by_interest(around)
        most = FEW_CANDIDATES if quick else MOST_CANDIDATES
        parts = [Part(features=tuple(features)) for features in columns.values()]
        parts += [Part(near=(u,)) for u in near[:most]]
        parts += [Part(near=tuple(near[most:]), together=True)] if near[most:] else []
        of_numbers = asked.estimator.task_ is REGRESSION
        return cls(question, around, columns, parts, of_numbers, asked.graph.n_features)

    def hidden(self, shown: NDArray[np.bool_]) -> Hidden:
        """Return what copies hide, from rows of which parts are shown."""
        columns = np.zeros((len(shown), self.n_features), dtype=bool)
        near = np.zeros((len(shown), self.around.n_near), dtype=bool)
        for i, part in enumerate(self.parts):
            columns[:, list(part.features)] |= ~shown[:, [i]]
            near[:, list(part.near)] |= ~shown[:, [i]]
        return Hidden(self.around, columns, near)

    def must_choose(self, most: int) -> bool:
        """Return whether there are too many parts to tell each."""
        return len(self.columns) > most or len(self.parts) - len(self.columns) > most

    def choose(self, values: Array, most: int) -> _Case:
        """Keep the parts that change most, and join the others."""
        n = len(self.parts)
        size = np.abs(values[1 : n + 1] - values[0]) + np.abs(values[n + 1] - values[n + 2 :])
        chosen = list[Part]()
        for kind in (range(len(self.columns)), range(len(self.columns), n)):
            single = [i for i in kind if not self.parts[i].together]
            kept = sorted(single, key=lambda i: -size[i])[:most]
            left = [self.parts[i] for i in kind if i not in kept]
            features = tuple(f for part in left for f in part.features)
            near = tuple(u for part in left for u in part.near)
            chosen += [self.parts[i] for i in kept]
            chosen += [Part(features, near, together=True)] if left else []
        return replace(self, parts=chosen)

    def explain(
        self, writer: Writer, outputs: Array, values: Array, said: tuple[str, str, str]
    ) -> Explanation:
        """Name the parts, from the values of :func:`_ask_alone` and the whole graph's outputs."""
        n, nothing = len(self.parts), float(values[0])
        # The mean of what each part changes where it is shown first, and last.
        added = (values[1 : n + 1] - values[0] + values[n + 1] - values[n + 2 :]) / 2
        whole = float(self.question.value(outputs[None], of_numbers=self.of_numbers)[0])
        base, score = nothing, whole
        if not self.of_numbers:
            # Points of probability: log-odds at their mean slope from where they start.
            base, score = float(expit(nothing)), float(expit(whole))
            far = abs(whole - nothing) > 1e-6
            added = added * ((score - base) / (whole - nothing) if far else base * (1 - base))
        named = zip(self.parts, added.tolist(), strict=True)
        reasons = [
            replace(writer.reason(part, self.around, self.columns), contribution=value)
            for part, value in named
            if value
        ]
        reasons.sort(key=lambda reason: (reason.kind == "others", -abs(reason.contribution)))
        farther = score - base - sum(reason.contribution for reason in reasons)
        name, (predicted, against, unit) = str(writer.names[self.question.vertex]), said
        farther = farther if abs(farther) > 1e-9 * max(abs(score), 1) else 0.0
        return Explanation(name, predicted, against, score, base, tuple(reasons), farther, unit)


def _ask_alone(asked: Questioner, cases: Sequence[_Case]) -> list[tuple[_Case, Array]]:
    """Return the values with nothing shown, each part alone, everything, and all but each.

    They are asked about many at a time.
    """
    pieces = list[tuple[int, Hidden]]()
    for i, case in enumerate(cases):
        n, step = len(case.parts), max(AT_ONCE // case.around.size, 1)
        parts = np.zeros((1, n), bool), np.eye(n) > 0, np.ones((1, n), bool), np.eye(n) < 1
        rows = np.concatenate(parts)
        pieces += [(i, case.hidden(rows[at : at + step])) for at in range(0, len(rows), step)]
    sizes = np.array([len(hidden.near) * hidden.around.size for _, hidden in pieces])
    group = (np.cumsum(sizes) - sizes) // AT_ONCE if len(sizes) else sizes
    found: list[list[Array]] = [[] for _ in cases]
    for number_of_group in np.unique(group).tolist():
        own = [pieces[k] for k in np.flatnonzero(group == number_of_group).tolist()]
        for (i, _), answers in zip(own, asked.ask([hidden for _, hidden in own]), strict=True):
            found[i].append(cases[i].question.value(answers, of_numbers=cases[i].of_numbers))
    return [(case, np.concatenate(values)) for case, values in zip(cases, found, strict=True)]


def shuffled_importances(estimator: FittedEstimator, truth: NDArray[Any]) -> Array:
    """Return by how much each column, shuffled among all vertices, makes known answers worse.

    ``truth`` are the classes or values of the validation vertices.
    """
    graph, task, columns = estimator.graph_, estimator.task_, list(range(estimator.n_features_in_))
    x, named = graph.features, getattr(estimator, "feature_names_in_", ())
    if x is None or not len(truth):
        raise AttributeError("feature_importances_ needs columns, and validation vertices.")
    own = [column_of(name) for name in graph.feature_names or ()]
    of = np.array([own.index(c) for c in own]) if estimator.encoder_ else np.arange(x.shape[1])
    firsts = [own.index(name) for name in named] if estimator.encoder_ else columns
    key, sign = ("r2", -1) if task is REGRESSION else ("log_loss", 1)

    def measured(features: Any) -> float:
        target = graph.replace(features=features, feature_names=graph.feature_names)
        known = estimator.split_.val
        outputs = estimator.answers_of(estimator.prepare(target), only=known).outputs()
        return sign * float(task.measure(outputs, truth, task.decide(outputs))[key])

    rng, usual, worse = np.random.default_rng(0), measured(x), np.zeros(len(firsts))
    for i, first in enumerate(firsts):
        has = sp.diags_array((of == first).astype(x.dtype)) if sp.issparse(x) else of == first
        held: Any = x @ has if sp.issparse(x) else x * has
        for _ in range(N_SHUFFLES):
            worse[i] += measured(x - held + held[rng.permutation(x.shape[0])]) - usual
    return worse / N_SHUFFLES

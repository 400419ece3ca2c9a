"""What a fit shows, computed once: ``metrics.json``, and what its page shows and says.

Page, files and terminal only read it: they ask no estimator and measure nothing themselves.
Sentences follow from scores alone, and are of one mind: each is said by its conditions.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.explanation import Explanation
from graphfilter.estimators.graph import CHANNELS, AdaptiveEstimator, OfCommittee
from graphfilter.estimators.vertex import VertexEstimator, filter_at
from graphfilter.filters import Filter
from graphfilter.models import ChannelNetwork
from graphfilter.operators.operator import Channels
from graphfilter.runs import comparison as compared
from graphfilter.runs.answers import measure_decision, score_decision
from graphfilter.runs.cases import CaseBook, WorkList, find_reasons, make_worklists
from graphfilter.runs.comparing import SIGNIFICANCE
from graphfilter.runs.fit import Fit
from graphfilter.runs.plan import LOW_PASS, NO_GRAPH, TWO_STEPS
from graphfilter.spectral import Density, Diagnosis, label_energy, spectral_density
from graphfilter.spectral.plot import FilterView, common_signs
from graphfilter.systems.outside import origin_of
from graphfilter.systems.registry import GROUPS
from graphfilter.training import FitResult
from graphfilter.training.scores import score_numbers
from graphfilter.util.words import count, listed, number

# Fewer vertices than this are counted rather than given in percent.
FEW_VERTICES = 20


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What a fit shows, in numbers and in words.

    Attributes
    ----------
    comparison : Comparison
        The fitted model, the baselines, and always giving the same answer.
    headline : str
        How good it is, and whether the connections help: one sentence.
    reason : str
        Whether columns, connections or both carry the information.
    meaning : str
        What the score of the headline means here.
    groups : mapping or None
        What members of a committee have and add (:func:`compare_members`).
    graph_helps : bool
        Whether the connections are clearly of use.
    lines : tuple of str
        The score by its name, and what it means; the headline, and its reason.
    """

    comparison: compared.Comparison
    headline: str
    reason: str
    meaning: str = ""
    groups: Mapping[str, Any] | None = None
    graph_helps: bool = False
    lines: tuple[str, ...] = ()


def conclude(fit: Fit) -> Conclusion:
    """Compare a fit with its baselines, and say what the comparison shows."""
    estimator = fit.estimator
    adaptive, n_used = isinstance(estimator, AdaptiveEstimator), 0
    if isinstance(estimator, OfCommittee):
        n_used = sum(note.share > 0 for note in estimator.member_notes_)
    one = "the adaptive filter" if adaptive else estimator.system_.title
    comparison = compared.compare(
        fit, f"{n_used} models that answer together" if n_used > 1 else one
    )
    groups = compare_members(fit, comparison)
    seen = Evidence(fit, comparison, () if groups is None else groups["groups"])
    text = f"{_how_good(fit, comparison)}; {seen.whether_graph_helps()}."
    reason, first = seen.reason(), (meaning := _meaning(fit, comparison))
    if not isinstance(comparison.yardstick, compared.TypicalError):
        name = comparison.yardstick.name
        first = (
            f"{name[0].upper()}{name[1:]} {comparison.ours.shown}: {first[:1].lower()}{first[1:]}"
        )
    lines = first, f"{text} {reason}".strip()
    return Conclusion(comparison, text, reason, meaning, groups, seen.graph_helps, lines)


def _how_good(fit: Fit, comparison: compared.Comparison) -> str:
    """Say how good a fit is, by the yardstick it is judged by."""
    many = fit.plan.noun.many
    where = {
        "test": f"{many} it never saw",
        "val": f"validation {many}, which also chose when training ended",
        "train": f"{many} it was trained on, as there are no others",
    }[comparison.part]
    yardstick, value, n = comparison.yardstick, comparison.ours.value, comparison.n_vertices
    shown = comparison.ours.shown
    if isinstance(yardstick, compared.Accuracy):
        share = f"{round(value * n)} of {n}" if n < FEW_VERTICES else f"{shown} of the"
        return f"The model is right for {share} {where}"
    if isinstance(yardstick, compared.LabelsWrong):
        return f"{shown} of the labels are predicted wrong for {where}"
    if not isinstance(yardstick, compared.Ranking | compared.MeanCost):
        is_are = "is" if len(fit.names) == 1 else "are"
        names = listed(fit.names[:_MOST_NUMBERS])
        return f"{names} {is_are} predicted with a typical error (RMSE) of {shown} for {where}"
    assert fit.positive is not None
    judged = fit.judged
    says, is_positive = (x[judged] == fit.positive for x in (fit.answers, fit.plan.truth))
    scores = score_decision(says.astype(float), is_positive, 0.5)
    text = (
        f"The model finds {scores['found']:,} of {scores['found'] + scores['missed']:,} "
        f"{fit.plan.quote(fit.names[fit.positive])} among {where}, "
        f"with {count(scores['false_alarms'], 'false alarm')}"
    )
    if isinstance(yardstick, compared.Ranking):
        return f"{text} (average precision {shown})"
    return f"{text}, which costs {shown} per {fit.plan.noun.one}"


def _meaning(fit: Fit, comparison: compared.Comparison) -> str:
    """Say what the score of the headline counts, in the user's own things."""
    yardstick, noun, n = comparison.yardstick, fit.plan.noun, comparison.n_vertices
    guessing = f"{yardstick.guess} would give {comparison.guessing.shown}"
    if isinstance(yardstick, compared.Accuracy):
        n_right = round(comparison.ours.value * n)
        return f"{n_right:,} of {noun.count(n)} get their right class; {guessing}."
    if isinstance(yardstick, compared.Ranking):
        assert fit.positive is not None
        is_positive = yardstick.truth == fit.positive
        # As many as there are, rounded down: more could not all be right.
        n_top = max(k for k in (1, 2, 5, 10, 20, 50, 100) if k <= is_positive.sum())
        ranked = np.argsort(-fit.outputs[fit.judged, fit.positive], kind="stable")
        right, name = (
            int(is_positive[ranked[:n_top]].sum()),
            fit.plan.quote(fit.names[fit.positive]),
        )
        first = f"{right} of the {n_top} {noun.many} ranked highest are {name}"
        if n_top == 1:
            first = f"The {noun.one} ranked highest is {'' if right else 'not '}{name}"
        return f"{first}. With every {name} on top of the list it would be 1; {guessing}."
    if isinstance(yardstick, compared.MeanCost):
        total = number(comparison.ours.value * n)
        return f"What the errors cost per {noun.one}, {total} in all; {guessing}."
    if isinstance(yardstick, compared.LabelsWrong):
        each = comparison.ours.value * len(fit.names)
        return f"{each:.2g} of the {len(fit.names)} labels of each {noun.one}; {guessing}."
    said = []
    for name, scores in zip(fit.names[:_MOST_NUMBERS], score_each(fit), strict=False):
        share = f" ({100 * scores['share']:.1f}\xa0% of the value)" if "share" in scores else ""
        r2 = f", R² {scores['r2']:.3f}" if "r2" in scores else ""
        half, mean = number(scores["median_error"]), number(scores["mae"])
        said.append(f"{name}: median error {half}{share}, mean error {mean}{r2}")
    return f"{'; '.join(said)}; {yardstick.name} {comparison.ours.shown}; {guessing}."


# Of more numbers the first ones are spoken of.
_MOST_NUMBERS = 5


def score_each(fit: Fit) -> list[dict[str, Any]]:
    """Return the scores of each number on the judged vertices.

    Positive numbers have two more: ``share``, the median error as a share of what was observed,
    and ``sum``, the sum of the predictions as a share of that of the truth.
    """
    truth, outputs = fit.plan.truth[fit.judged], fit.outputs[fit.judged]
    found = []
    for true, predicted in zip(truth.T, outputs.T, strict=True):
        scores = score_numbers(predicted[:, None], true[:, None])
        if true.min() > 0:
            scores["share"] = float(np.median(np.abs(predicted / true - 1)))
            scores["sum"] = float(predicted.sum() / true.sum())
        found.append(scores)
    return found


# Groups of members that look at connections and, unlike trees, at little else.
_OF_GRAPH = ("neighbours", "labels of neighbours", "who is connected to whom")
_OF_COLUMNS = ("features alone", "linear model")


class Evidence:
    """What scores say of columns and connections, so that no two sentences contradict each other.

    That a committee beats one network without connections may be due to its other models. Its
    connections help where leaving out those that look at them costs something clear, or where a
    network that averages over neighbours clearly beats the same without.
    """

    def __init__(
        self, fit: Fit, comparison: compared.Comparison, groups: Sequence[Mapping[str, Any]]
    ) -> None:
        self._comparison, self._noun = comparison, fit.plan.noun
        self._has_edges, self._groups = fit.plan.graph.n_edges > 0, groups
        self._judged = self._noun.count(comparison.n_vertices)
        alone = comparison.named.get(NO_GRAPH)
        self._alone = "" if alone is None else alone.verdict
        adds = (g["is_clear"] and g["adds"] > 0 for g in self._groups if g["title"] in _OF_GRAPH)
        proven = not self._groups or comparison.graph_could_help or any(adds)
        self.graph_helps = self._has_edges and self._alone == "better" and proven

    def whether_graph_helps(self) -> str:
        """Say whether the connections help, and whether a fixed average of neighbours would do."""
        named = self._comparison.named
        if not self._has_edges:
            return f"there are no connections between {self._noun.many}, so these play no part"
        if NO_GRAPH not in named:
            return "without baselines, whether the connections help is not known"
        alone, fixed = named[NO_GRAPH].shown, named.get(LOW_PASS)
        text = f"without the connections a network reaches {alone}"
        if self.graph_helps:
            text = f"the connections help: {text}"
        elif self._alone == "better":
            text = f"{text}, which may be due to the models here as much as to the connections"
        elif self._alone == "worse":
            text = f"the connections mislead it: {text}"
        else:
            text = f"{text}, which is no clear difference"
        if fixed is None:
            return text
        does = {"better": "does worse", "worse": "does better", "tie": "does as well"}
        return f"{text}; always averaging over neighbours ({fixed.shown}) {does[fixed.verdict]}"

    def reason(self) -> str:
        """Say whether columns, connections or both carry the information."""
        named, verdict = self._comparison.named, self._comparison.guessing.verdict
        guess = f"{self._comparison.yardstick.guess} ({self._comparison.guessing.shown})"
        worse = f"The model does worse than {guess}"
        tie = f"With {self._judged} to judge by, this is not clearly better"
        tie = f"{tie} than {guess}"
        if NO_GRAPH not in named:
            return {"worse": f"{worse}.", "tie": f"{tie}."}.get(verdict, "")
        ahead = [
            named[n] for n in (LOW_PASS, TWO_STEPS) if n in named and named[n].verdict == "worse"
        ]
        if ahead and self._has_edges:
            best = min(ahead, key=lambda score: score.lead or 0.0)
            text = f"{best.title}, {best.meaning}, reaches {best.shown}"
            return f"{text}: train longer, or fit another model."
        if verdict == "worse":
            return f"{worse}: look at its errors one by one."
        if verdict == "tie":
            better = "the columns alone do better"
            more = "more labels or more telling columns are needed"
            return f"{tie}: {better if self._alone == 'worse' else more}."
        if not self._has_edges:
            return "The information comes from the columns."
        if self._alone == "worse":
            return (
                "Rely on the columns here, and check whether the connections mean what they should."
            )
        # The answer rests on the columns alone to a good part.
        mine = [g for g in self._groups if g["title"] in _OF_COLUMNS]
        of_columns = sum(g["share"] for g in mine) > 0.25 or any(g["is_clear"] for g in mine)
        if self.graph_helps and (self._comparison.features_know or of_columns):
            return "Columns and connections both carry information."
        unclear = f"he columns alone are not clearly better than {guess}"
        if self.graph_helps:
            return f"The information comes from the connections: t{unclear}."
        if self._alone == "better":
            return "Leave the connections out once, and compare, to know what they add."
        if self._comparison.features_know:
            return f"What the connections add cannot be told from these {self._judged}."
        return f"T{unclear}: more labels are needed to know whether the connections are."


def describe_agreement(fit: Fit) -> str:
    """Say how much neighbours resemble each other; empty without connections."""
    seen, many = fit.plan.diagnosis, fit.plan.noun.many
    if not fit.plan.graph.n_edges:
        return ""
    far = f"No two {many} whose value is known are connected directly; " if seen.steps == 2 else ""
    who = f"{many} that share a neighbour" if far else f"connected {many}"
    who = who if far else who[0].upper() + who[1:]
    if isinstance(seen, Diagnosis):
        if np.isnan(seen.edge_homophily):
            return f"No connection joins two {many} whose classes are known."
        share = f"{100 * seen.edge_homophily:.0f}\xa0%"
        chance = {
            1: "more often than by chance: neighbours agree",
            -1: "less often than by chance: neighbours differ",
            0: "about as often as by chance: neighbours say little about each other",
        }[int(np.sign(np.round(np.nan_to_num(seen.adjusted_homophily), 1)))]
        return f"{far}{who} have the same class in {share} of the cases, {chance}."
    if np.isnan(seen.correlation).all():
        return f"No connection joins two {many} whose values are known."
    mean = float(np.nanmean(seen.correlation))
    alike = "are alike" if mean > 0.1 else "are opposite" if mean < -0.1 else "hardly resemble"
    other = " each other" if alike == "hardly resemble" else ""
    names = listed(fit.names[:3])
    return f"{far}{who} {alike}{other} in {names} (correlation {mean:.2f})."


def compare_members(fit: Fit, comparison: compared.Comparison) -> dict[str, Any] | None:
    """Return what members of a committee have and add, by the score of a comparison.

    None of an estimator that is no committee.

    Returns
    -------
    dict or None
        ``sentence``, ``absent``: why others have no part, by title, and ``groups`` of members that
        look at the same thing: title, share of the weights, ``adds`` to the score of the others,
        whether that ``is_clear``, more than chance, and its members: share, score ``alone``.
    """
    committee, by = fit.estimator, comparison.yardstick
    if not isinstance(committee, OfCommittee):
        return None
    notes = {note.name: note for note in committee.member_notes_}
    groups = []
    for title, names in GROUPS.items():
        here = [notes[name] for name in names if name in notes]
        if not here:
            continue
        models = [
            by.models[0],
            *(compared.member_outputs(fit, fit.judged, n.predicted, n.second) for n in here),
        ]
        if (without := committee.without_[title]) is not None:
            models.append(compared.member_outputs(fit, fit.judged, *without))
        measure, last = by.of(models), len(here) + 1
        group: dict[str, Any] = {"adds": None, "is_clear": False, "shown": ""}
        if without is not None:
            adds, is_clear = measure.lead(0, last), measure.p_value(0, last) < SIGNIFICANCE
            shown = measure.write(adds, as_lead=True)
            group = {"adds": adds, "is_clear": is_clear, "shown": shown}
        rows = [
            {"title": note.title, "share": note.share, "seconds": note.seconds,
             "alone": measure.write(measure.value(i))}
            for i, note in enumerate(here, start=1)
        ]  # fmt: skip
        share = sum(note.share for note in here)
        groups.append({"title": title, "share": share, **group, "members": rows})
    groups.sort(key=lambda group: -group["share"])
    sentence = describe_groups(groups, by)
    return {"sentence": sentence, "groups": groups, "absent": committee.absent_}


# What the titles of groups say to people who know columns.
TITLES = {
    "features alone": "the columns alone",
    "linear model": "a linear model of the columns",
    "labels of neighbours": "known labels of neighbours",
    "trees": "trees on columns and neighbours",
}


def describe_groups(groups: Sequence[Mapping[str, Any]], by: compared.Yardstick) -> str:
    """Say what the answer rests on, largest share first; what may be chance is nothing.

    Groups that know the same have shares, and none of them is missed.
    """
    first, *others = groups
    titles = [TITLES.get(str(g["title"]), str(g["title"])) for g in groups]
    title, share = titles[0], f"{100 * first['share']:.0f}\xa0%"
    if first["share"] >= 0.995:
        return f"The answer rests on {title} alone."
    if first["is_clear"] and first["adds"] > 0:
        much = "mostly" if first["share"] > 0.5 else "above all"
        worse = f"without that it would be {by.size(first['adds'])} worse"
        parts = [f"The answer rests {much} on {title} ({share}); {worse}"]
    else:
        missed = "not be clearly worse: the others know that too"
        missed = "be better" if first["is_clear"] else missed
        largest = f"The largest share is that of {title} ({share})"
        parts = [f"{largest}; without it the answer would {missed}"]
    for name, group in zip(titles[1:], others, strict=True):
        if group["is_clear"]:
            worse = "better" if group["adds"] < 0 else "worse"
            parts.append(f"without {name} {by.size(group['adds'])} {worse}")
    return f"{'; '.join(parts)}."


FREQUENCIES = np.linspace(0.0, 2.0, 101)
# Epochs of which the filter is kept.
MOST_FRAMES = 60


def measure_fit(
    fit: Fit, comparison: compared.Comparison, channels: Sequence[Channel]
) -> dict[str, Any]:
    """Return the content of ``metrics.json``; lists have one entry per member.

    ``task`` and ``target``: what is learned, and its classes, labels or name.
    ``scores`` are by part: n_vertices, and those of the task that are defined, of what is answered.
    ``headline``: the score that the report judges by, of this model and those beside it.
    ``label_frequency``: the graph frequency of each class, label or number.
    ``filter`` holds the learned scalars of each member and its coefficients theta.
    ``leaderboard``: members and baselines, with scores, seconds and share, the best on validation
    vertices first.
    ``decision``, of two classes: the threshold, what it gives by part, and ``budgets``:
    what it gives to look into the first vertices of the list.
    ``channels``, where edges have types or directions: the name, the share in the answer, and
    ``theta``, the filter of each member.
    ``members``, of a committee: title, share, seconds, the epochs of all seeds, and a ``remark``
    where there is one; ``absent``: why others have no part, by title.
    ``promise``, where a coverage was asked for: how large sets or intervals are, and how often they
    held the truth of test vertices, also by class, label or number.
    ``scales``, of numbers: the scale each was learned on.
    """
    estimator, plan, results = fit.estimator, fit.plan, fit.estimator.results_
    finite = {n: float(f) if np.isfinite(f) else None for n, f in plan.frequency.items()}
    mean = float(np.mean([value for value in finite.values() if value is not None] or [np.nan]))
    if isinstance(plan.diagnosis, Diagnosis):
        mean = float(plan.diagnosis.label_frequency.mean)
    peak_memory_mb = None
    if sys.platform != "win32":
        import resource

        # The largest resident size of this process so far.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak_memory_mb = round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
    filters = [
        {name: p.detach().tolist() for name, p in f.named_parameters()}
        | {"theta": f.coefficients().detach().tolist()}
        for f in estimator.filters_
    ]
    metrics: dict[str, Any] = {
        "task": fit.task.name,
        "target": fit.names,
        "scores": fit.scores,
        "headline": {
            "score": comparison.yardstick.key,
            "part": comparison.part,
            "models": {
                score.title: {k: v for k, v in asdict(score).items() if k != "shown"}
                for score in comparison.scores
            },
        },
        "leaderboard": compared.leaderboard(fit),
        "split_rule": plan.split.rule,
        "label_frequency": finite,
        "label_frequency_mean": mean if np.isfinite(mean) else None,
        "filter": filters,
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb,
    }
    if fit.calibration is not None:
        metrics["promise"] = fit.calibration.to_dict()
    if fit.decision is not None:
        metrics["decision"] = measure_decision(fit.decision, plan, fit.outputs)
    if channels:
        metrics["channels"] = [
            {"name": one.name, "share": one.share,
             "theta": [f.coefficients().detach().tolist() for f in one.filters]}
            for one in channels
        ]  # fmt: skip
    if isinstance(estimator, OfCommittee):
        keys = ("title", "share", "seconds", "epochs", "remark")
        metrics["members"] = {
            note.name: {key: getattr(note, key) for key in keys if key != "remark" or note.remark}
            for note in estimator.member_notes_
        }
        metrics["absent"] = estimator.absent_
        metrics["seconds"] = fit.seconds
    if estimator.target_scales_:
        scales = zip(fit.names, estimator.target_scales_, strict=True)
        metrics["scales"] = {name: scale.name for name, scale in scales}
    return metrics


@dataclass(frozen=True, eq=False)
class Channel:
    """What one type or direction of edges does in the fitted graph's answer.

    Attributes
    ----------
    name : str
    share : float
        In the answer.
    filters : tuple of Filter
        One per member.
    lowest : float
        The lower bound of its operator's spectrum.
    """

    name: str
    share: float
    filters: tuple[Filter, ...]
    lowest: float


def channels_of(estimator: VertexEstimator) -> tuple[Channel, ...]:
    """Return what each channel does; nothing without any."""
    members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
    if not members:
        return ()
    operator = estimator.prepared_.operator(CHANNELS)
    assert isinstance(operator, Channels)
    # Copies: the estimator's own stay where they are.
    there = [deepcopy(m).eval().to(operator.device) for m in members]
    shares = [m.contributions(operator, estimator.prepared_.x) for m in there]
    filters = [m.learned_filters() for m in members]
    return tuple(
        Channel(
            name,
            float(np.mean([share[name] for share in shares])),
            tuple(each[name] for each in filters),
            operator.part(name).interval[0],
        )
        for name in members[0].channels
    )


@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """The filter of a fit, or the mean of several, over :data:`FREQUENCIES`.

    Attributes
    ----------
    view : FilterView
        The filters themselves, for a picture.
    epochs, frames : list of int and of arrays
        The mean response after each of these epochs.
    members : float array (m, 101)
        The responses that were kept, all turned the way of the first.
    kept_epoch : int
    is_used : bool
        Whether one of them has a share in the prediction.
    """

    view: FilterView
    epochs: list[int]
    frames: list[NDArray[np.float64]]
    members: NDArray[np.float64]
    kept_epoch: int
    is_used: bool


def response_at(filter: Filter, operator: str) -> NDArray[np.float64]:
    """Return f over :data:`FREQUENCIES`, on the axis of the pictures."""
    return filter.response(FREQUENCIES if operator == "laplacian" else 1 - FREQUENCIES)


def learned_filter(estimator: VertexEstimator) -> LearnedFilter | None:
    """Return the filter of a fitted estimator; None where it has none.

    One that does not learn has one epoch, the one that was kept.
    """
    learned, results = estimator.filters_, estimator.filter_results_
    if not learned:
        return None
    view = estimator.filter_view({})
    last = max(result.n_epochs for result in results)
    kept = round(float(np.mean([result.best_epoch for result in results])))
    epochs = [kept]
    if any(True for _ in learned[0].parameters()):
        even = np.linspace(0, last, min(MOST_FRAMES, last + 1)).round().astype(int)
        epochs = sorted({*even.tolist(), kept})
    members = np.array([response_at(f, view.operator) for f in learned])
    signs = common_signs(members)

    frames = []
    for epoch in epochs:
        made = [filter_at(f, r, epoch) for f, r in zip(learned, results, strict=True)]
        mean = np.mean(signs * [response_at(f, view.operator) for f in made], axis=0)
        frames.append(mean)
    weights = [estimator.fitted_members_[i].weight for i in estimator.drawn_members_]
    used = estimator.has_edges_ and max(weights) > 0
    return LearnedFilter(view, epochs, frames, signs * members, kept, used)


@dataclass(frozen=True, eq=False)
class PageContent:
    """What the page of a fit shows beside its conclusion and its numbers.

    Attributes
    ----------
    lists : tuple of WorkList
    reasons : mapping of Explanation
        By vertex, of the first of the list.
    filter : LearnedFilter or None
    learning : FitResult or None
        Of the first network; None where nothing has epochs, such as trees.
    channels : tuple of Channel
    density : Density
        Of the frequencies of the graph.
    energy : float array or None
        Of the labels on them; None where they are no classes.
    settings : tuple of (str, str)
        The parameters of the estimator.
    agreement : str
        How much neighbours resemble each other.
    """

    lists: tuple[WorkList, ...]
    reasons: Mapping[int, Explanation]
    filter: LearnedFilter | None
    learning: FitResult | None
    channels: tuple[Channel, ...]
    density: Density
    energy: NDArray[np.float64] | None
    settings: tuple[tuple[str, str], ...]
    agreement: str


def page_content(fit: Fit, book: CaseBook | None) -> PageContent:
    """Return what the page of a fit shows: the estimator is asked here, and by nothing after it."""
    estimator, graph, energy = fit.estimator, fit.plan.graph, None
    channels, lists = channels_of(estimator), tuple(make_worklists(fit, book))
    reasons, settings = find_reasons(fit, book), estimator.settled_parameters()
    if not isinstance(settings.get("model", ""), str):
        settings["model"] = origin_of(estimator.system_) or estimator.system_.name
    results = estimator.filter_results_ or [r for r in estimator.results_ if r.n_epochs]
    learned, agreement = learned_filter(estimator), describe_agreement(fit)
    density = spectral_density(graph)
    if learned is not None and fit.task.one_class:
        values = label_energy(graph).values
        energy = values[np.isfinite(values).all(axis=1)].mean(axis=0)
    return PageContent(
        lists, reasons, learned, results[0] if results else None, channels, density, energy,
        tuple((n, str(v)) for n, v in settings.items() if n not in ("graph", "verbose")),
        agreement,
    )  # fmt: skip
